"""A run of a backward program: what each operator read and wrote."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fluidcore import core
from fluidcore.gradcheck.localise.alignment import Aligned
from fluidcore.gradcheck.localise.reference import OF, Pair
from fluidcore.gradcheck.program.network import Network
from fluidcore.gradcheck.program.places import every_op, positions
from fluidcore.gradcheck.program.recording import Moment, can_be_recorded, record
from fluidcore.gradcheck.target.target import Array


@dataclass
class Observed:
    """What was seen of one run.

    Attributes:
        where: Name of an operator -> block and index in the program.
        network: What was run, with operators that recorded.
        values: What was recorded.
        ops: Name of an operator -> the operator as it was run.
    """

    where: Mapping[str, tuple[int, int]]
    network: Network
    values: Mapping[Moment, list[Array]]

    def __post_init__(self) -> None:
        self.ops = {op.call_site(): op for _, _, op in every_op(self.network.program)}
        self._runs: dict[str, int] = {}
        for moment, values in self.values.items():
            self._runs[moment.op] = max(self._runs.get(moment.op, 0), len(values))

    def is_inner(self, name: str) -> bool:
        """Whether an operator is in a block that another one runs."""
        return self.where[name][0] > 0

    def runs(self, name: str) -> int:
        """How often an operator ran."""
        return self._runs.get(name, 0)

    def at(self, name: str, variable: str, run: int, after: bool = False) -> Array | None:
        """A variable before, or after, one run of an operator; None if it is not known."""
        found = self.values.get(Moment(name, after, variable), [])
        return found[run] if 0 <= run < len(found) else None

    def before(self, name: str, variables: Iterable[str], run: int) -> dict[str, Array]:
        """Those of some variables that are known before one run of an operator."""
        found = {variable: self.at(name, variable, run) for variable in variables}
        return {variable: value for variable, value in found.items() if value is not None}


def observe(
    pair: Pair,
    aligned: Aligned,
    values: Mapping[str, Array],
    scope: core.Scope,
    dtype: str | None,
) -> Observed:
    """Runs a backward program and records everything that its gradient operators touch.

    Args:
        pair: The program.
        aligned: Says what else the gradient operators should have read.
        values: What is fed.
        scope: Where other values are.
        dtype: What everything floating is made; None keeps each.

    Raises:
        core.Error: The program cannot be run.
    """
    desc = pair.actual
    undone = {twin.call_site().removeprefix(OF) for twin in aligned.twins.values()}
    moments: dict[Moment, None] = {}
    for index in range(desc.num_blocks()):
        known = _known_at_start(desc, index, values, scope)
        for op in desc.block(index).ops():
            name = op.call_site()
            is_forward = name in pair.forward
            if not is_forward or name in undone:
                before = [*op.input_arg_names()]
                if not is_forward:
                    before += op.output_arg_names()  # what was there before
                    twin = aligned.twins.get(name)
                    before += [] if twin is None else twin.input_arg_names()
                if not is_forward or core.op_def(op.type()).is_random:
                    after = [n for n in op.output_arg_names() if can_be_recorded(desc, index, n)]
                    moments |= dict.fromkeys(Moment(name, True, n) for n in after)
                moments |= dict.fromkeys(
                    Moment(name, False, n)
                    for n in before
                    if n in known and can_be_recorded(desc, index, n)
                )
            known.update(op.output_arg_names())
    found = record(desc, moments, values, scope, dtype)
    return Observed(positions(desc), found.network, found.values)


def _known_at_start(
    desc: core.ProgramDesc, index: int, values: Iterable[str], scope: core.Scope
) -> set[str]:
    """The variables that have a value when the operators of a block begin."""
    block = desc.block(index)
    ops = block.ops()
    if index == 0:
        names = {name for op in ops for name in op.input_arg_names()}
        return names.intersection(values) | {
            name for name in names if scope.find_var(name) is not None
        }
    written = {name for op in ops for name in op.output_arg_names()}
    return {
        name
        for op in ops
        for name in (*op.input_arg_names(), *op.output_arg_names())
        if not block.has_var(name) or name not in written
    }
