"""What is remembered of an operator that ran: enough for its gradient."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from fluidcore.eager.operation import Array, Operation

if TYPE_CHECKING:
    from fluidcore.eager.tensor import Tensor

_serials = itertools.count()


class Record:
    """One application of an operator.

    Records point to the records they depend on, so that what no tensor needs any more is freed.
    The arrays are those that the operator read and wrote; nobody changes them.

    Attributes:
        operation: The operator.
        arrays: Its inputs.
        sources: Where each input is from: a record, or the tensor whose gradient is wanted; None
            for a constant.
        positions: Which output of the record an input is; 0 for others.
        outputs: The results, intermediate ones too.
        site: The user's line: "train.py:41".
        serial: Grows in the order of execution.
    """

    __slots__ = ("arrays", "operation", "outputs", "positions", "serial", "site", "sources")

    def __init__(
        self,
        operation: Operation,
        arrays: Sequence[Array],
        inputs: Iterable[Tensor],
        outputs: Sequence[Array],
        site: str,
    ) -> None:
        self.operation = operation
        self.arrays = arrays
        self.outputs = outputs
        self.site = site
        self.serial = next(_serials)
        self.sources: list[Source] = []
        self.positions: list[int] = []
        for tensor in inputs:
            self.sources.append(tensor.record or (tensor if tensor.requires_grad else None))
            self.positions.append(tensor.position)


Source: TypeAlias = "Record | Tensor | None"


def records_before(last: Record) -> list[Record]:
    """A record and all that it depends on, in the order of execution."""
    seen = {id(last): last}
    waiting = [last]
    while waiting:
        for source in waiting.pop().sources:
            if isinstance(source, Record) and id(source) not in seen:
                seen[id(source)] = source
                waiting.append(source)
    return sorted(seen.values(), key=lambda record: record.serial)
