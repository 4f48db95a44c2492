"""Gradient operators made wrong one at a time: exactly the wrong one is accused."""

from collections.abc import Callable, Iterator
from typing import Any

import backward_programs
import numpy as np
import pytest
from backward_programs import MODELS, Built, build, built

import fluidcore as fluid
from fluidcore import core, layers
from fluidcore.gradcheck.adapters.program import program_target
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.localise import kernels
from fluidcore.gradcheck.localise.culprit import find_culprit
from fluidcore.gradcheck.localise.operator_run import run_one
from fluidcore.gradcheck.localise.program_findings import localised
from fluidcore.gradcheck.localise.reference import backward_pair
from fluidcore.gradcheck.report.data import Audit, Culprit
from fluidcore.gradcheck.report.result import GradCheckReport
from fluidcore.gradcheck.verdict import Reason, Verdict
from tests.power.edits import backward_edits

CONFIG = GradCheckConfig()
Model = Callable[[], fluid.Variable]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)


def culprit_in(made: Built, desc: core.ProgramDesc | None = None) -> Culprit | None:
    program = made.program if desc is None else fluid.Program.from_desc(desc)
    return find_culprit(program_target(program, made.feed, made.loss, scope=made.scope), CONFIG)


def gradients(made: Built, desc: core.ProgramDesc) -> list[np.ndarray] | None:
    """The gradients in float64; None where the program cannot be run."""
    program = fluid.Program.from_desc(desc)
    target = program_target(program, made.feed, made.loss, scope=made.scope)
    xs = [item.value.astype(np.float64) for item in target.inputs]
    try:
        return target.vjp(xs, [np.ones(1)], "float64")
    except core.Error:
        return None


def is_wrong(made: Built, desc: core.ProgramDesc, right: list[np.ndarray]) -> bool:
    found = gradients(made, desc)
    if found is None:
        return True
    return not all(np.allclose(a, b, rtol=1e-7) for a, b in zip(found, right, strict=True))


def find(made: Built, op_type: str, writes: str) -> tuple[int, int]:
    """Block and index of the last operator of a type that writes a variable."""
    return [
        (index, position)
        for index in range(made.program.num_blocks)
        for position, op in enumerate(made.program.desc.block(index).ops())
        if op.type() == op_type and writes in op.output_arg_names()
    ][-1]


@every_model
def test_nobody_is_accused_in_a_right_program(model: Model) -> None:
    assert culprit_in(built(model)) is None
    assert culprit_in(build(model)) is None


@every_model
def test_nobody_is_accused_where_gradients_are_appended_for_the_check(model: Model) -> None:
    loss = model()
    fluid.Executor().run(fluid.default_startup_program())
    program, scope = fluid.default_main_program(), fluid.global_scope()
    feed = built(model).feed
    target = program_target(program, feed, [loss], scope=scope)
    assert find_culprit(target, CONFIG) is None


@every_model
def test_every_wrong_operator_is_the_one_that_is_accused(model: Model) -> None:
    made = built(model)
    right = gradients(made, made.program.desc)
    assert right is not None
    edits = 0
    for edit in list(backward_edits(made.program.desc))[::3]:
        wrong = edit.applied(made.program.desc)
        if wrong is None or not is_wrong(made, wrong, right):
            continue
        edits += 1
        culprit = culprit_in(made, wrong)
        assert culprit is not None, edit
        assert (culprit.block, culprit.op) == (edit.block, edit.op), edit
    assert edits >= 5


def removals(made: Built) -> Iterator[tuple[int, core.OpDesc, core.ProgramDesc]]:
    """Copies of a program without one of its gradient operators."""
    checked = {f"{p.name}@GRAD" for p in made.program.all_parameters()}
    for index in range(made.program.num_blocks):
        for position, op in enumerate(made.program.desc.block(index).ops()):
            names = op.output_arg_names()
            if not any("@GRAD" in name for name in names):
                continue
            if op.type() == "clip" or (index == 0 and checked.intersection(names)):
                continue  # the gradient is then right, or there is none to check
            without = made.program.desc.clone()
            without.block(index).remove_op(position, position + 1)
            yield index, op, without


@every_model
def test_an_operator_that_is_missing_is_named(model: Model) -> None:
    made = built(model)
    right = gradients(made, made.program.desc)
    assert right is not None
    for index, op, without in removals(made):
        if is_wrong(made, without, right):
            culprit = culprit_in(made, without)
            assert culprit is not None, op
            assert (culprit.block, culprit.op, culprit.op_type) == (index, -1, op.type())
            assert culprit.variable in op.output_arg_names()


