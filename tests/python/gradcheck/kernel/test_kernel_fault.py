"""The dtype under test against float64."""

from typing import Any

import numpy as np
import pytest
from targets import FAULTS, FUNCTIONS, NumpyTarget, checked, target_of

from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.kernel.bias import ALL, Bias
from fluidcore.gradcheck.kernel.fault import KernelTest
from fluidcore.gradcheck.measure.judge import KINK, Reference
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.verdict import Reason, Verdict

X = np.random.default_rng(4).standard_normal((3, 4))


def kernel_only(name: str, dtype: str, fault, seed: int = 1) -> NumpyTarget:
    """A fault that the float64 form does not have."""
    target = target_of(name, dtype, seed)
    right = target.backward

    def vjp(*arguments):
        found = right(*arguments)
        if arguments[0].dtype == np.float64:
            return found
        return tuple(map(fault, found)) if isinstance(found, tuple) else fault(np.asarray(found))

    target.backward = vjp
    return target


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("fault", ["factor", "sign", "one percent", "zero"])
def test_a_fault_of_the_float32_kernel_alone_is_found(name: str, fault: str) -> None:
    report = checked(kernel_only(name, "float32", FAULTS[fault]), audits=False)
    formula = [one for one in report.results if one.dtype == "float64"]
    kernel = [one for one in report.results if one.dtype == "float32"]
    assert all(formula)
    assert all(one.reasons == (Reason.KERNEL,) for one in kernel)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_large_fault_of_a_16_bit_kernel_is_found(dtype: str) -> None:
    for name in FUNCTIONS:
        assert checked(kernel_only(name, dtype, FAULTS["factor"])).verdict is Verdict.FAIL


def test_less_than_a_rounding_is_not_found() -> None:
    def slightly(a):
        return (a.astype(float) * (1 + 1e-8)).astype(a.dtype)

    assert checked(kernel_only("tanh", "float32", slightly)).verdict is Verdict.PASS


def test_the_result_says_what_would_have_been_found() -> None:
    _, kernel = checked(target_of("tanh", "float32")).results
    assert 1e-7 < kernel.resolution < 1e-4
    assert kernel.resolution <= kernel.min_detectable_99


def test_a_saturated_tanh_is_no_fault() -> None:
    # 1 - tanh² keeps few digits there, and a dither of x does not change tanh by one ulp
    tanh, vjp, _ = FUNCTIONS["tanh"]
    for seed in range(20):
        x = np.append(np.random.default_rng(seed).uniform(4, 8, 10), 0.25)
        assert checked(NumpyTarget(tanh, vjp, [x], "float32"), seed=seed).verdict is Verdict.PASS


def test_a_little_less_precise_is_a_warning() -> None:
    def vjp(x, v):
        a = v * (1 - np.tanh(x) ** 2)
        if x.dtype == np.float32:
            a = (a.astype(float) * (1 + 1.5e-6)).astype(np.float32)
        return a

    _, kernel = checked(NumpyTarget(np.tanh, vjp, [np.tile(X, (3, 1))], "float32")).results
    assert kernel.verdict is Verdict.PASS
    assert kernel.reasons == (Reason.PRECISION_LOSS,)


def test_a_gradient_that_float16_cannot_hold_is_an_overflow() -> None:
    def f(x):
        return x * x.dtype.type(1000) * np.array([1, 100]).astype(x.dtype)

    target = NumpyTarget(
        f, lambda x, v: f(v), [np.array([0.25, 0.25])], "float16", fixed_cotangent=True
    )
    formula, kernel = checked(target).results
    assert formula.verdict is Verdict.PASS
    assert kernel.verdict is Verdict.INCONCLUSIVE
    assert kernel.reasons == (Reason.DOMAIN,)
    assert "overflow" in kernel.detail


def test_a_kernel_that_is_infinite_by_its_own_fault_fails() -> None:
    def vjp(x, v):
        return v * (x * x.dtype.type(3000) * x.dtype.type(3000) / x.dtype.type(9e6))

    target = NumpyTarget(lambda x: x * x / 2, vjp, [np.array([2.0, 3.0])], "float16")
    kernel = checked(target).results[1]
    assert kernel.verdict is Verdict.FAIL


def test_a_gradient_that_exists_only_at_the_point_is_judged_by_the_points_that_are_left() -> None:
    def vjp(x, v):
        if (x > 1).any():
            raise ValueError("outside")
        return v * 2 * x

    target = NumpyTarget(lambda x: x * x, vjp, [np.array([1.0, 0.5])], "float32")
    assert checked(target).verdict is not Verdict.FAIL


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_an_input_without_influence_passes(dtype: str) -> None:
    target = NumpyTarget(
        lambda x, y: x * 2, lambda x, y, v: (v * 2, np.zeros_like(y)), [X, X[0]], dtype
    )
    assert checked(target).verdict is Verdict.PASS


