"""The forward program as append_backward reads it: operators with what they read and write."""

from __future__ import annotations

from collections.abc import Iterable

from fluidcore import core
from fluidcore.backward.operators import Body, ForwardOp, State, op_traits
from fluidcore.base.call_site import explain
from fluidcore.base.dtypes import FLOATING
from fluidcore.program import Block
from fluidcore.program.op_slots import own_inputs, own_outputs
from fluidcore.program.variable import ARRAY


def forward_ops(block: Block, effects: core.EffectsOfBlocks) -> list[ForwardOp]:
    """The operators of a block and, for those that have one, of their sub-blocks."""
    ops = []
    for position, op in enumerate(block.desc.ops()):
        op_type = op.type()
        traits = op_traits(op_type)
        if traits.runs_block:
            ops.append(_with_body(block, position, op, effects))
            continue
        inputs, outputs = op.input_arg_names(), op.output_arg_names()
        ops.append(ForwardOp(op_type, inputs, outputs, position, op, None, bool(traits.arrays)))
    return ops


def _with_body(
    around: Block, position: int, op: core.OpDesc, effects: core.EffectsOfBlocks
) -> ForwardOp:
    program = around.program
    op_type = op.type()
    index = op.block_attr("sub_block")
    try:
        reads, writes = effects.of(index)
    except core.Error as error:
        problem = type(error)(f"{op_type}: sub_block must be a block that can be run, got {error}")
        explain(problem, op.call_site())
        raise problem from error
    if not op_traits(op_type).has_grad:
        raise _explained(f"'{op_type}' runs a block and has no gradient", op)
    block = program.block(index)
    if block.parent_idx != around.idx:
        raise _explained(
            f"'{op_type}' must run a block inside of block {around.idx}, got block {index}, which "
            f"is inside of block {block.parent_idx}",
            op,
        )
    sliced: list[tuple[str, str]] = []
    stacked: list[tuple[str, str]] = []
    states: list[State] = []
    if op_type.startswith("recurrent"):
        sliced = _pairs(op, op.input("inputs"), "step_inputs")
        stacked = _pairs(op, op.output("outputs"), "step_outputs")
    if op_type == "recurrent":
        before = _pairs(op, op.input("initial_states"), "ex_states")
        after = _pairs(op, op.input("initial_states"), "states")
        states = [State(*b, end) for b, (_, end) in zip(before, after, strict=True)]
    local = frozenset(desc.name() for desc in block.desc.all_vars())
    given = frozenset(name for _, name in sliced) | {state.before for state in states}
    inside = {name for _, name in stacked} | {state.after for state in states} | given
    for name in sorted(inside - local):
        raise _explained(f"'{op_type}' must name variables of its block, got '{name}'", op)
    inner = forward_ops(block, effects)
    body = Body(block, inner, local, reads, writes, sliced, stacked, states, given)
    return ForwardOp(
        op_type,
        list(
            dict.fromkeys([*own_inputs(op), *reads, *writes])
        ),  # the block may not run: values pass
        list(dict.fromkeys([*own_outputs(op), *writes])),
        position,
        op,
        body,
    )


def _pairs(op: core.OpDesc, outside: list[str], attr: str) -> list[tuple[str, str]]:
    """The variables of a slot, and the names that they have in the block."""
    inside = op.attr(attr) if op.has_attr(attr) else []
    if not isinstance(inside, list) or len(inside) != len(outside):
        raise _explained(
            f"'{op.type()}' must have one of {attr} for each variable of the slot, got {inside} "
            f"for {outside}",
            op,
        )
    return list(zip(outside, inside, strict=True))


def _explained(problem: str, op: core.OpDesc) -> core.InvalidArgument:
    error = core.InvalidArgument(f"append_backward: {problem}")
    explain(error, op.call_site())
    return error


def stopped_names(block: Block) -> set[str]:
    """The variables of this block that gradients do not pass: by flag or by element type."""
    return {
        desc.name()
        for desc in block.desc.all_vars()
        if desc.stop_gradient() or desc.dtype() not in FLOATING
    }


def variable_seen(block: Block, name: str) -> core.VarDesc:
    """The description of a variable seen from a block; core.NotFound if there is none."""
    desc = block.desc.find_var_recursive(name)
    if desc is None:
        raise core.NotFound(f"append_backward: no variable '{name}' seen from block {block.idx}")
    return desc


def is_array(block: Block, name: str) -> bool:
    """Whether a variable seen from a block is a tensor array."""
    desc = block.desc.find_var_recursive(name)
    return desc is not None and desc.type() == ARRAY


def elements_read(ops: Iterable[ForwardOp]) -> set[str]:
    """The tensor arrays, and other variables, of operators that read an array by index."""
    names: set[str] = set()
    for op in ops:
        if op.body is not None:
            names |= elements_read(op.body.ops)
        elif op.has_arrays and op.type not in ("push_to_array", "pop_from_array"):
            names.update(op.inputs, op.outputs)
    return names


def declare_like(block: Block, name: str, like: str, seen_from: Block) -> core.VarDesc:
    """Creates a variable of `block` with the shape and element type of one seen from another."""
    model = variable_seen(seen_from, like)
    desc = block.desc.var(name)
    desc.set_dtype(model.dtype())
    desc.set_shape(model.shape())
    return desc