def test_zeros_that_are_missing_are_named_as_such() -> None:
    made = built(backward_programs.split_results)
    wrong = made.program.desc.clone()
    block, position = find(made, "fill_zeros_like", "split_0.tmp_1@GRAD")
    wrong.block(block).remove_op(position, position + 1)
    culprit = culprit_in(made, wrong)
    assert culprit is not None
    assert (culprit.op, culprit.reason) == (-1, Reason.MISSING_ZERO)
    assert culprit.variable == "split_0.tmp_1@GRAD"
    assert culprit.detail == ("'fill_zeros_like', which makes 'split_0.tmp_1@GRAD', is missing")


def test_zeros_that_are_not_zero() -> None:
    made = built(backward_programs.split_results)
    wrong = made.program.desc.clone()
    block, position = find(made, "fill_zeros_like", "split_0.tmp_1@GRAD")
    op = wrong.block(block).op(position)
    op.set_type("fill_any_like")
    op.set_attr("value", 0.25)
    culprit = culprit_in(made, wrong)
    assert culprit is not None
    assert (culprit.block, culprit.op) == (block, position)


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_part_that_is_not_in_the_sum(lost: int) -> None:
    made = built(backward_programs.fan_out)
    wrong = made.program.desc.clone()
    block, position = find(made, "sum", "fc_0.tmp_2@GRAD")
    op = wrong.block(block).op(position)
    parts = op.input("X")
    op.set_input("X", [*parts[:lost], *parts[lost + 1 :]])
    culprit = culprit_in(made, wrong)
    assert culprit is not None
    assert (culprit.block, culprit.op, culprit.op_type) == (block, position, "sum")
    assert culprit.reason is Reason.FANOUT_SUM
    assert culprit.detail == (
        f"'fc_0.tmp_2@GRAD' is not the sum of its parts; '{parts[lost]}' is not in it"
    )


def test_a_part_that_is_read_in_place_of_the_sum() -> None:
    made = built(backward_programs.fan_out)
    wrong = made.program.desc.clone()
    block, position = find(made, "sigmoid_grad", "fc_0.tmp_1@GRAD")
    wrong.block(block).op(position).rename_input("fc_0.tmp_2@GRAD", "fc_0.tmp_2@GRAD@RENAME@1")
    culprit = culprit_in(made, wrong)
    assert culprit is not None
    assert (culprit.op, culprit.reason) == (position, Reason.FANOUT_SUM)


def test_a_stale_activation() -> None:
    made = built(backward_programs.overwritten)
    wrong = made.program.desc.clone()
    block, position = find(made, "square_grad", "square_0.tmp_0@GRAD")
    assert made.program.desc.block(block).op(position).input("X") == ["square_0.tmp_0"]
    kept = next(name for name in made.program.global_block().vars if "@VERSION@1" in name)
    wrong.block(block).op(position).rename_input("square_0.tmp_0", kept.replace("@GRAD", ""))
    culprit = culprit_in(made, wrong)
    assert culprit is not None
    assert (culprit.op, culprit.reason) == (position, Reason.STALE)
    assert culprit.detail == "reads 'square_0.tmp_0@VERSION@1' where it must read 'square_0.tmp_0'"


def test_a_stale_activation_of_a_loop() -> None:
    made = built(backward_programs.loop)
    wrong = made.program.desc.clone()
    block, position = find(made, "elementwise_mul_grad", "while_loop_0.tmp_1@GRAD@RENAME@1")
    op = wrong.block(block).op(position)
    (kept,) = (name for name in op.input("X") if "@VERSION@0" in name)
    op.rename_input(kept, "tanh_0.tmp_0")
    culprit = culprit_in(made, wrong)
    assert culprit is not None
    assert (culprit.block, culprit.op, culprit.reason) == (block, position, Reason.STALE)


def test_an_attribute_of_a_gradient_operator() -> None:
    made = built(backward_programs.loop)
    wrong = made.program.desc.clone()
    block, position = find(made, "elementwise_mul_grad", "while_loop_0.tmp_1@GRAD@RENAME@0")
    op = wrong.block(block).op(position)
    op.set_type("elementwise_div_grad")
    culprit = culprit_in(made, wrong)
    assert culprit is not None
    assert (culprit.block, culprit.op, culprit.reason) == (block, position, Reason.MISMATCH)
    assert culprit.detail == "'elementwise_div_grad' in place of 'elementwise_mul_grad'"


