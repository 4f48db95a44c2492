"""The operators between the variables whose gradient is wanted and the targets."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import NamedTuple

from fluidcore.backward.flow import BlockFlow, Reader, Step, need, reach
from fluidcore.backward.operators import ForwardOp


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


def ops_on_path(
    ops: Sequence[ForwardOp],
    sources: Iterable[str],
    targets: Iterable[str],
    stopped: Container[str] = frozenset(),
    is_constant: Callable[[str], bool] = lambda op_type: False,
) -> Path:
    """Keeps the operators through which a source reaches a target, in sub-blocks too.

    Args:
        ops: The operators of a block, in execution order.
        sources: Variables whose gradient is wanted.
        targets: Variables to differentiate.
        stopped: Variables that gradients do not pass.
        is_constant: Whether operators of a type stop gradients; asked once for each operator.
    """
    block = BlockFlow(stopped)
    Reader(stopped, is_constant).read(block, ops)
    reach(block.use(name).variable for name in sources)
    reached = [use for use in map(block.use, targets) if use.variable.since < math.inf]
    block.variables.update(use.variable.name for use in reached)
    need(use.variable for use in reached)
    return _path(block)


def _path(block: BlockFlow) -> Path:
    path = Path([], block.variables, {})
    for op, item in block.ops:
        if isinstance(item, Step):
            if item.is_needed:
                path.ops.append(op)
            continue
        # A block that may overwrite a needed value with a constant matters, too.
        overwritten = set(_overwritten(item))
        item.variables |= overwritten
        inside = _path(item)
        if overwritten or inside.ops or any(step.is_needed for step in item.passed):
            path.bodies[op.position] = inside
            path.ops.append(op)
    return path


def _overwritten(block: BlockFlow) -> Iterator[str]:
    """The variables around a block that it writes, where a target needs what a source reaches."""
    assert block.span is not None
    for variable, _, around in block.written:
        span = around or block.span
        if variable.since < span.end and variable.until > span.start:
            yield variable.name
