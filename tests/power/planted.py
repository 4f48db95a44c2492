"""Right targets, and the same with bugs."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from fluidcore import core
from fluidcore.backward import gradients
from fluidcore.gradcheck import cases
from fluidcore.gradcheck.adapters.network_target import NetworkTarget
from fluidcore.gradcheck.adapters.operator import operator_target
from fluidcore.gradcheck.adapters.program import ProgramTarget, program_target
from fluidcore.gradcheck.cases.example import OpExample, as_list
from fluidcore.gradcheck.cases.gradients import SUFFIX
from fluidcore.gradcheck.cases.one_op import one_op
from fluidcore.gradcheck.target.random_numbers import stream
from fluidcore.gradcheck.target.target import Target
from fluidcore.program import Program
from tests.power.bug import Bug, BuggyTarget, Where, distance
from tests.power.edits import Edit, backward_edits
from tests.power.generic import generic_bugs
from tests.power.left_out import EQUIVALENT, LARGEST, LeftOut
from tests.power.measure import Case, Planted
from tests.power.wrong_formulas import formula_bugs

_KINKS = ("at the kink", "at the limits", "with ties")


def operator_case(
    op_type: str, seed: int, dtype: str, bugs: int, where: Where = "formula"
) -> Case | None:
    """An operator at one of its examples, with bugs drawn at random.

    Half of the bugs are generic, half are of the operator: a wrong formula, or gradient operators
    that read, do or leave out something wrong. Bugs that change nothing are not planted, and none
    at a kink or a tie, where a wrong gradient may be a right subgradient.

    Args:
        op_type: An operator that has examples.
        seed: Of the example and the drawing.
        dtype: Of the gradient under test.
        bugs: How many are planted at most.
        where: "formula": in every dtype; "kernel": only in `dtype`.

    Returns:
        None if the operator has no example with elements.
    """
    rng = stream(seed, f"{op_type} {dtype}", "planted bugs")
    left_out: Counter[LeftOut] = Counter()
    drawn = _drawn_target(op_type, seed, dtype, rng, left_out)
    if drawn is None:
        return None
    example, right = drawn
    if example.note in _KINKS:
        return Case(right, [], left_out + Counter([LeftOut.KINK]))
    generic = list(generic_bugs())
    own: list[Bug | Edit] = list(formula_bugs(op_type))
    if where == "formula":
        own += backward_edits(right.backward_program())
    found: list[Planted] = []
    for pool, share in ((own, bugs // 2), (generic, bugs)):
        for i in rng.permutation(len(pool)):
            if len(found) >= share:
                break
            bug = pool[int(i)]
            k = int(rng.integers(len(right.inputs)))
            wrong: Target
            if isinstance(bug, Edit):
                wrong = _edited(right, bug)
            else:
                wrong = BuggyTarget(right, bug, k, where)
            if _is_seen(right, wrong, left_out):
                found.append(Planted(1.0 if isinstance(bug, Edit) else bug.severity, wrong))
    return Case(right, found, left_out)


def program_case(name: str, seed: int, dtype: str, bugs: int) -> Case:
    """An example program with wrong gradient operators, drawn at random."""
    rng = stream(seed, f"{name} {dtype}", "planted bugs")
    example = cases.program_example(name, seed, dtype)
    program, pairs, first, first_block = _with_gradients(example)
    right = _target_of(example, program, pairs)
    left_out: Counter[LeftOut] = Counter()
    pool = list(backward_edits(program.desc, first, first_block))
    found: list[Planted] = []
    for i in rng.permutation(len(pool)):
        if len(found) >= bugs:
            break
        edit = pool[int(i)]
        desc = edit.applied(program.desc)
        if desc is None:
            left_out[LeftOut.UNFIT] += 1
            continue
        wrong = _target_of(example, Program.from_desc(desc), pairs)
        wrong.who = f"{name} where {edit.op_type}: {edit.name}"
        if _is_seen(right, wrong, left_out):
            found.append(Planted(1.0, wrong, (edit.block, edit.op)))
    return Case(right, found, left_out)


class _Backward(NamedTuple):
    """An example program with gradient operators.

    Attributes:
        program: Forward and backward.
        pairs: (variable, its gradient).
        first: Index of the first gradient operator of block 0.
        first_block: Index of the first block inside that backward has added.
    """

    program: Program
    pairs: list[tuple[str, str]]
    first: int
    first_block: int


def _with_gradients(example: cases.ProgramExample) -> _Backward:
    program = example.program.clone()
    block = program.global_block()
    wanted = example.wanted()
    if block.has_var(core.grad_var_name(example.loss)):  # it brings them
        return _Backward(program, [(name, core.grad_var_name(name)) for name in wanted], 0, 1)
    first, first_block = len(block.ops), program.num_blocks
    found = gradients(block.var(example.loss), [block.var(name) for name in wanted])
    pairs = [(name, g.name) for name, g in zip(wanted, found, strict=True) if g is not None]
    return _Backward(program, pairs, first, first_block)


def _target_of(
    example: cases.ProgramExample, program: Program, pairs: list[tuple[str, str]]
) -> ProgramTarget:
    target = program_target(
        program, example.data(), example.loss, scope=example.scope(), params_grads=pairs
    )
    target.who = example.name
    return target


def _drawn_target(
    op_type: str, seed: int, dtype: str, rng: np.random.Generator, left_out: Counter[LeftOut]
) -> tuple[OpExample, NetworkTarget] | None:
    if (forward := op_type.replace(SUFFIX, "")) != op_type:
        left_out[LeftOut.FLAT] += sum(e.is_flat for e in cases.examples(forward, seed, dtype))
    examples = []
    for example in cases.examples(op_type, seed, dtype):
        if (why := _unfit(example)) is None:
            examples.append(example)
        else:
            left_out[why] += 1
    for i in rng.permutation(len(examples)):
        example = examples[int(i)]
        one = one_op(example)
        wanted = [name for slot in example.slots_to_check() for name in one.op.input(slot)]
        target = operator_target(one.op, one.values, inputs_to_check=list(dict.fromkeys(wanted)))
        if target.dtype == dtype:
            return example, target
        left_out[LeftOut.OTHER_DTYPE] += 1
    return None


def _unfit(example: OpExample) -> LeftOut | None:
    sizes = [array.size for value in example.inputs.values() for array in as_list(value)]
    if 0 in sizes:
        return LeftOut.EMPTY
    return LeftOut.LARGE if max(sizes) > LARGEST else None


def _is_seen(right: Target, wrong: Target, left_out: Counter[LeftOut]) -> bool:
    """Whether the wrong target can be run and has another gradient; counts it if not."""
    try:
        if distance(right, wrong) > EQUIVALENT:
            return True
    except core.Error:
        left_out[LeftOut.UNFIT] += 1
    else:
        left_out[LeftOut.SMALL] += 1
    return False


def _edited(right: NetworkTarget, edit: Edit) -> NetworkTarget:
    """The target with wrong backward operators, which are made when it is run."""

    def change(program: core.ProgramDesc) -> core.ProgramDesc:
        changed = edit.applied(program)
        if changed is None:
            raise core.InvalidArgument(f"{edit.op_type}: {edit.name} is not possible")
        return changed

    wrong = right.with_backward(change)
    wrong.who = f"{right.who} where {edit.op_type}: {edit.name}"
    return wrong
