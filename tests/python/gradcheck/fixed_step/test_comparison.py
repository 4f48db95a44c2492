"""The plain comparison: a fixed step, a relative and an absolute tolerance."""

import numpy as np
import pytest
from targets import NumpyTarget

from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.fixed_step.comparison import compare, plain_results, tolerances
from fluidcore.gradcheck.report.data import ElementError
from fluidcore.gradcheck.verdict import Reason, Verdict

X = np.array([0.5, -1.0, 2.0, 3.0])


def cube(x):
    return x * x * x


def cubes(vjp=lambda x, v: 3 * v * x * x, dtype: str = "float64", **options) -> NumpyTarget:
    return NumpyTarget(cube, vjp, [X], dtype, **options)


def test_what_is_not_given_is_usual() -> None:
    assert tolerances(GradCheckConfig()) == (1e-4, 1e-3, 1e-5)
    config = GradCheckConfig(epsilon=0.5, absolute_tolerance=0.0)
    assert tolerances(config) == (0.5, 1e-3, 0.0)
    assert tolerances(GradCheckConfig(relative_tolerance=0.25)) == (1e-4, 0.25, 1e-5)


def test_tolerances_themselves_are_within() -> None:
    relative = GradCheckConfig(relative_tolerance=0.5, absolute_tolerance=0.0)
    assert compare("x", np.array([2.0]), np.array([1.0]), relative).passed
    absolute = GradCheckConfig(relative_tolerance=0.0, absolute_tolerance=0.5)
    assert compare("x", np.array([1.5]), np.array([1.0]), absolute).passed


def test_only_the_elements_asked_for_are_compared() -> None:
    claimed = np.array([[1.0, 7.0], [7.0, 4.5]])
    config = GradCheckConfig.plain()
    result = compare("x", claimed, np.array([1.0, 4.0]), config, np.array([0, 3]))
    assert (result.num_elements, result.num_passed, result.shape) == (2, 1, (2, 2))
    assert result.element_errors == (ElementError(3, 4.5, 4.0, 0.0, Verdict.FAIL),)
    assert result.resolution == result.min_detectable_99 == 1e-3
    assert result.mode == "full"


@pytest.mark.parametrize("verbose", [False, True])
def test_the_detail_names_the_worst_element(verbose: bool) -> None:
    config = GradCheckConfig(epsilon=1e-4, verbose=verbose)
    result = compare("x", np.array([1.0, 2.2, 9.0]), np.array([1.0, 2.0, 3.0]), config)
    assert "2 of 3 elements are within neither tolerance, 0.001 relative" in result.detail
    assert "at [2]: analytical 9, numerical 3" in result.detail


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_right_gradients_pass(dtype: str) -> None:
    tolerance = {"float16": 0.01, "bfloat16": 0.05}.get(dtype)
    config = GradCheckConfig(epsilon=1e-4, relative_tolerance=tolerance)
    (result,) = plain_results(cubes(dtype=dtype), config)
    assert result.verdict is Verdict.PASS
    assert (result.dtype, result.place) == (dtype, "cpu")
    assert (result.num_forward, result.num_backward) == (8, 1)
    assert 0 < result.seconds < 60


def test_wrong_gradients_fail() -> None:
    (result,) = plain_results(cubes(lambda x, v: 2.99 * v * x * x), GradCheckConfig.plain())
    assert result.reasons == (Reason.TOLERANCE,)


def test_the_step_is_that_of_the_user() -> None:
    # the central difference of x³ is 3x² + h², the forward one 3x² + 3xh + h²
    h = 0.25
    claimed = 3 * X * X + h * h
    central = GradCheckConfig(epsilon=h, relative_tolerance=1e-9, absolute_tolerance=0.0)
    target = cubes(lambda x, v: v * claimed)
    assert plain_results(target, central)[0].passed
    forward = GradCheckConfig(
        epsilon=h, relative_tolerance=1e-9, absolute_tolerance=0.0, use_central_difference=False
    )
    assert not plain_results(target, forward)[0].passed
    target = cubes(lambda x, v: v * (claimed + 3 * X * h))
    assert plain_results(target, forward)[0].passed


def test_16_bits_are_differentiated_in_float64_unless_told_otherwise() -> None:
    assert plain_results(cubes(dtype="float32"), GradCheckConfig.plain())[0].passed
    alone = GradCheckConfig(epsilon=1e-6, shadow="off")
    assert not plain_results(cubes(dtype="float32"), alone)[0].passed
    without = cubes(dtype="float32", has_shadow=False)
    assert not plain_results(without, GradCheckConfig(epsilon=1e-6))[0].passed


def test_cotangents_hide_no_element() -> None:
    seen = []

    def vjp(x, v):
        seen.append(v)
        return 3 * v * x * x

    x = np.linspace(0.5, 2.0, 4000)
    config = GradCheckConfig(epsilon=1e-4, subset=1)
    plain_results(NumpyTarget(cube, vjp, [x]), config)
    (v,) = seen
    assert np.abs(v).min() >= 0.3
    assert np.abs(v).min() < 0.31
    assert abs(np.mean(v > 0) - 0.5) < 0.05


def test_one_number_has_the_cotangent_one() -> None:
    seen = []

    def vjp(x, v):
        seen.append(np.array(v))
        return np.ones_like(x) * v

    assert plain_results(NumpyTarget(lambda x: x.sum(), vjp, [X]), GradCheckConfig.plain())[
        0
    ].passed
    assert plain_results(
        NumpyTarget(lambda x: x, vjp, [X], fixed_cotangent=True), GradCheckConfig.plain()
    )[0].passed
    assert all((v == 1).all() for v in seen)


def test_a_subset_is_drawn_at_random() -> None:
    x = np.linspace(1, 2, 100)

    def elements(seed: int, subset: int) -> list[int]:
        config = GradCheckConfig(epsilon=1e-4, subset=subset, verbose=True, seed=seed)
        (result,) = plain_results(NumpyTarget(cube, lambda x, v: 3 * v * x * x, [x]), config)
        assert result.passed
        assert result.num_forward == 2 * result.num_elements
        return [error.index for error in result.element_errors or ()]

    first = elements(0, 10)
    assert first == sorted(set(first))
    assert len(first) == 10
    assert first == elements(0, 10) != elements(1, 10)
    assert elements(0, 100) == elements(0, 200) == list(range(100))


def test_a_gradient_of_another_form_is_told() -> None:
    (result,) = plain_results(cubes(lambda x, v: v[:2]), GradCheckConfig.plain())
    assert result.verdict is Verdict.FAIL
    assert result.reasons == (Reason.WRONG_SHAPE,)
    assert "got [2]" in result.detail


def test_every_input_has_a_result() -> None:
    target = NumpyTarget(lambda x, y: x * y, lambda x, y, v: (v * y, -v * x), [X, X + 1], "float64")
    results = plain_results(target, GradCheckConfig.plain())
    assert [one.name for one in results] == ["x0", "x1"]
    assert [one.passed for one in results] == [True, False]
