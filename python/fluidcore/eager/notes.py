"""Notes of every operator that runs, whether a gradient may be asked for or not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from fluidcore import core
from fluidcore.eager.operation import Array, Operation


class Note(NamedTuple):
    """One application of an operator.

    Attributes:
        operation: The operator.
        inputs: The arrays that it read.
        outputs: Those that it wrote, intermediate results too.
        site: The user's line: "train.py:41".
    """

    operation: Operation
    inputs: Sequence[Array]
    outputs: Sequence[Array]
    site: str


class Notes:
    """The operators in the order in which they ran, and what depends on certain arrays.

    Attributes:
        notes: One for each operator; they keep all arrays alive, so that an id stands for one.
        learnt: The ids of arrays of leaves that require a gradient.

    Args:
        arrays: Whose values another run may change.
    """

    def __init__(self, arrays: Iterable[Array]) -> None:
        self.notes: list[Note] = []
        self.learnt: set[int] = set()
        self._dependent = {id(array): array for array in arrays}

    def add(self, note: Note, learnt: Iterable[Array]) -> None:
        """Notes an operator, and which of the arrays that it read are learnt."""
        self.notes.append(note)
        self.learnt |= {id(array) for array in learnt}
        if any(self.depends(array) for array in note.inputs):
            self._dependent |= {id(array): array for array in note.outputs}

    def depends(self, array: Array) -> bool:
        """Whether another run may give the array other elements."""
        return id(array) in self._dependent


noted: ContextVar[Notes | None] = ContextVar("fluidcore_eager_notes", default=None)


@contextmanager
def noting(arrays: Iterable[Array]) -> Iterator[Notes]:
    """Gives the notes of the operators of the `with` block. Holds for this thread."""
    notes = Notes(arrays)
    token = noted.set(notes)
    try:
        yield notes
    finally:
        noted.reset(token)


def is_known(array: Array) -> bool:
    """Whether the elements are the same in every run, as all are outside of `noting`."""
    notes = noted.get()
    return notes is None or not notes.depends(array)


def check_known(what: str, array: Array) -> Array:
    """The array; core.InvalidArgument if another run may give it other elements.

    Args:
        what: What takes the elements, for the error: "item()".
        array: Of a tensor.
    """
    if not is_known(array):
        raise core.InvalidArgument(
            f"trace: {what} must not take the value of a tensor that depends on the examples, got "
            f"one of shape {list(array.shape)}: a program has no such number or branch; write "
            "operators, where(condition, x, y) for a branch"
        )
    return array
