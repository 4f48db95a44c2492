"""What f cannot show because it is so large beside x."""

import numpy as np
import pytest
from targets import NumpyTarget

from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.measure.judge import ABSORBED, DOMAIN, KINK, Reference, judge
from fluidcore.gradcheck.measure.noise import Noise
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.pipeline.absorption import heights_of, settle_zero, with_absorption

X = np.array([3.0, -4.0, 0.0, 5.0])


def session_of(f, x=X, dtype: str = "float64", **settings) -> Session:
    settings = {"cotangents": 2, **settings}
    return Session(NumpyTarget(f, lambda x, v: v, [x], dtype), GradCheckConfig(**settings))


def test_heights_are_the_terms_of_f_over_the_size_of_x() -> None:
    session = session_of(lambda x: 2 * x)
    terms = [float(np.sum(np.abs(session.weights(row) * 2 * X))) for row in range(2)]
    found = heights_of(session, 0)
    assert found.shape == (2, 1)
    np.testing.assert_allclose(found[:, 0], np.array(terms) / np.sqrt(50 / 4), rtol=1e-15)


def test_an_x_of_0_has_the_size_1() -> None:
    session = session_of(lambda x: x + 7, 0 * X)
    np.testing.assert_allclose(
        heights_of(session, 0)[:, 0],
        [7 * np.sum(np.abs(session.weights(row))) for row in range(2)],
        rtol=1e-15,
    )


def still(*moves: bool, error=None, flags=None) -> Reference:
    """Derivatives of 0 where no step moved f, of 1 where one did."""
    value = np.tile(np.array(moves, float), (2, 1))
    reference = Reference.exact(value, value)
    if error is not None:
        reference.error[:] = error
    if flags is not None:
        reference.flags[:] = flags
    return reference


HIGH = np.full((2, 1), 2.0**54)
MOVED = session_of(lambda x: x + 1e17)
FIXED = session_of(lambda x: 0 * x + 1e17)


def hidden(session, reference, claimed, heights=HIGH) -> list[int]:
    claimed = np.broadcast_to(np.array(claimed, float), reference.value.shape)
    found = with_absorption(session, 0, reference, claimed, heights)
    np.testing.assert_array_equal(found.value, reference.value)
    assert ((found.flags & ABSORBED) != 0).tolist() == np.isinf(found.error).any(0).tolist()
    return found.flags.tolist()


@pytest.mark.parametrize("session", [MOVED, FIXED])
def test_a_gradient_that_no_step_shows_is_absorbed(session) -> None:
    assert hidden(session, still(False, False, True), [1, 0, 1]) == [ABSORBED, 0, 0]
    both = hidden(session, still(False, True, flags=KINK), [1, 1])
    assert both == [ABSORBED | KINK, KINK]
    claimed = np.array([[0, 0, 0], [0, 1, 0]])
    assert hidden(session, still(False, False, True), claimed) == [0, ABSORBED, 0]


def test_a_gradient_of_0_is_absorbed_if_larger_steps_move_f() -> None:
    reference = still(False, False, False, True)
    assert hidden(MOVED, reference, 0) == [ABSORBED] * 3 + [0]
    assert hidden(FIXED, reference, 0) == [0] * 4


def test_what_moved_or_is_uncertain_is_not_absorbed() -> None:
    assert hidden(MOVED, still(True, True, True, True), 1) == [0] * 4
    assert hidden(MOVED, still(False, False, False, False, error=1e-300), 1) == [0] * 4


@pytest.mark.parametrize(("height", "flag"), [(2.0**53, 0), (2.0**53 * 1.001, ABSORBED)])
def test_f_must_be_larger_than_all_digits_of_x(height: float, flag: int) -> None:
    heights = np.array([[height], [1.0]])
    reference = still(False, False, False, False)
    assert hidden(FIXED, reference, 1, heights) == [flag] * 4
    found = with_absorption(FIXED, 0, reference, np.ones((2, 4)), heights)
    assert np.isinf(found.error).tolist() == [[flag != 0] * 4, [False] * 4]


def test_of_other_dtypes_the_engine_says_so() -> None:
    session = session_of(lambda x: x + 1, dtype="float32", shadow="off")
    reference = still(False, False, False, False)
    assert with_absorption(session, 0, reference, np.ones((2, 4)), HIGH) is reference


@pytest.mark.parametrize("settings", [{}, {"budget_s": 1e-9}])
def test_a_judgement_without_doubts_or_without_time_stays(settings) -> None:
    session = session_of(lambda x: 0 * x + 1, **settings)
    reference = still(False, False, False, False)
    judgement = judge(reference, np.zeros((2, 4)), np.full((2, 4), 1e-9), session.rules)
    assert not judgement.unsure.any()
    if settings:
        judgement = judgement.opened(~judgement.unsure)
    noise = Noise(None, [np.zeros(4)], False, "")
    found, is_zero = settle_zero(session, 0, judgement, heights_of(session, 0), noise)
    assert found is judgement
    assert not is_zero


