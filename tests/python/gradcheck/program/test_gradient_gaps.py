"""Parameters whose values reach the loss where gradients do not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core, layers
from fluidcore.gradcheck import GradientChecker
from fluidcore.gradcheck.program.gradient_gaps import gradient_gaps
from fluidcore.gradcheck.report.loading import load
from fluidcore.gradcheck.verdict import Reason, Verdict
from fluidcore.program import Variable

FEED = {"x": np.random.default_rng(3).standard_normal((4, 3)).astype(np.float32)}


def data() -> Variable:
    return layers.data("x", [4, 3], append_batch_size=False)


def parameter(name: str, *shape: int) -> Variable:
    return layers.create_parameter(list(shape), "float32", name)


def normalized(x: Variable, mean: Variable, slot: str = "Y", is_test: bool = True) -> Variable:
    """The output `slot` of batch_norm with this running mean."""
    block = fluid.default_main_program().current_block()
    others = {name: layers.ones([3], "float32") for name in ("Scale", "Bias", "Variance")}
    outputs = {name: block.create_var() for name in ("Y", "MeanOut", "VarianceOut")}
    block.append_op("batch_norm", {"X": x, "Mean": mean} | others, outputs, {"is_test": is_test})
    return outputs[slot]


def gaps(loss: Variable, *names: str, stopped: tuple[str, ...] = ()) -> dict[str, Any]:
    program = fluid.default_main_program()
    found = gradient_gaps(program.desc, [loss.name], names, stopped)
    return {name: (gap.op_type, gap.slot, gap.variable) for name, gap in found.items()}


def check(loss: Variable) -> Any:
    fluid.Executor().run(fluid.default_startup_program())
    return GradientChecker().check_program(
        fluid.default_main_program(), FEED, loss, raise_exception=False
    )


def mean_of_a_parameter() -> Variable:
    v, w = parameter("v", 3, 3), parameter("w", 3)
    return layers.mean(layers.square(normalized(layers.matmul(data(), v), layers.tanh(w))))


@pytest.mark.parametrize("has_backward", [False, True])
def test_a_parameter_whose_gradient_is_missing_fails(tmp_path: Path, has_backward: bool) -> None:
    loss = mean_of_a_parameter()
    if has_backward:
        assert fluid.append_backward(loss)[1][1] is None
    report = check(loss)
    assert report.verdict is Verdict.FAIL
    assert all(report.results)
    (audit,) = [audit for audit in report.audits if not audit.verdict]
    assert audit.reason is Reason.MISSING
    assert audit.detail.startswith(
        "'w' reaches the loss through Mean of 'batch_norm' as 'tanh_0.tmp_0', which gradients do "
        "not pass, added at "
    )
    assert "test_gradient_gaps.py:" in audit.detail
    assert audit.detail.endswith("; set stop_gradient=True on 'tanh_0.tmp_0' if that is meant")
    assert report.notes == ()
    assert report.culprit is None
    assert "missing-gradient" in str(report)
    report.save(str(tmp_path / "r.json"))
    assert load(tmp_path / "r.json")[0].verdict is Verdict.FAIL


def test_a_gradient_of_which_a_part_is_missing_fails_too() -> None:
    w = parameter("w", 3)
    y = normalized(data(), layers.tanh(w))
    loss = layers.mean(layers.square(y * w))
    assert gaps(loss, "w") == {"w": ("batch_norm", "Mean", "tanh_0.tmp_0")}
    assert check(loss).verdict is Verdict.FAIL


def test_what_the_user_made_a_constant_is_not_missing() -> None:
    v, w = parameter("v", 3, 3), parameter("w", 3)
    mean = layers.tanh(w)
    mean.stop_gradient = True
    loss = layers.mean(layers.square(normalized(layers.matmul(data(), v), mean)))
    assert gaps(loss, "v", "w") == {}
    report = check(loss)
    assert report
    assert report.notes == ("not checked, for no gradient of the loss reaches it: 'w'",)


def test_a_name_in_no_grad_set_is_not_missing() -> None:
    loss = mean_of_a_parameter()
    assert gaps(loss, "w") == {"w": ("batch_norm", "Mean", "tanh_0.tmp_0")}
    assert gaps(loss, "w", stopped=("tanh_0.tmp_0",)) == {}


def test_a_statistic_that_the_loss_reads_is_missing() -> None:
    v = parameter("v", 3, 3)
    mean = layers.zeros([3], "float32")
    mean.stop_gradient = True
    statistic = normalized(layers.matmul(data(), v), mean, "MeanOut", is_test=False)
    assert gaps(layers.reduce_sum(statistic), "v") == {
        "v": ("batch_norm", "MeanOut", statistic.name)
    }


@pytest.mark.parametrize("is_test", [False, True])
def test_running_statistics_in_place_are_not_missing(is_test: bool) -> None:
    h = layers.matmul(data(), parameter("v", 3, 3))
    loss = layers.mean(layers.square(layers.batch_norm(h, is_test=is_test)))
    assert gaps(loss, *(p.name for p in fluid.default_main_program().all_parameters())) == {}
    mean = fluid.default_main_program().global_block().var("batch_norm_0.mean_0")
    mean.stop_gradient = False  # it is still nothing that this step depends on
    assert gaps(loss, "v") == {}


def loop(step: Callable[[Variable], Variable]) -> Variable:
    x = data()
    h, _ = layers.while_loop(lambda h, i: i < 2, lambda h, i: (step(h), i + 1), [x * 1.0, 0])
    return layers.reduce_sum(h)


def branch(step: Callable[[Variable], Variable]) -> Variable:
    x = data()
    return layers.reduce_sum(layers.cond(layers.reduce_sum(x) > 0.0, lambda: step(x), lambda: x))


@pytest.mark.parametrize("around", [loop, branch])
def test_a_gap_inside_a_block_is_found(around: Callable[..., Variable]) -> None:
    w = parameter("w", 3)
    loss = around(lambda h: normalized(h, layers.tanh(w)))
    assert list(gaps(loss, "w")) == ["w"]


@pytest.mark.parametrize("around", [loop, branch])
def test_there_is_no_gap_in_a_block_that_gradients_pass(around: Callable[..., Variable]) -> None:
    w = parameter("w", 3)
    loss = around(lambda h: layers.tanh(h * w))
    assert gaps(loss, "w") == {}


def test_whole_numbers_and_shapes_are_no_gap() -> None:
    v, w = parameter("v", 3, 3), parameter("w", 4, 3)
    h = layers.matmul(data(), v)
    values, indices = layers.topk(h, 2)
    ones = layers.fill_any_like(w, value=1.0)
    picked = layers.reduce_sum(layers.cast(indices, "float32"))
    loss = layers.reduce_sum(values) + picked + layers.reduce_sum(h * ones)
    loss = loss + layers.reduce_sum(layers.cast(h > 0.0, "float32"))
    assert gaps(loss, "v", "w") == {}


def test_a_program_of_which_nothing_can_be_checked_says_why() -> None:
    loss = layers.mean(normalized(data(), parameter("w", 3)))
    with pytest.raises(core.InvalidArgument, match="got 'w' reaches the loss through Mean of 'bat"):
        check(loss)
