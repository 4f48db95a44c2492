import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

import backward_programs
import numpy as np
import pytest
from backward_programs import FEED, MODELS, Built, build, built

import fluidcore as fluid
from fluidcore import core, layers
from fluidcore.gradcheck import GradientChecker
from fluidcore.gradcheck.adapters.program import ProgramTarget, program_target
from fluidcore.gradcheck.report.loading import load

Model = Callable[[], fluid.Variable]


def target_of(made: Built, **settings: Any) -> ProgramTarget:
    return program_target(made.program, made.feed, made.loss, scope=made.scope, **settings)


def points(target: ProgramTarget, dtype: Any = None) -> list[np.ndarray]:
    return [item.value.astype(dtype or item.value.dtype) for item in target.inputs]


def along(target: ProgramTarget, index: int, cotangent: np.ndarray) -> tuple[float, float]:
    """The derivative along a direction by differences, and its error bar."""
    function = target.function("float64")
    directions: list[Any] = [None] * len(target.inputs)
    directions[index] = np.ones(target.inputs[index].value.size)
    found = core.differentiate_along(function, directions, [cotangent])
    return float(found.value[0, 0]), float(found.error[0, 0])


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_the_gradients_of_a_program_are_those_of_its_own_operators(model: Model) -> None:
    made = built(model)
    text = str(made.program)
    target = target_of(made)
    assert target.fixed_cotangent
    expected = fluid.Executor().run(
        made.program, made.feed, [f"{i.name}@GRAD" for i in target.inputs], made.scope
    )
    found = target.vjp(points(target), [np.ones(1, np.float32)], "float32")
    # Those of programs with clips are checked without them; random numbers are other ones.
    if not any(word in text for word in ("clip(", "dropout(")):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)
    exact = target.vjp(points(target, "float64"), [np.ones(1)], "float64")
    for i, (gradient, single) in enumerate(zip(exact, found, strict=True)):
        np.testing.assert_allclose(single, gradient, rtol=1e-3, atol=1e-4)
        value, error = along(target, i, np.ones(1))
        assert abs(value - gradient.sum()) <= 3 * error + 1e-9 * np.abs(gradient).sum()
    assert str(made.program) == text


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_gradients_are_appended_to_a_copy_where_there_are_none(model: Model) -> None:
    with fluid.scope_guard(fluid.Scope()):
        loss = model()
        fluid.default_startup_program().random_seed = 3
        fluid.Executor().run(fluid.default_startup_program())
        program = fluid.default_main_program()
        text = str(program)
        feed = {n: v for n, v in FEED.items() if program.global_block().has_var(n)}
        target = program_target(program, feed, [loss])
        assert not target.fixed_cotangent
        exact = target.vjp(points(target, "float64"), [np.full(1, 2.0)], "float64")
        for i, gradient in enumerate(exact):
            value, error = along(target, i, np.full(1, 2.0))
            assert abs(value - gradient.sum()) <= 3 * error + 1e-9 * np.abs(gradient).sum()
        assert str(program) == text


def test_several_results_of_any_shape() -> None:
    x = layers.data("x", [4, 3], append_batch_size=False, stop_gradient=False)
    first, second = layers.tanh(x), layers.reduce_sum(x, dim=1)
    target = program_target(fluid.default_main_program(), {"x": FEED["x"]}, [first, second])
    assert [item.name for item in target.inputs] == ["x"]
    assert [y.shape for y in target.forward(points(target), "float32")] == [(4, 3), (4,)]
    vs = [np.zeros((4, 3), np.float32), np.arange(4, dtype=np.float32)]
    (gradient,) = target.vjp(points(target), vs, "float32")
    np.testing.assert_array_equal(gradient, np.repeat(vs[1][:, None], 3, axis=1))


def two_layers_of_which_one_is_used() -> fluid.Variable:
    x = layers.data("x", [4, 3], append_batch_size=False)
    layers.fc(x, 2)
    return layers.mean(layers.fc(x, 5, act="tanh"))


def test_the_report_names_parameters_that_no_gradient_reaches(tmp_path: Path) -> None:
    loss = two_layers_of_which_one_is_used()
    fluid.Executor().run(fluid.default_startup_program())
    report = GradientChecker().check_program(fluid.default_main_program(), {"x": FEED["x"]}, loss)
    note = "not checked, for no gradient of the loss reaches it: 'fc_0.w_0', 'fc_0.b_0'"
    assert report.notes == (note,)
    assert report
    assert f"  note: {note}" in str(report).splitlines()
    for end in ("html", "xml", "json"):
        report.save(str(tmp_path / f"r.{end}"))
        text = (tmp_path / f"r.{end}").read_text(encoding="utf-8")
        assert note in html.unescape(text)
    assert load(tmp_path / "r.json")[0].notes == (note,)


