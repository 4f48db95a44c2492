"""The gradient of an operator with a sub-block: the same loop or branch over a gradient block.

The gradient of an outer variable is carried through the steps in a variable of its own:

    assign(h@GRAD) -> h@GRAD@CARRY                  # or zeros
    fill_zeros_like(w) -> w@GRAD@CARRY
    while_grad(StepScopes) -> h@GRAD@CARRY, w@GRAD@CARRY, running
        pop_from_array(z@STEPS) -> z                # what the step calculated
        tanh_grad(z, h@GRAD@CARRY) -> ...
        mul_grad(...) -> h@GRAD, w@GRAD
        assign(h@GRAD) -> h@GRAD@CARRY              # the loop overwrites h in each step,
        sum(w@GRAD@CARRY, w@GRAD) -> w@GRAD@CARRY   # and only reads w
    assign(h@GRAD@CARRY) -> h@GRAD
    assign(w@GRAD@CARRY) -> w@GRAD
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from fluidcore import core
from fluidcore.backward.block_gradient import BlockGradient
from fluidcore.backward.operators import ForwardOp, GradOp
from fluidcore.backward.path import Path
from fluidcore.backward.rows_of_steps import has_rows, joined_rows
from fluidcore.backward.sums_over_steps import SumOverSteps
from fluidcore.backward.versions import ONLY, Version
from fluidcore.backward.view import declare_like
from fluidcore.program import Block

Value = tuple[str, Version]
Ends = Callable[[Collection[str]], list[GradOp]]
Append = Callable[
    [BlockGradient, list[GradOp], Ends, Collection[str], Collection[str]], dict[str, SumOverSteps]
]


class Carry(NamedTuple):
    """A gradient that goes from step to step.

    Attributes:
        outer: The forward variable of the block around, whose gradient it becomes.
        variable: What holds it between the steps.
        start: The forward value, in the sub-block, that a step starts with.
        end: The forward value that a step leaves for the next one.
        is_read_only: Whether the steps only read the variable, so that their gradients add up.
    """

    outer: str
    variable: str
    start: Value
    end: Value
    is_read_only: bool


def sub_block_gradient(op: ForwardOp, outer: BlockGradient, append: Append) -> list[GradOp]:
    """Makes the gradient block of an operator; returns the operators around it.

    Args:
        op: An operator with a sub-block.
        outer: The gradient of the block that the operator is in.
        append: Appends the gradient operators of a block, with seeds, ends and results.
    """
    body = op.body
    assert body is not None
    path = outer.path.bodies[op.position]
    stacked = [pair for pair in body.stacked if pair[1] in path.variables]
    if outer.produced.isdisjoint(_incoming(op, outer, path, stacked)):
        return []
    program = outer.target.program
    target = program.block(program.desc.append_block(outer.target.idx).id())
    target.desc.set_forward_block_idx(body.block.idx)
    inner = outer.inside(op, path, target)
    carries = _carries(op, outer, inner, path)
    slices = _slices_of_gradients(op, outer, inner, stacked)
    stacks = _stacks_of_gradients(op, outer, inner, path)
    seeds = [(carry.variable, carry.end) for carry in carries if not carry.is_read_only]
    seeds += [
        (step, (name, inner.versions.at_end(name)))
        for (_, step), (_, name) in zip(slices, stacked, strict=True)
    ]

    def ends(produced: Collection[str]) -> list[GradOp]:
        """What every step ends with."""
        ops = [end for carry in carries for end in _end_of_step(carry, inner, produced)]
        missing = [stack for stack in stacks if stack.step not in produced]
        return ops + [_zeros(stack.forward, stack.step) for stack in missing]

    sums = append(
        inner,
        [_assign(variable, inner.names.gradient(*value)) for variable, value in seeds],
        ends,
        [*(carry.variable for carry in carries), *(stack.step for stack in stacks)],
        [carry.variable for carry in carries if carry.is_read_only],
    )
    carried = [carry for carry in carries if _holds_something(carry, inner, target, sums)]
    outer.remove_carries(
        {carry.variable for carry in carries}.difference(c.variable for c in carried)
    )
    stacks += [Stack(row.stack, row.name, row.name) for s in sums.values() for row in s.rows]
    return [
        *_before(op, outer, carried, stacked),
        _grad_op(op, outer, target, slices + inner.values.slices, stacks),
        *_after(op, outer, carried),
        *(
            made
            for carry in carries
            if carry.variable in sums
            for made in sums[carry.variable].ops(_result(op, outer, carry), outer.names.fresh)
        ),
        *(
            made
            for carry in carries
            if outer.outer is None and carry.outer in outer.shared.rows
            for made in joined_rows(outer, carry.outer, _result(op, outer, carry))
        ),
    ]


def _holds_something(
    carry: Carry, inner: BlockGradient, target: Block, sums: Collection[str]
) -> bool:
    """Whether the gradient block uses what holds a gradient between steps."""
    if carry.variable in sums:
        return False
    if not carry.is_read_only or not has_rows(inner, carry.outer):
        return True
    return any(carry.variable in op.output_arg_names() for op in target.desc.ops())


class Stack(NamedTuple):
    """What the steps of a gradient block leave, one above the other.

    Attributes:
        sequence: Outside, as the gradient of a sequence that the `recurrent` operator slices.
        step: What a step adds to it.
        forward: A variable of the same shape in the forward block.
    """

    sequence: str
    step: str
    forward: str


def _slices_of_gradients(
    op: ForwardOp, outer: BlockGradient, inner: BlockGradient, stacked: list[tuple[str, str]]
) -> list[tuple[str, str]]:
    """The gradient of each sequence that the operator stacks -> its slice in a step."""
    slices = []
    for sequence, name in stacked:
        step = inner.names.fresh(f"{core.grad_var_name(name)}@STEP")
        declare_like(inner.target, step, name, inner.forward)
        slices.append((outer.gradient_after(op, sequence), step))
    return slices


def _stacks_of_gradients(
    op: ForwardOp, outer: BlockGradient, inner: BlockGradient, path: Path
) -> list[Stack]:
    """The gradients of the sequences that the operator slices."""
    assert op.body is not None
    stacks = []
    for sequence, name in op.body.sliced:
        if name in path.variables:
            grad = outer.gradient_before(op, sequence)
            outer.names.grad_to_var[grad] = sequence
            stacks.append(Stack(grad, inner.names.gradient(name, ONLY), name))
    return stacks


def _incoming(
    op: ForwardOp, outer: BlockGradient, path: Path, stacked: list[tuple[str, str]]
) -> list[str]:
    """The gradients that may come in."""
    assert op.body is not None
    names = [name for name in op.body.writes if name in path.variables]
    names += [sequence for sequence, _ in stacked]
    return [outer.gradient_after(op, name) for name in names]


def _carries(op: ForwardOp, outer: BlockGradient, inner: BlockGradient, path: Path) -> list[Carry]:
    body = op.body
    assert body is not None
    carries = []
    for name in dict.fromkeys([*body.writes, *body.reads]):
        if name in path.variables and name not in inner.arrays:
            end = inner.versions.at_end(name)
            is_read_only = end.gradient == ONLY.gradient
            variable = outer.declare_carry(name)
            carries.append(Carry(name, variable, (name, ONLY), (name, end), is_read_only))
    for state in body.states:
        if state.before in path.variables:
            end = inner.versions.at_end(state.after)
            variable = outer.declare_carry(state.initial)
            carries.append(
                Carry(state.initial, variable, (state.before, ONLY), (state.after, end), False)
            )
    return carries


def _end_of_step(carry: Carry, inner: BlockGradient, produced: Collection[str]) -> list[GradOp]:
    grad = inner.names.gradient(*carry.start)
    if grad in produced:
        if not carry.is_read_only:
            return [_assign(grad, carry.variable)]
        return [GradOp("sum", {"X": [carry.variable, grad]}, {"Out": [carry.variable]})]
    if carry.is_read_only:
        return []
    return [_zeros(carry.variable, carry.variable)]


def _before(
    op: ForwardOp, outer: BlockGradient, carries: list[Carry], stacked: list[tuple[str, str]]
) -> list[GradOp]:
    """The operators that start the carried gradients and fill in missing ones."""
    assert op.body is not None
    ops = []
    for carry in carries:
        is_left = carry.end[0] == carry.outer and not carry.is_read_only
        grad = outer.gradient_after(op, carry.outer) if is_left else None
        if grad in outer.produced and grad is not None:
            ops.append(_assign(grad, carry.variable))
        else:
            ops.append(_zeros(carry.outer, carry.variable))
    for sequence, _ in stacked:
        grad = outer.gradient_after(op, sequence)
        if grad not in outer.produced:
            ops.append(_zeros(sequence, grad))
    return ops


def _grad_op(
    op: ForwardOp,
    outer: BlockGradient,
    target: Block,
    slices: list[tuple[str, str]],
    stacks: list[Stack],
) -> GradOp:
    """The operator that runs the gradient block.

    Args:
        op: The forward operator.
        outer: The gradient of the block that it is in.
        target: The gradient block.
        slices: Sequence -> variable of the gradient block that gets the step's slice.
        stacks: The sequences that it makes.
    """
    assert op.desc is not None
    reads, writes = outer.shared.effects.of(target.idx)
    (made,), _ = core.get_grad_op_desc(op.desc, set(), [target.desc])
    inputs: dict[str, list[str]] = {}
    outputs: dict[str, list[str]] = {}
    if made.type() == "recurrent_grad":
        inputs["inputs"] = [sequence for sequence, _ in slices]
        inputs["parameters"] = reads
        outputs["outputs"] = [stack.sequence for stack in stacks]
        made.set_attr("step_inputs", [name for _, name in slices])
        made.set_attr("step_outputs", [stack.step for stack in stacks])
    else:
        control = "StepScopes" if made.type() == "while_grad" else "X"
        inputs[control] = [outer.values.value_seen(op, name) for name in made.input(control)]
        inputs["X" if control == "StepScopes" else "Params"] = reads
        outputs["Out"] = writes
    return GradOp(
        made.type(),
        inputs,
        outputs,
        desc=made,
        renamed=True,
        call_site=op.desc.call_site(),
        reads=tuple(reads),
        writes=tuple(writes),
    )


def _after(op: ForwardOp, outer: BlockGradient, carries: list[Carry]) -> list[GradOp]:
    """The carried gradients become those of the values before the operator."""
    ops = []
    for carry in carries:
        if carry.is_read_only or outer.has_value_before(op, carry.outer):
            ops.append(_assign(carry.variable, _result(op, outer, carry)))
    return ops


def _result(op: ForwardOp, outer: BlockGradient, carry: Carry) -> str:
    """The gradient that a carried one becomes."""
    grad = outer.gradient_before(op, carry.outer)
    outer.names.grad_to_var[grad] = carry.outer
    return grad


def _assign(source: str, result: str) -> GradOp:
    return GradOp("assign", {"X": [source]}, {"Out": [result]})


def _zeros(like: str, result: str) -> GradOp:
    return GradOp("fill_zeros_like", {"X": [like]}, {"Out": [result]})
