"""Slots of operators that values pass on the way to the loss, but gradients do not."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from fluidcore import core
from fluidcore.backward.operators import ForwardOp, op_traits
from fluidcore.backward.path import Path, ops_on_path
from fluidcore.backward.view import forward_ops, stopped_names
from fluidcore.program import Program
from fluidcore.program.pruning import prune


class Gap(NamedTuple):
    """A slot, of inputs or outputs, that gradients do not pass, and the variable in it."""

    op_type: str
    slot: str
    variable: str
    call_site: str


def gradient_gaps(
    desc: core.ProgramDesc,
    outputs: Sequence[str],
    names: Sequence[str],
    stopped: Collection[str],
) -> dict[str, Gap]:
    """The variables whose values reach an output through a slot without gradient.

    What a user made a constant is none: a variable with `stop_gradient`, or in `stopped`. Nor are
    whole numbers and truth values, which move in jumps.

    Returns:
        Name, of those that are differentiated by -> the first such slot on its way.
    """
    pruned = desc.clone()
    prune(pruned, outputs, set())
    block = Program.from_desc(pruned).global_block()
    ops = _values_only(forward_ops(block, core.EffectsOfBlocks(pruned)))
    if not any(map(_may_have_gap, ops)):
        return {}
    constants = stopped_names(block).union(stopped)
    found = {}
    for name in names:
        path = ops_on_path(ops, [name], outputs, constants)
        gap = next(_gaps(path, {name}, set(outputs)), None)
        if gap is not None:
            found[name] = gap
    return found


def _values_only(ops: Sequence[ForwardOp]) -> list[ForwardOp]:
    """The operators, without what nothing passes through that would need a gradient."""
    result = []
    for op in ops:
        assert op.desc is not None
        if op.body is not None:
            body = op.body._replace(ops=_values_only(op.body.ops))
            result.append(op._replace(body=body))
            continue
        traits = op_traits(op.type)
        inputs, outputs = op.desc.inputs(), op.desc.outputs()
        unread = traits.needs_no_gradient | traits.shape_only(outputs)
        read = [name for slot, args in inputs.items() if slot not in unread for name in args]
        made = (args for slot, args in outputs.items() if slot not in traits.needs_no_gradient)
        result.append(op._replace(inputs=read, outputs=[name for args in made for name in args]))
    return result


def _may_have_gap(op: ForwardOp) -> bool:
    if op.body is not None:
        return any(map(_may_have_gap, op.body.ops))
    traits = op_traits(op.type)
    return traits.is_constant or bool(traits.no_gradient)


def _gaps(path: Path, moved: set[str], needed: set[str]) -> Iterator[Gap]:
    """The gaps of a path from sources, `moved`, to targets, `needed`, in the order of execution."""
    reads = []
    for op in path.ops:
        reads.append(moved.intersection(op.inputs))
        moved = moved | path.variables.intersection(op.outputs)
    writes = []
    for op in reversed(path.ops):
        writes.append(needed.intersection(op.outputs))
        kept = needed if op.body is not None else needed.difference(op.outputs)
        needed = kept | path.variables.intersection(op.inputs)
    for op, read, written in zip(path.ops, reads, reversed(writes), strict=True):
        if op.body is not None:
            inside = path.bodies[op.position]
            yield from _gaps(inside, inside.variables, inside.variables)
        elif read and written:
            yield from _gaps_of(op, read, written)


def _gaps_of(op: ForwardOp, read: Collection[str], written: Collection[str]) -> Iterator[Gap]:
    assert op.desc is not None
    traits = op_traits(op.type)
    for slots, passed in ((op.desc.inputs(), read), (op.desc.outputs(), written)):
        for slot, args in slots.items():
            if not traits.is_constant and slot not in traits.no_gradient:
                continue
            for name in args:
                if name in passed:
                    yield Gap(op.type, slot, name, op.desc.call_site())