def test_the_report_names_parameters_whose_gradient_the_program_leaves_out() -> None:
    loss = two_layers_of_which_one_is_used()
    fluid.append_backward(loss, parameter_list=["fc_1.w_0"])
    fluid.Executor().run(fluid.default_startup_program())
    check = GradientChecker().check_program
    report = check(fluid.default_main_program(), {"x": FEED["x"]}, loss)
    assert report.notes == (
        "not checked, for the program calculates no gradient of it, although the loss depends on "
        "it: 'fc_1.b_0'",
        "not checked, for no gradient of the loss reaches it: 'fc_0.w_0', 'fc_0.b_0'",
    )
    chosen = check(fluid.default_main_program(), {"x": FEED["x"]}, loss, ["fc_1.w_0"])
    assert chosen.notes == ()


def test_a_program_without_anything_to_check_says_what_there_is() -> None:
    x = layers.data("x", [4, 3], append_batch_size=False)
    loss = layers.mean(x)
    w = layers.create_parameter([3], "float32", "w")
    layers.tanh(w)
    with pytest.raises(
        core.InvalidArgument,
        match="must depend on a trainable parameter, or on data that does not stop gradients, got "
        "not checked, for no gradient of the loss reaches it: 'w'",
    ):
        program_target(fluid.default_main_program(), {"x": FEED["x"]}, loss)


def test_operators_of_optimizers_are_left_out() -> None:
    loss = backward_programs.chain()
    fluid.optimizer.Adam(learning_rate=0.1).minimize(loss)
    fluid.Executor().run(fluid.default_startup_program())
    program, scope = fluid.default_main_program(), fluid.global_scope()
    names = [p.name for p in program.all_parameters()]
    before = {n: np.array(scope.find_var(n).get_tensor()) for n in scope.local_var_names()}
    feed = {name: FEED[name] for name in ("x", "label")}
    target = program_target(program, feed, loss)
    assert [item.name for item in target.inputs] == names
    target.vjp(points(target), [np.ones(1, np.float32)], "float32")
    for name, value in before.items():
        np.testing.assert_array_equal(np.asarray(scope.find_var(name).get_tensor()), value)


def test_the_gradient_of_the_loss_and_not_an_older_one_is_checked() -> None:
    x = layers.data("x", [4, 3], append_batch_size=False, stop_gradient=False)
    y = layers.reduce_sum(layers.fc(layers.tanh(x), 2, act="sigmoid"))
    (slope,) = fluid.gradients(y, x)
    loss = y + layers.reduce_sum(layers.square(slope))
    fluid.append_backward(loss)
    fluid.Executor().run(fluid.default_startup_program())
    target = program_target(fluid.default_main_program(), {"x": FEED["x"]}, loss)
    assert target.gradient_names is not None
    assert "x@GRAD_0" in target.gradient_names
    exact = target.vjp(points(target, "float64"), [np.ones(1)], "float64")
    for i, gradient in enumerate(exact):
        value, error = along(target, i, np.ones(1))
        assert abs(value - gradient.sum()) <= 3 * error + 1e-9 * np.abs(gradient).sum()


def test_the_second_of_two_losses_that_are_trained_in_turn() -> None:
    x = layers.data("x", [4, 3], append_batch_size=False)
    a, b = (layers.create_parameter([3], "float32", name) for name in "ab")
    first = layers.reduce_sum(layers.tanh(x * a) * b)
    fluid.optimizer.SGD(learning_rate=0.1).minimize(first, parameter_list=["a"])
    second = layers.reduce_sum(layers.square(layers.sigmoid(x * a) * b))
    fluid.optimizer.SGD(learning_rate=0.1).minimize(second, parameter_list=["b"])
    fluid.Executor().run(fluid.default_startup_program())
    for loss, name in ((first, "a"), (second, "b")):
        target = program_target(fluid.default_main_program(), {"x": FEED["x"]}, loss)
        assert [item.name for item in target.inputs] == [name]
        (gradient,) = target.vjp(points(target, "float64"), [np.ones(1)], "float64")
        value, error = along(target, 0, np.ones(1))
        assert abs(value - gradient.sum()) <= 3 * error + 1e-9 * np.abs(gradient).sum()


