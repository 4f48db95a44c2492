"""Tables that are read by number."""

from __future__ import annotations

import numpy as np

from fluidcore import core
from fluidcore.base.checks import is_whole
from fluidcore.base.dtypes import DTypeLike
from fluidcore.eager.apply import apply_single
from fluidcore.eager.nn.checks import check_tensor
from fluidcore.eager.nn.module import Module
from fluidcore.eager.nn.parameter import parameter
from fluidcore.eager.tensor import Tensor
from fluidcore.initializer import Normal
from fluidcore.layers.helper import check_size


class Embedding(Module):
    """Rows of a table.

    Attributes:
        weight: [num_embeddings, embedding_dim], normal with mean 0 and deviation 1 at first; the
            row `padding_idx` is zeros.

    Args:
        num_embeddings: Rows.
        embedding_dim: Elements of each.
        padding_idx: A row that reads as zeros, whatever the table has there, and is not learnt;
            negative counts from the end; None: there is none.
        dtype: Of the table.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        dtype: DTypeLike = "float32",
    ) -> None:
        check_size("Embedding", "num_embeddings", num_embeddings)
        check_size("Embedding", "embedding_dim", embedding_dim)
        rows = num_embeddings
        if padding_idx is not None and not (is_whole(padding_idx) and -rows <= padding_idx < rows):
            raise core.InvalidArgument(
                f"Embedding: padding_idx must be a row of the table, in [{-rows}, {rows}), "
                f"got {padding_idx!r}"
            )
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % rows
        self.weight = parameter([num_embeddings, embedding_dim], Normal(), dtype)
        if self.padding_idx is not None:
            table = np.array(self.weight)
            table[self.padding_idx] = 0
            self.weight.set_value(table)

    def forward(self, x: Tensor) -> Tensor:
        """[..., embedding_dim] of numbers of rows [...], int32 or int64."""
        x = check_tensor("Embedding", x)
        if x.dtype not in ("int32", "int64"):
            raise core.InvalidArgument(
                f"Embedding: x must be int32 or int64, numbers of rows, got {x.dtype} "
                f"{list(x.shape)}"
            )
        padding = -1 if self.padding_idx is None else self.padding_idx
        inputs = {"W": self.weight, "Ids": x}
        return apply_single("lookup_table_v2", inputs, {"padding_idx": padding})

    def extra_repr(self) -> str:
        """The arguments."""
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"