class Measured(KernelTest):
    """A kernel test that is told what the biases are: (mean, spread, formula) of each centre."""

    def __init__(self, session: Session, *biases: tuple[Any, Any, Any]) -> None:
        super().__init__(session)
        found = [
            Bias(*([[np.full(12, number)] for _ in range(2)] for number in one)) for one in biases
        ]
        self.at_point = found[0]  # type: ignore[misc]
        self._around = [ALL], found[1:]


def judged_with(*biases: tuple[Any, Any, Any], error: float = 0.0, flag: int = 0, **settings):
    """Of the first three elements, where the formula is 1."""
    session = Session(target_of("tanh", "float32"), GradCheckConfig(**settings))
    one = np.ones((2, 3))
    reference = Reference(one, error * one, one, one, one, np.full(3, flag, np.uint8))
    return Measured(session, *biases).judge(0, one, reference, np.arange(3))


U = 2.0**-24


@pytest.mark.parametrize(
    ("mean", "spread", "wrong"),
    [
        (3.9 * U, 0.0, False),
        (4.1 * U, 0.0, True),
        (-4.1 * U, 0.0, True),
        (1e-4, 0.26e-4, False),
        (1e-4, 0.24e-4, True),
        (-1e-4, 0.24e-4, True),
    ],
)
def test_a_mean_beyond_four_spreads_and_four_units_is_a_fault(mean, spread, wrong: bool) -> None:
    found = judged_with(*[(mean, spread, 1.0)] * 5)
    assert found.wrong.all() == found.wrong.any() == wrong
    np.testing.assert_allclose(found.limit, 4 * spread + 4 * U, rtol=1e-9)
    np.testing.assert_allclose(found.analytical, 1 + mean, rtol=1e-12)


@pytest.mark.parametrize(
    ("mean", "count", "wrong"),
    [
        (6 * U, 4, True),  # 4 units and 6 / sqrt(9 * 5) spreads are 4.9
        (4.8 * U, 4, False),
        (5 * U, 4, True),
        (-6 * U, 4, True),
        (8 * U, 3, True),
        (8 * U, 2, False),
    ],
)
def test_less_than_four_spreads_is_a_fault_if_it_is_the_same_everywhere(mean, count, wrong) -> None:
    spread = 1.05 * U if abs(mean) < 6 * U else 1.5 * U
    fault, none = (mean, spread, 1.0), (2 * U * np.sign(mean), spread, 1.0)
    found = judged_with(fault, *[fault] * count, *[none] * (4 - count))
    assert found.wrong.all() == found.wrong.any() == wrong


def test_where_errors_spread_more_than_results_round_the_same_everywhere_is_no_fault() -> None:
    for spread, wrong in ((1.9 * U, True), (2.1 * U, False)):
        assert judged_with(*[(11 * U, spread, 1.0)] * 5).wrong.all() == wrong


def test_a_right_kernel_needs_no_other_centres() -> None:
    for dtype in ("float32", "float16", "bfloat16"):
        test = KernelTest(Session(target_of("matmul", dtype), GradCheckConfig()))
        claimed = test._session.analytical(0, "float64")
        exact = Reference.exact(claimed, np.abs(claimed) + 1)
        assert not test.judge(0, claimed, exact, np.arange(12)).wrong.any()
        assert test._around is None


def test_a_fault_of_one_element_must_be_confirmed_too() -> None:
    mean = np.where(np.arange(12) == 1, 1e-3, 0.0)
    fault, none = (mean, 1e-5, 1.0), (0.0, 1e-5, 1.0)
    assert not judged_with(fault, *[none] * 4).wrong.any()
    assert judged_with(*[fault] * 5).wrong.tolist() == [[False, True, False]] * 2


@pytest.mark.parametrize(("count", "wrong"), [(4, True), (3, True), (2, False), (0, False)])
def test_three_of_four_other_centres_must_show_it_too(count: int, wrong: bool) -> None:
    fault, none = (1e-3, 1e-5, 1.0), (1e-3, 1e-3, 1.0)
    found = judged_with(fault, *[fault] * count, *[none] * (4 - count))
    assert found.wrong.all() == found.wrong.any() == wrong


