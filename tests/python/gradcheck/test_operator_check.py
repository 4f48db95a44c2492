from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core
from fluidcore.base.dtypes import numpy_dtype
from fluidcore.gradcheck import GradientError, check_grad
from fluidcore.gradcheck.adapters.network_target import NetworkTarget
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.verdict import Verdict

MUL = core.OpDesc("mul", {"X": ["x"], "Y": ["w"]}, {"Out": ["out"]}, {})
X = np.array([[1.0, -2.0, 3.0], [0.5, 0.25, -1.0]])
VALUES = {"x": X, "w": np.linspace(-1, 1, 12).reshape(3, 4)}


def values(dtype: str) -> dict[str, Any]:
    return {name: value.astype(numpy_dtype(dtype)) for name, value in VALUES.items()}


RELU = core.OpDesc("relu", {"X": ["x"]}, {"Out": ["y"]}, {})


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_right_gradient_passes(dtype: str) -> None:
    check_grad(MUL, values(dtype), ["x", "w"], "out")
    check_grad(MUL, values(dtype), ["w"], "out", no_grad_set={"x"}, only_cpu=True)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_16_bit_gradient_passes_within_its_own_rounding(dtype: str) -> None:
    tanh = core.OpDesc("tanh", {"X": ["x"]}, {"Out": ["y"]}, {})
    check_grad(tanh, {"x": values(dtype)["x"]}, ["x"], "y")


def test_the_default_tolerance_accepts_large_sums_in_float32() -> None:
    rng = np.random.default_rng(0)
    big = {
        "x": rng.standard_normal((3, 200)).astype(np.float32),
        "w": rng.standard_normal((200, 4)).astype(np.float32),
    }
    check_grad(MUL, big, ["x", "w"], "out")


def test_a_wrong_gradient_is_reported_with_its_worst_element() -> None:
    kink = {"x": np.array([1.0, 0.0, -1.0])}  # at 0 the two sides differ
    with pytest.raises(GradientError) as caught:
        check_grad(RELU, kink, ["x"], "y", max_relative_error=0.005)
    text = str(caught.value)
    assert text.startswith(
        "relu: the gradient of 'y' with respect to 'x' must be within 0.005 of the numerical "
        "one, got a relative error of 1 at [1] of float64 [3]: numerical "
    )
    assert text.endswith("operator 0; 1 of 3 elements are wrong")
    assert isinstance(caught.value, AssertionError)


def plant(monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    """Lets `change` spoil what gradient operators calculate."""
    right = NetworkTarget.vjp

    def wrong(self: Any, xs: Any, vs: Any, dtype: str) -> list[Any]:
        return [change(gradient) for gradient in right(self, xs, vs, dtype)]

    monkeypatch.setattr(NetworkTarget, "vjp", wrong)


def two_percent(gradient: Any) -> Any:
    gradient = gradient.copy()
    gradient.ravel()[5] *= 1.02
    return gradient


def test_a_planted_error_in_the_gradient_operator_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch, two_percent)
    with pytest.raises(GradientError, match=r"got a relative error of 0\.02 at \[1, 2\]"):
        check_grad(MUL, VALUES, ["x"], "out", max_relative_error=0.005)
    with pytest.raises(GradientError, match=r"element \[1, 2\]"):
        check_grad(MUL, VALUES, ["x"], "out")


def test_a_tolerance_accepts_what_is_within_it(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, two_percent)
    report = check_grad(MUL, VALUES, ["x"], "out", max_relative_error=0.03)
    assert report.verdict is Verdict.PASS
    assert report.results[0].max_relative_error == pytest.approx(0.02 / 1.02, rel=1e-3)
    with pytest.raises(GradientError):
        check_grad(MUL, values("float32"), ["x"], "out", config=GradCheckConfig())