@every_model
def test_an_operator_that_does_not_belong_there(model: Model) -> None:
    made = built(model)
    name = made.program.all_parameters()[0].name + "@GRAD"
    wrong = made.program.desc.clone()
    op = core.OpDesc("scale", {"X": [name]}, {"Out": [name]}, {"scale": 2.0})
    position = max(i for i, op in enumerate(wrong.block(0).ops()) if name in op.output_arg_names())
    wrong.block(0).insert_op(position + 1).copy_from(op)
    culprit = culprit_in(made, wrong)
    assert culprit is not None
    assert (culprit.block, culprit.op, culprit.op_type) == (0, position + 1, "scale")


@pytest.mark.parametrize("is_moved", [False, True], ids=["one more", "moved"])
@pytest.mark.parametrize("name", ["exp_0.tmp_0@GRAD", "tmp_1@GRAD", "tanh_0.tmp_0@GRAD@RENAME@0"])
def test_a_clip_of_a_wrong_variable(name: str, is_moved: bool) -> None:
    made = built(backward_programs.error_clip)
    wrong = made.program.desc.clone()
    block = wrong.block(0)
    _, position = find(made, "clip", "tanh_0.tmp_0@GRAD")
    clip = core.OpDesc()
    clip.copy_from(block.op(position))
    if is_moved:
        block.remove_op(position, position + 1)
    clip.set_input("X", [name])
    clip.set_output("Out", [name])
    place = 1 + max(i for i, op in enumerate(block.ops()) if name in op.output_arg_names())
    block.insert_op(place).copy_from(clip)
    culprit = culprit_in(made, wrong)
    assert culprit is not None
    assert (culprit.op, culprit.op_type, culprit.reason) == (place, "clip", Reason.CLIP)
    assert culprit.variable == name


def test_a_clip_with_other_bounds() -> None:
    made = built(backward_programs.error_clip)
    wrong = made.program.desc.clone()
    block, position = find(made, "clip", "tanh_0.tmp_0@GRAD")
    wrong.block(block).op(position).set_attr("max", 0.01)
    culprit = culprit_in(made, wrong)
    assert culprit is not None
    assert (culprit.op, culprit.reason) == (position, Reason.CLIP)


def test_an_error_of_the_dtype_alone() -> None:
    made = built(backward_programs.chain)
    wrong = made.program.desc.clone()
    block = wrong.block(0)
    name = "fc_0.tmp_2@GRAD"
    place = 1 + max(i for i, op in enumerate(block.ops()) if name in op.output_arg_names())
    half = {"in_dtype": core.dtype_number("float32"), "out_dtype": core.dtype_number("float16")}
    back = {"in_dtype": half["out_dtype"], "out_dtype": half["in_dtype"]}
    block.add_op("cast", {"X": [name]}, {"Out": ["half"]}, half, "", place)
    block.add_op("cast", {"X": ["half"]}, {"Out": [name]}, back, "", place + 1)
    culprit = culprit_in(made, wrong)
    assert culprit is not None
    assert (culprit.op, culprit.op_type, culprit.variable) == (place + 1, "cast", name)


def test_gradient_operators_of_ones_own_are_compared_with_the_loss() -> None:
    x = layers.data("x", [4, 3], append_batch_size=False, stop_gradient=False)
    y = layers.tanh(x)
    loss = layers.reduce_sum(y)
    block = loss.block
    names = {"x": "x@GRAD", "y": f"{y.name}@GRAD", "loss": f"{loss.name}@GRAD"}
    block.append_op("fill_constant", {}, {"Out": names["loss"]}, {"shape": [1], "value": 1.0})
    block.append_op("fill_any_like", {"X": y}, {"Out": names["y"]}, {"value": 1.0})
    block.append_op("elementwise_mul", {"X": y, "Y": y}, {"Out": "square"})
    block.append_op("elementwise_sub", {"X": names["y"], "Y": "square"}, {"Out": names["x"]})
    program = fluid.default_main_program()
    feed = {"x": backward_programs.FEED["x"]}
    assert find_culprit(program_target(program, feed, loss), CONFIG) is None
    (position,) = (i for i, op in enumerate(block.ops) if op.type == "elementwise_sub")
    block.desc.op(position).set_type("elementwise_add")
    culprit = find_culprit(program_target(program, feed, loss), CONFIG)
    assert culprit is not None
    assert (culprit.op, culprit.op_type, culprit.variable) == (
        position,
        "elementwise_add",
        "x@GRAD",
    )