def test_what_gradients_do_not_pass_keeps_its_value() -> None:
    made = built(backward_programs.no_grad)
    target = target_of(made)
    value, error = along(target, 0, np.ones(1))
    (gradient,) = target.vjp(points(target, "float64"), [np.ones(1)], "float64")
    assert abs(value - gradient.sum()) <= 3 * error + 1e-9
    assert "square_0.tmp_0" in target.values


def test_what_is_fed_converts_as_in_a_run() -> None:
    x = layers.data("x", [3])
    y = layers.data("y", [1], dtype="int64")
    logits = layers.fc(x, 2)
    loss = layers.mean(layers.softmax_with_cross_entropy(logits, y))
    fluid.Executor().run(fluid.default_startup_program())
    feed = {"x": np.ones([4, 3]), "y": np.array([0, 1, 1, 0], np.int32)}
    with pytest.warns(UserWarning, match="feed 'x': a float64 array is rounded to float32"):
        target = program_target(fluid.default_main_program(), feed, loss)
    assert target.values["x"].dtype == np.float32
    assert (target.values["y"].dtype, target.values["y"].shape) == (np.int64, (4, 1))


def test_a_constant_of_the_users_keeps_its_value() -> None:
    made = build(backward_programs.fan_out, no_grad_set={"tanh_0.tmp_0"})
    target = target_of(made, no_grad_set={"tanh_0.tmp_0"})
    exact = target.vjp(points(target, "float64"), [np.ones(1)], "float64")
    for i, gradient in enumerate(exact):
        value, error = along(target, i, np.ones(1))
        assert abs(value - gradient.sum()) <= 3 * error + 1e-9


def test_a_clip_that_clips_is_told_and_left_out_of_the_check() -> None:
    made = built(backward_programs.error_clip)
    target = target_of(made)
    (audit,) = target.own_audits()
    assert audit.verdict
    assert audit.detail.startswith("clipped: 11 elements; the gradient is checked without")
    assert target_of(build(backward_programs.error_clip)).own_audits() == []


def test_parameters_may_be_chosen() -> None:
    made = built(backward_programs.chain)
    target = target_of(made, parameter_list=["fc_1.w_0"])
    assert [item.name for item in target.inputs] == ["fc_1.w_0"]
    pairs = [("fc_0.w_0", "fc_0.w_0@GRAD"), ("fc_1.w_0", None)]
    target = target_of(made, params_grads=pairs)
    assert [item.name for item in target.inputs] == ["fc_0.w_0"]


def test_a_data_input_is_checked_if_gradients_pass_it() -> None:
    x = layers.data("x", [4, 3], append_batch_size=False, stop_gradient=False)
    loss = layers.reduce_sum(layers.square(x))
    fluid.append_backward(loss)
    target = program_target(fluid.default_main_program(), {"x": FEED["x"]}, loss)
    assert [item.name for item in target.inputs] == ["x"]
    (gradient,) = target.vjp(points(target), [np.ones(1, np.float32)], "float32")
    np.testing.assert_array_equal(gradient, 2 * FEED["x"])


def test_a_wrong_gradient_operator_is_checked_as_it_is() -> None:
    made = built(backward_programs.chain)
    block = made.program.global_block()
    block.append_op("scale", {"X": "fc_0.w_0@GRAD"}, {"Out": "fc_0.w_0@GRAD"}, {"scale": 2.0})
    right = target_of(built(backward_programs.chain))
    wrong = target_of(made)
    ones = [np.ones(1)]
    for item, a, b in zip(
        right.inputs,
        wrong.vjp(points(wrong, "float64"), ones, "float64"),
        right.vjp(points(right, "float64"), ones, "float64"),
        strict=True,
    ):
        np.testing.assert_allclose(a, b * (2.0 if item.name == "fc_0.w_0" else 1.0), rtol=1e-12)


def test_mistakes_are_named() -> None:
    made = built(backward_programs.chain)
    with pytest.raises(core.InvalidArgument, match="must calculate 'x@GRAD', got no operator"):
        target_of(made, parameter_list=["x"])
    with pytest.raises(core.NotFound, match="no variable 'lss'"):
        program_target(made.program, made.feed, "lss", scope=made.scope)
    with pytest.raises(core.InvalidArgument, match=r"got none for 'fc_0\.w_0'; run the start"):
        program_target(made.program, made.feed, made.loss, scope=core.Scope())
    with pytest.raises(TypeError, match="program must be a Program, got str"):
        program_target("main", {}, "loss")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="feed must map names to arrays"):
        program_target(made.program, [1], "loss")  # type: ignore[arg-type]