@pytest.mark.parametrize(("dtype", "unit"), [("float16", 2.0**-11), ("bfloat16", 2.0**-8)])
def test_in_16_bits_a_tolerance_is_16_units_of_the_largest_element(
    dtype: str, unit: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    op = core.OpDesc("scale", {"X": ["x"]}, {"Out": ["y"]}, {"scale": 0.5})
    at = {"x": np.ones(8).astype(numpy_dtype(dtype))}
    units = 15.0

    def off(gradient: Any) -> Any:
        changed = gradient.astype(np.float64)
        changed[np.argmin(np.abs(changed))] += units * unit * np.max(np.abs(changed))
        return changed.astype(gradient.dtype)

    plant(monkeypatch, off)
    report = check_grad(op, at, ["x"], "y", max_relative_error=1e-6)
    assert report.results[0].resolution == 16 * unit
    units = 18.0
    with pytest.raises(GradientError, match=f"within {16 * unit:g} .*; 1 of 8 elements are wrong"):
        check_grad(op, at, ["x"], "y", max_relative_error=1e-6)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_the_step_suits_the_size_of_the_values(size: float) -> None:
    log = core.OpDesc("log", {"X": ["x"]}, {"Out": ["y"]}, {})
    at = {"x": size * np.array([0.5, 1.0, 2.0])}
    assert check_grad(log, at, ["x"], "y", max_relative_error=1e-8).verdict is Verdict.PASS


def test_a_correct_negative_gradient_passes() -> None:
    op = core.OpDesc("scale", {"X": ["x"]}, {"Out": ["y"]}, {"scale": -3.0})
    assert check_grad(op, {"x": X}, ["x"], "y", max_relative_error=0.005)


def test_below_a_thousandth_the_absolute_error_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    op = core.OpDesc("scale", {"X": ["x"]}, {"Out": ["y"]}, {"scale": 1e-5})
    plant(monkeypatch, lambda gradient: gradient * 2)
    check_grad(op, {"x": X}, ["x"], "y", max_relative_error=0.005)  # the seed of the rule
    with pytest.raises(GradientError):
        check_grad(op, {"x": X}, ["x"], "y")  # error bars see it


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_with_a_tolerance_what_is_not_finite_is_wrong(
    bad: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, lambda gradient: gradient + np.where(gradient == gradient.max(), bad, 0))
    with pytest.raises(GradientError, match=r"got a relative error of inf at .*; 1 of 6 elements"):
        check_grad(MUL, VALUES, ["x"], "out", max_relative_error=0.005)


def test_the_report_says_what_was_found() -> None:
    report = check_grad(MUL, values("float32"), ["x", "w"], "out")
    assert {result.name for result in report.results} == {"x", "w"}
    assert all(result.passed for result in report.results)
    report = check_grad(MUL, VALUES, ["x"], "out", delta=1e-3)
    (result,) = report.results
    assert (result.shape, result.dtype, result.num_elements) == ((2, 3), "float64", 6)
    assert result.max_relative_error < 1e-9


def test_a_config_and_a_tolerance_are_too_much() -> None:
    with pytest.raises(ValueError, match="there must be a config, or max_relative_error"):
        check_grad(
            MUL, VALUES, ["x"], "out", max_relative_error=0.1, config=GradCheckConfig.plain()
        )
    with pytest.raises(ValueError, match="max_relative_error must be positive, got -1"):
        check_grad(MUL, VALUES, ["x"], "out", max_relative_error=-1)


def test_a_plain_config_compares_by_its_tolerances(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_grad(MUL, VALUES, ["x"], "out", config=GradCheckConfig.plain())
    plant(monkeypatch, two_percent)
    with pytest.raises(GradientError):
        check_grad(MUL, VALUES, ["x"], "out", config=GradCheckConfig.plain())
    assert check_grad(MUL, VALUES, ["x"], "out", config=GradCheckConfig(relative_tolerance=0.05))


def test_errors_that_cancel_in_a_sum_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    softmax = core.OpDesc("softmax", {"X": ["x"]}, {"Out": ["y"]}, {})
    check_grad(softmax, {"x": X}, ["x"], "y")
    plant(monkeypatch, np.zeros_like)  # what the plain sum of a softmax has as gradient
    for limit in (None, 0.005):
        with pytest.raises(GradientError):
            check_grad(softmax, {"x": X}, ["x"], "y", max_relative_error=limit)


def test_one_variable_in_two_slots() -> None:
    op = core.OpDesc("elementwise_mul", {"X": ["x"], "Y": ["x"]}, {"Out": ["y"]}, {})
    check_grad(op, {"x": X}, ["x"], "y")


def test_a_network_with_parameters_in_a_scope() -> None:
    x = fluid.layers.data("x", [3], dtype="float64")
    hidden = fluid.layers.fc(x, 4, act="tanh")
    loss = fluid.layers.mean(hidden)
    fluid.Executor().run(fluid.default_startup_program())
    program = fluid.default_main_program()
    names = [p.name for p in program.all_parameters()]
    scope = fluid.global_scope()
    before = [np.array(scope.find_var(name).get_tensor()) for name in names]
    check_grad(program, {"x": X}, ["x", *names], loss.name, local_scope=scope)
    for name, value in zip(names, before, strict=True):
        np.testing.assert_array_equal(np.asarray(scope.find_var(name).get_tensor()), value)


def test_an_input_without_gradient_is_an_error() -> None:
    op = core.OpDesc("less_than", {"X": ["x"], "Y": ["y"]}, {"Out": ["out"]}, {})
    with pytest.raises(ValueError, match="less_than: the output 'out' must be floating"):
        check_grad(op, {"x": X, "y": X + 1}, ["x"], "out")
    zeros = core.OpDesc("fill_zeros_like", {"X": ["x"]}, {"Out": ["y"]}, {})
    message = "fill_zeros_like: an output must depend on 'x' through operators that have a gradient"
    with pytest.raises(ValueError, match=message):
        check_grad(zeros, {"x": X}, ["x"], "y")


def test_unknown_names_are_errors() -> None:
    with pytest.raises(LookupError, match="mul: no operator reads the input 'v'"):
        check_grad(MUL, VALUES, ["v"], "out")
    with pytest.raises(LookupError, match="mul: no operator calculates the output 'z'"):
        check_grad(MUL, VALUES, ["x"], "z")
    with pytest.raises(TypeError, match="inputs_to_check must be a list of names, got the str 'x'"):
        check_grad(MUL, VALUES, "x", "out")


def test_a_check_of_nothing_is_an_error() -> None:
    with pytest.raises(fluid.InvalidArgument, match="there must be an input to check, got none"):
        check_grad(MUL, values("float64"), [], "out")


def test_arguments_of_a_wrong_type_are_named() -> None:
    scope: Any = 5
    with pytest.raises(TypeError, match="the scope must be a Scope, got int"):
        check_grad(MUL, values("float64"), ["x"], "out", local_scope=scope)
    pairs: Any = [("x", X)]
    with pytest.raises(TypeError, match="the values must map names to arrays, got list"):
        check_grad(MUL, pairs, ["x"], "out")
    name: Any = 3
    with pytest.raises(TypeError, match="the name of an output or input must be a str, got int 3"):
        check_grad(MUL, values("float64"), ["x"], name)
    delta: Any = "small"
    with pytest.raises(TypeError, match="delta must be a number, got str 'small'"):
        check_grad(MUL, values("float64"), ["x"], "out", delta=delta)