def test_a_fault_that_scatters_around_zero_is_rounding() -> None:
    means = [1e-3, -1e-3, 1e-3, -1e-3, 1e-3]
    assert not judged_with(*[(mean, 1e-5, 1.0) for mean in means]).wrong.any()
    means = [1e-3, 2e-3, 1e-3, 2e-3, 1e-3]
    assert judged_with(*[(mean, 1e-5, 1.0) for mean in means]).wrong.all()


@pytest.mark.parametrize(("scatter", "wrong"), [(0.95, True), (1.05, False)])
def test_a_fault_is_larger_than_its_standard_deviation_over_the_centres(scatter, wrong) -> None:
    means = [1e-3 * (1 + scatter * sign) for sign in (0, 1, -1, 1, -1)]
    assert judged_with(*[(mean, 1e-9, 1.0) for mean in means]).wrong.all() == wrong


def test_a_fault_in_proportion_to_a_gradient_that_changes_its_sign_is_a_fault() -> None:
    sides = [1.0, -1.0, 1.0, -1.0, 1.0]
    assert judged_with(*[(1e-3 * side, 1e-5, side) for side in sides]).wrong.all()


def test_the_same_bits_everywhere_are_right_for_sure() -> None:
    same = [(0.0, 0.0, 1.0)] * 5
    assert judged_with(*same, resolution=1e-12).verdict is Verdict.PASS
    for other in ((1e-9, 0.0, 1.0), (0.0, 1e-9, 1.0)):
        found = judged_with(*[other] * 5, resolution=1e-12)
        assert found.verdict is Verdict.INCONCLUSIVE
    assert judged_with(*same, error=1e-9, resolution=1e-12).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("on_kink", ["subgradient", "fail", "skip"])
def test_a_kink_that_is_forbidden_needs_no_other_centre(on_kink: str) -> None:
    found = judged_with(*[(0.0, 0.0, 1.0)] * 5, flag=KINK, on_kink=on_kink)
    assert found.wrong.all() == found.wrong.any() == (on_kink == "fail")
    found = judged_with(*[(0.0, 0.0, 1.0)] * 5, on_kink=on_kink)
    assert not found.wrong.any()


def test_a_fault_beside_a_forbidden_kink_needs_other_centres() -> None:
    session = Session(target_of("tanh", "float32"), GradCheckConfig(on_kink="fail"))
    one = np.ones((2, 3))
    reference = Reference(one, 0 * one, one, one, one, np.array([KINK, 0, 0], np.uint8))
    fault, none = (1e-3, 1e-5, 1.0), (0.0, 1e-5, 1.0)
    found = Measured(session, fault, *[none] * 4).judge(0, one, reference, np.arange(3))
    assert found.wrong.tolist() == [[True, False, False]] * 2


def test_four_other_centres_are_further_away() -> None:
    points: list[np.ndarray] = []
    target = target_of("tanh", "float32")
    right = target.backward

    def vjp(x, v):
        points.append(x.astype(np.float64))
        return right(x, v)

    target.backward = vjp
    session = Session(target, GradCheckConfig(cotangents=1))
    test = KernelTest(session)
    x = target.inputs[0].value.astype(np.float64)
    points.clear()
    test.at_point  # noqa: B018
    near = np.max([np.abs(p / x - 1).max() for p in points])
    assert len(points) == 18
    assert 0.8 * U**0.5 < near < 1.1 * U**0.5
    points.clear()
    assert len(test.around(0, np.arange(x.size))) == 4
    assert len(points) == 4 * 18
    far = np.max([np.abs(p / x - 1).max() for p in points])
    assert 0.8 * U**0.25 < far < 1.1 * U**0.25
    centres = [np.mean(points[18 * q : 18 * q + 18], axis=0) for q in range(4)]
    assert np.abs(centres[0] / centres[1] - 1).max() > 10 * near


def test_other_centres_are_kept_of_the_elements_in_doubt_and_of_later_inputs() -> None:
    session = Session(target_of("matmul", "float32"), GradCheckConfig())
    sizes = [part.value.size for part in session.target.inputs]
    whole = [KernelTest(session).around(k, np.arange(size)) for k, size in enumerate(sizes)]
    test = KernelTest(session)
    for k, elements in ((0, [2, 5]), (1, [1]), (1, [0, 3]), (0, [4])):
        chosen = np.array(elements)
        for found, every in zip(test.around(k, chosen), whole[k], strict=True):
            for a, b in zip(found, every, strict=True):
                assert a.tobytes() == b[:, chosen].tobytes()
    test = KernelTest(session)
    test.around(0, np.array([2, 5]))
    assert test._around is not None
    assert [part.size for part in test._around[1][0].mean[0]] == [2, *sizes[1:]]
    before = session.calls.backwards
    test.around(1, np.array([1]))
    assert session.calls.backwards == before
