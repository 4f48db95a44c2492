"""Gradients of selected rows, as operators on tensors work on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fluidcore.program.variable import SELECTED_ROWS

if TYPE_CHECKING:
    from fluidcore.program.variable import Variable


class MergedRows:
    """The rows that a gradient holds, each once: a clip or a decay acts on their values.

    Args:
        grad: Selected rows.

    Attributes:
        rows: The gradient, merged.
        values: Its values, a tensor [number of rows, ...], 0 where no row is held.
    """

    def __init__(self, grad: Variable) -> None:
        self.grad = grad
        self.rows = grad.block.append_single(
            "merge_selected_rows", {"X": grad}, key=f"{grad.name}.merged"
        )
        self.values = grad.block.append_single(
            "get_tensor_from_selected_rows", {"X": self.rows}, key=f"{grad.name}.values"
        )

    @staticmethod
    def of(grad: Variable) -> MergedRows | None:
        """The rows of a gradient; None of a tensor."""
        return MergedRows(grad) if grad.desc.type() == SELECTED_ROWS else None

    def of_table(self, table: Variable) -> Variable:
        """The rows of a tensor of the gradient's shape, as `values` is."""
        return self.grad.block.append_single(
            "lookup_selected_rows",
            {"W": table, "Rows": self.rows},
            key=f"{self.grad.name}.{table.name}",
        )

    def with_values(self, values: Variable) -> Variable:
        """The gradient with other values for its rows."""
        return self.grad.block.append_single(
            "pack_selected_rows",
            {"Rows": self.rows, "Values": values},
            key=f"{self.grad.name}.rows",
        )