def settled(
    height: float, dtype: str = "float64", *, claimed=0.0, value=0.0, error=0.0, flags=0, **options
):
    """What becomes of open derivatives of a constant whose size over x is made up."""
    session = session_of(lambda x: 0 * x + 1, dtype=dtype, shadow="off", **options)
    value = np.broadcast_to(np.array(value, float), (2, 4)).copy()
    bits = np.broadcast_to(np.array(flags, np.uint8), 4).copy()
    reference = Reference(value, np.full((2, 4), error), value, value, np.abs(value), bits)
    nothing = np.zeros((2, 4))
    judgement = judge(reference, nothing + claimed, nothing, session.rules)
    judgement = judgement.opened(nothing == 0)
    noise = Noise(None, [np.zeros(4)], False, "")
    found, is_zero = settle_zero(session, 0, judgement, np.full((2, 1), height), noise)
    assert found.is_proven is is_zero
    return found, is_zero


@pytest.mark.parametrize(("height", "is_zero"), [(0.0, False), (1.27, True), (1.29, False)])
def test_a_gradient_is_flat_where_rounding_hides_no_slope_of_a_hundredth(height, is_zero) -> None:
    """Sixteen roundings of float16 times 1.28."""
    assert settled(height, "float16", flags=KINK)[1] is is_zero


@pytest.mark.parametrize(("part", "is_zero"), [(0.99, True), (1.01, False)])
def test_a_gradient_is_flat_if_it_is_nothing_beside_f_over_x(part: float, is_zero: bool) -> None:
    resolution = session_of(lambda x: x, dtype="float16", shadow="off").rules.resolution
    for sign in (1, -1):
        claimed = sign * part * 1e-3 * resolution
        assert settled(1.0, "float16", claimed=claimed, flags=KINK)[1] is is_zero


@pytest.mark.parametrize("sign", [1, -1])
def test_a_gradient_is_not_flat_if_a_slope_is_seen_that_is_no_rounding(sign: int) -> None:
    rounding = 16 * 2.0**-53
    assert settled(1.0, value=sign * 0.99 * rounding)[1]
    assert not settled(1.0, value=sign * 1.01 * rounding)[1]
    assert not settled(1.0, value=[0, 0, 0, sign * 1.01 * rounding])[1]
    assert settled(1.0, value=sign * 1.01 * rounding, flags=KINK)[1]
    bars = 3 * 1e-12
    assert settled(1.0, value=sign * 1.01 * bars, error=1e-12, flags=KINK)[1]
    assert not settled(1.0, value=sign * 1.01 * bars, error=1e-12)[1]


def test_where_f_is_not_defined_nothing_is_flat() -> None:
    assert not settled(1.0, flags=DOMAIN)[1]
    assert not settled(1.0, flags=[0, 0, 0, DOMAIN])[1]
    assert not settled(1.0, flags=DOMAIN | KINK)[1]


HUGE = 1e13  # of which sixteen roundings are visible


def test_beside_an_f_of_0_nothing_is_settled() -> None:
    assert settled(1e-300)[1]
    assert not settled(0.0)[1]


def test_error_bars_may_hold_0_where_rounding_is_visible() -> None:
    assert settled(HUGE, value=2.9, error=1.0)[1]
    assert not settled(HUGE, value=3.1, error=1.0)[1]
    assert settled(HUGE, value=2.9, error=1.0, flags=ABSORBED)[1]
    assert not settled(HUGE, value=2.9, error=1.0, flags=KINK)[1]
    last = [0, 0, 0, KINK]
    assert not settled(HUGE, value=[0, 0, 0, 9], error=1.0)[1]
    assert not settled(HUGE, value=[0, 0, 0, 9], error=1.0, flags=last)[1]
    assert settled(HUGE, value=[0, 0, 0, 9], error=1.0, flags=last, on_kink="skip")[1]
    assert not settled(HUGE, error=1.0, flags=KINK, on_kink="skip")[1]


def test_a_gradient_that_is_more_than_its_own_rounding_is_absorbed_by_a_flat_f() -> None:
    rounding = 1024 * 2.0**-53 * HUGE
    assert settled(HUGE, error=1.0, claimed=0.99 * rounding)[1]
    found, is_zero = settled(HUGE, error=1.0, claimed=1.01 * rounding)
    assert not is_zero
    assert (found.reference.flags == ABSORBED).all()
    assert not found.wrong.any()
