"""Which of a variable's successive values each operator of a block reads and writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from fluidcore import core
from fluidcore.backward.operators import ForwardOp


class Version(NamedTuple):
    """One of the successive values of a variable in a block.

    Attributes:
        value: How often the variable was written in the block before.
        gradient: How often, not counting writes that leave the gradient the same.
    """

    value: int = 0
    gradient: int = 0


ONLY = Version()


class Versions:
    """The values of the variables of a block that are written more than once.

    Args:
        ops: All operators of the block.
        differentiated: Positions of those that get a gradient.
        leaves: Persistable variables whose gradient is wanted: one that is written by an operator
            without gradient, an optimizer's, starts anew and has one gradient for all its values.
        exists: Whether a variable lives outside of the runs of the block. Its gradient is that of
            the value at the start; other variables' that of the last value.
        arrays: Variables that are changed in place and have no versions.
    """

    def __init__(
        self,
        ops: Sequence[ForwardOp],
        differentiated: Collection[int],
        leaves: Collection[str],
        exists: Callable[[str], bool],
        arrays: Collection[str],
    ) -> None:
        self.writers: dict[str, list[int]] = {}
        several = _written_again(ops, exists, arrays)
        self.several = several
        self.last: dict[str, Version] = dict.fromkeys(several, ONLY)
        self.official: dict[str, int] = {}
        self._reads: dict[int, Mapping[str, Version]] = {}
        self._writes: dict[int, Mapping[str, Version]] = {}
        for op in ops:
            for name in op.outputs:
                self.writers.setdefault(name, []).append(op.position)
            if not several:
                continue
            self._reads[op.position] = {n: self.last[n] for n in op.inputs if n in several}
            for name in set(op.outputs) & several:
                value, gradient = self.last[name]
                keeps = name in leaves and op.position not in differentiated
                self.last[name] = Version(value + 1, gradient if keeps else gradient + 1)
                if op.position in differentiated and name not in leaves and not exists(name):
                    self.official[name] = gradient + 1
            self._writes[op.position] = {n: self.last[n] for n in op.outputs if n in several}

    def read(self, op: ForwardOp, name: str) -> Version:
        """The value that an operator finds in a variable."""
        return self._of(self._reads, op, name) if name in self.several else ONLY

    def written(self, op: ForwardOp, name: str) -> Version:
        """The value that an operator leaves in a variable."""
        return self._of(self._writes, op, name) if name in self.several else ONLY

    def seen(self, op: ForwardOp, name: str, is_new: bool) -> Version:
        """The value that an operator found, or, if `is_new` or it did not read it, left."""
        if not is_new and name in self._reads.get(op.position, ()):
            return self._reads[op.position][name]
        return self.written(op, name)

    @staticmethod
    def _of(versions: Mapping[int, Mapping[str, Version]], op: ForwardOp, name: str) -> Version:
        version = versions[op.position].get(name)
        if version is None:  # in a program that was put together by hand
            raise core.InvalidArgument(
                f"append_backward: '{op.type}' uses '{name}', which is not the variable of that "
                "name that is seen from its block"
            )
        return version

    def at_end(self, name: str) -> Version:
        """The value at the end of the block."""
        return self.last.get(name, ONLY)

    def writer(self, name: str, version: Version) -> int | None:
        """The position of the operator that made a value; None for the value at the start."""
        positions = self.writers.get(name, [])
        if name not in self.several:
            return positions[0] if positions else None
        return positions[version.value - 1] if version.value > 0 else None

    def overwriter(self, name: str, version: Version) -> int:
        """The position of the operator that overwrites a value."""
        return self.writers[name][version.value]


def _written_again(
    ops: Sequence[ForwardOp], exists: Callable[[str], bool], arrays: Collection[str]
) -> set[str]:
    """The variables that have more than one value in the block."""
    writes: Counter[str] = Counter()
    several: set[str] = set()
    read: set[str] = set()
    for op in ops:
        if op.body is None:
            read.update(op.inputs)
        for name in dict.fromkeys(op.outputs):
            writes[name] += 1
            if writes[name] > 1 or name in read or exists(name):
                several.add(name)
        read.update(op.inputs)
    return several.difference(arrays)