def culprit_of_backward_itself(
    made: Built, monkeypatch: pytest.MonkeyPatch, change: Callable[[core.ProgramDesc], None]
) -> Culprit | None:
    """What is found if the backward pass itself writes something wrong, again and again."""
    wrong = made.program.desc.clone()
    change(wrong)

    def with_wrong_reference(target: Any) -> Any:
        pair = backward_pair(target)
        assert pair.reference is not None
        change(pair.reference)
        return pair

    monkeypatch.setattr("fluidcore.gradcheck.localise.culprit.backward_pair", with_wrong_reference)
    return culprit_in(made, wrong)


def test_a_wrong_formula_is_found_by_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    made = built(backward_programs.loop_of_branches)
    block, position = find(made, "tanh_grad", "tmp_2@GRAD")

    def change(desc: core.ProgramDesc) -> None:
        desc.block(block).op(position).set_type("sigmoid_grad")

    culprit = culprit_of_backward_itself(made, monkeypatch, change)
    assert culprit is not None
    assert (culprit.block, culprit.op, culprit.reason) == (block, position, Reason.MISMATCH)
    assert (culprit.slot, culprit.variable) == ("X@GRAD", "tmp_2@GRAD")
    assert "'tmp_2@GRAD' is " in culprit.detail
    assert " along a direction where it must be " in culprit.detail


