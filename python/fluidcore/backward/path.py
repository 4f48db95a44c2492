"""The operators between the variables whose gradient is wanted and the targets."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import NamedTuple

from fluidcore.backward.operators import ForwardOp
from fluidcore.backward.view import stopped_names


class Path(NamedTuple):
    """The operators between the sources and the targets.

    Attributes:
        ops: In execution order.
        variables: Those that get a gradient.
        bodies: Position of an operator with a sub-block -> the path in there.
    """

    ops: list[ForwardOp]
    variables: set[str]
    bodies: dict[int, Path]


class _Reached(NamedTuple):
    """The operators that a source reaches, and the variables, also inside of sub-blocks."""

    ops: list[ForwardOp]
    variables: set[str]
    bodies: dict[int, _Reached]


class _Stopped:
    """The variables that gradients do not pass: of a sub-block, and of the blocks around it."""

    def __init__(self, around: Container[str], here: set[str]) -> None:
        self._around = around
        self._here = here

    def __contains__(self, name: object) -> bool:
        return name in self._here or name in self._around


def ops_on_path(
    ops: Sequence[ForwardOp],
    sources: Iterable[str],
    targets: Iterable[str],
    stopped: Container[str] = frozenset(),
    is_constant: Callable[[str], bool] = lambda op_type: False,
) -> Path:
    """Keeps the operators through which a source reaches a target, in sub-blocks too.

    A sub-block may run many times, so what reaches its end reaches its beginning.

    Args:
        ops: The operators of a block, in execution order.
        sources: Variables whose gradient is wanted.
        targets: Variables to differentiate.
        stopped: Variables that gradients do not pass.
        is_constant: Whether operators of a type stop gradients.
    """
    reached = _reach(ops, {name for name in sources if name not in stopped}, stopped, is_constant)
    return _need(reached, set(targets) & reached.variables)


def _reach(
    ops: Sequence[ForwardOp],
    variables: set[str],
    stopped: Container[str],
    is_constant: Callable[[str], bool],
) -> _Reached:
    result = _Reached([], variables, {})
    for op in ops:
        if op.body is not None:
            inside = _reach_inside(op, variables, stopped, is_constant)
            outside = [name for name in op.body.writes if name in inside.variables]
            outside += [outer for outer, inner in op.body.stacked if inner in inside.variables]
            result.bodies[op.position] = inside
        elif not variables.isdisjoint(op.inputs) and not is_constant(op.type):
            outside = op.outputs
        elif op.has_arrays:  # what it writes may take the place of something that was reached
            outside = [name for name in op.outputs if name in variables]
        else:
            continue
        passed = [name for name in outside if name not in stopped]
        if passed:
            variables.update(passed)
            result.ops.append(op)
    return result


def _reach_inside(
    op: ForwardOp,
    outside: set[str],
    stopped: Container[str],
    is_constant: Callable[[str], bool],
) -> _Reached:
    body = op.body
    assert body is not None
    # Only of what the block names: many blocks must not each look at all variables around them.
    around = {*body.reads, *body.writes}
    variables = around & outside
    stopped = _Stopped(stopped, stopped_names(body.block))
    variables.update(inner for outer, inner in body.sliced if outer in outside)
    variables.update(state.before for state in body.states if state.initial in outside)
    variables = {name for name in variables if name not in stopped}
    starts = {state.after: state.before for state in body.states}
    carried = [*body.writes, *starts.values()]
    while True:
        before = [name for name in carried if name in variables]
        inside = _reach(body.ops, variables, stopped, is_constant)
        variables.update(
            start for end, start in starts.items() if end in variables and start not in stopped
        )
        if before == [name for name in carried if name in variables]:
            return inside  # another step would find the same


def _need(reached: _Reached, needed: set[str]) -> Path:
    path = Path([], needed, {})
    for op in reversed(reached.ops):
        if op.body is None:
            if not needed.isdisjoint(op.outputs):
                needed.update(name for name in op.inputs if name in reached.variables)
                path.ops.append(op)
            continue
        # A block that may overwrite a needed value with a constant matters, too.
        inside = _need_inside(op, reached.bodies[op.position], needed)
        if inside.ops or not needed.isdisjoint(op.body.writes):
            path.bodies[op.position] = inside
            path.ops.append(op)
            outer = [name for name in (*op.body.reads, *op.body.writes) if name in inside.variables]
            outer += [name for name, inner in op.body.sliced if inner in inside.variables]
            outer += [s.initial for s in op.body.states if s.before in inside.variables]
            needed.update(name for name in outer if name in reached.variables)
    path.ops.reverse()
    return path


def _need_inside(op: ForwardOp, reached: _Reached, outside: set[str]) -> Path:
    body = op.body
    assert body is not None
    needed = {name for name in body.writes if name in outside}
    needed.update(inner for outer, inner in body.stacked if outer in outside)
    needed &= reached.variables
    ends = {state.before: state.after for state in body.states}
    carried = [*body.writes, *ends.values()]
    while True:
        before = [name for name in carried if name in needed]
        inside = _need(reached, needed)
        needed.update(end for start, end in ends.items() if start in needed)
        needed &= reached.variables
        if before == [name for name in carried if name in needed]:
            return inside