def test_a_wrong_formula_of_a_dropout_in_a_loop_is_found_by_differences(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = built(backward_programs.dropout_in_a_loop)
    (block, position), *_ = [
        (index, position)
        for index in range(made.program.num_blocks)
        for position, op in enumerate(made.program.desc.block(index).ops())
        if op.type() == "dropout_grad"
    ]
    assert block > 0
    (mask,) = made.program.desc.block(block).op(position).input("Mask")
    (out_grad,) = made.program.desc.block(block).op(position).input("Out@GRAD")

    def change(desc: core.ProgramDesc) -> None:
        desc.block(block).op(position).rename_input(mask, out_grad)

    culprit = culprit_of_backward_itself(made, monkeypatch, change)
    assert culprit is not None
    assert (culprit.block, culprit.op, culprit.reason) == (block, position, Reason.MISMATCH)
    assert " along a direction where it must be " in culprit.detail


def test_a_value_that_was_overwritten_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    made = built(backward_programs.overwritten)
    block, position = find(made, "tanh_grad", "square_0.tmp_0@GRAD@VERSION@1")
    (read,) = made.program.desc.block(block).op(position).input("Out")

    def change(desc: core.ProgramDesc) -> None:
        ops = desc.block(0).ops()
        (op,) = (op for op in ops if op.type() == "tanh_grad")
        op.rename_input(read, "tmp_0")
        (writer,) = (op for op in ops if op.type() == "elementwise_mul")
        assert writer.output("Out") == ["tmp_0"]

    culprit = culprit_of_backward_itself(made, monkeypatch, change)
    assert culprit is not None
    assert (culprit.block, culprit.op) == (block, position)


def test_a_part_that_backward_forgot_is_found_by_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    made = built(backward_programs.fan_out)
    block, position = find(made, "sum", "fc_0.tmp_2@GRAD")

    def change(desc: core.ProgramDesc) -> None:
        (op,) = (op for op in desc.block(0).ops() if "fc_0.tmp_2@GRAD" in op.output("Out"))
        op.set_input("X", op.input("X")[:2])

    culprit = culprit_of_backward_itself(made, monkeypatch, change)
    assert culprit is not None
    assert (culprit.block, culprit.op, culprit.reason) == (block, position, Reason.FANOUT_SUM)
    assert culprit.detail.endswith("although each operator by itself is right")


def test_a_part_that_a_loop_forgot_is_found_behind_the_copies_of_its_sum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The gradient of the last step only; it is copied out of the loop."""
    made = built(backward_programs.loop)

    def change(desc: core.ProgramDesc) -> None:
        (op,) = (
            op
            for index in range(1, desc.num_blocks())
            for op in desc.block(index).ops()
            if op.type() == "sum" and op.output("Out") == ["w@GRAD@CARRY"]
        )
        op.set_input("X", ["w@GRAD"])

    block, position = find(made, "while_grad", "w@GRAD@CARRY")
    assert find(made, "assign", "w@GRAD") > (block, position)
    culprit = culprit_of_backward_itself(made, monkeypatch, change)
    assert culprit is not None
    assert (culprit.block, culprit.op, culprit.op_type) == (block, position, "while_grad")
    assert (culprit.variable, culprit.reason) == ("w@GRAD", Reason.MISMATCH)


def test_a_wrong_kernel_of_the_dtype_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    made = built(backward_programs.chain)
    assert culprit_in(made) is None

    def with_wrong_tanh(op: core.OpDesc, values: Any) -> dict[str, np.ndarray]:
        found = run_one(op, values)
        if op.type() == "tanh_grad" and all(v.dtype == np.float32 for v in found.values()):
            return {name: value * np.float32(1.0001) for name, value in found.items()}
        return found

    monkeypatch.setattr(kernels, "run_one", with_wrong_tanh)
    culprit = culprit_in(made)
    assert culprit is not None
    assert (culprit.op_type, culprit.variable) == ("tanh_grad", "fc_0.tmp_1@GRAD")
    assert culprit.reason is Reason.KERNEL


def test_the_users_line_is_named() -> None:
    made = built(backward_programs.chain)
    wrong = made.program.desc.clone()
    block, position = find(made, "tanh_grad", "fc_0.tmp_1@GRAD")
    op = wrong.block(block).op(position)
    op.rename_input("fc_0.tmp_2", "fc_0.tmp_0")
    culprit = culprit_in(made, wrong)
    assert culprit is not None
    assert "backward_programs.py:" in culprit.call_site
    assert culprit.call_site.endswith(': hidden = layers.fc(_x(), 5, act="tanh")')
    assert (culprit.slot, culprit.variable) == ("X@GRAD", "fc_0.tmp_1@GRAD")


@pytest.mark.parametrize("localise_it", [True, False])
def test_a_report_of_a_wrong_program_has_the_culprit(localise_it: bool) -> None:
    made = built(backward_programs.error_clip)
    config = GradCheckConfig(localise=localise_it, explain=False)
    target = program_target(made.program, made.feed, made.loss, scope=made.scope)
    right = localised(GradCheckReport("program", (), _audits(Verdict.PASS)), target, config)
    assert right.culprit is None
    assert [audit.name for audit in right.audits] == ["all", "error clips"]
    block, position = find(made, "exp_grad", "tanh_0.tmp_0@GRAD@RENAME@1")
    made.program.desc.block(block).op(position).set_type("tanh_grad")
    target = program_target(made.program, made.feed, made.loss, scope=made.scope)
    wrong = localised(GradCheckReport("program", (), _audits(Verdict.FAIL)), target, config)
    assert (wrong.culprit is not None) is localise_it
    if wrong.culprit is not None:
        assert (wrong.culprit.block, wrong.culprit.op) == (block, position)


def _audits(verdict: Verdict) -> tuple[Audit, ...]:
    return (Audit("all", verdict),)


def test_checkpoints_are_no_faults() -> None:
    x = layers.data("x", [4, 3], append_batch_size=False)
    hidden = [x]
    for _ in range(4):
        hidden.append(layers.fc(hidden[-1], 3, act="tanh"))
    loss = layers.mean(layers.square(hidden[-1]))
    fluid.append_backward(loss, checkpoints=[hidden[2]])
    fluid.Executor().run(fluid.default_startup_program())
    program = fluid.default_main_program()
    assert "@RECOMPUTED" in str(program)
    feed = {"x": backward_programs.FEED["x"]}
    assert find_culprit(program_target(program, feed, loss), CONFIG) is None


def test_neither_the_program_nor_the_scope_changes() -> None:
    made = built(backward_programs.loop_of_branches)
    text = str(made.program)
    sites = [op.call_site for block in made.program.blocks for op in block.ops]
    names = made.scope.local_var_names()
    culprit_in(made)
    assert str(made.program) == text
    assert [op.call_site for block in made.program.blocks for op in block.ops] == sites
    assert made.scope.local_var_names() == names


def test_the_same_seed_finds_the_same() -> None:
    made = built(backward_programs.recurrence)
    wrong = made.program.desc.clone()
    block, position = find(made, "matmul_grad", "w@GRAD")
    op: Any = wrong.block(block).op(position)
    op.set_attr("transpose_X", True)
    first, second = culprit_in(made, wrong), culprit_in(made, wrong)
    assert first == second
    assert first is not None
    assert (first.block, first.op) == (block, position)
