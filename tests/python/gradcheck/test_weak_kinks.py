"""Kinks beside a slope that hides them: what lies between the two slopes is not accused."""

import numpy as np
import pytest
from targets import NumpyTarget

from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.judge import DOMAIN, KINK, Judgement, Reference, judge
from fluidcore.gradcheck.modes import Numerical
from fluidcore.gradcheck.session import Session
from fluidcore.gradcheck.weak_kinks import at_weak_kink, settle_weak_kinks, with_kinks

WEAK = 1e-3
BETWEEN, OUTSIDE = 1 + WEAK / 2, 1 + 2 * WEAK


def weak(x):
    """The slopes at 0 are 1 ± WEAK, and their mean is 1."""
    return x + WEAK * np.abs(x)


def session_of(f=weak, size: int = 12, **settings) -> Session:
    settings = {"cotangents": 1, **settings}
    target = NumpyTarget(f, lambda x, v: v, [np.zeros(size)])
    return Session(target, GradCheckConfig(**settings))


def judged(session: Session, *claimed: list[float], elements=None, flags=None):
    """Derivatives of 1 times the weights of the cotangents, and multiples that are claimed."""
    elements = np.arange(len(claimed[0])) if elements is None else np.array(elements)
    v = np.array([session.weights(row)[elements] for row in range(len(claimed))])
    reference = Reference.exact(v, np.abs(v))
    if flags is not None:
        reference.flags[:] = flags
    judgement = judge(reference, v * np.array(claimed), 1e-9 * np.abs(v), session.rules)
    return judgement, Numerical(reference, elements, "full")


def settled(session: Session, judgement: Judgement, numerical: Numerical) -> Judgement:
    return settle_weak_kinks(session, 0, judgement, numerical, None)


def test_what_lies_between_the_slopes_is_open() -> None:
    session = session_of()
    judgement, numerical = judged(session, [1.0, BETWEEN, OUTSIDE, 2 - BETWEEN, 2 - OUTSIDE])
    assert judgement.wrong.tolist() == [[False, True, True, True, True]]
    found = settled(session, judgement, numerical)
    assert found.wrong.tolist() == [[False, False, True, False, True]]
    assert found.unsure.tolist() == [[False, True, False, True, False]]
    assert found.reference.flags.tolist() == [0, KINK, 0, KINK, 0]
    assert found.reference.flags.dtype == np.uint8
    assert not judgement.reference.flags.any()


def test_where_f_is_smooth_all_stays_wrong() -> None:
    session = session_of(lambda x: x + WEAK * x * x)
    judgement, numerical = judged(session, [BETWEEN, OUTSIDE])
    assert settled(session, judgement, numerical) is judgement


@pytest.mark.parametrize("settings", [{"on_kink": "fail"}, {"on_kink": "skip"}, {"budget_s": 1e-9}])
def test_nothing_changes_where_kinks_are_not_accepted_or_time_is_over(settings) -> None:
    session = session_of(**settings)
    judgement, numerical = judged(session, [BETWEEN, 1.0])
    assert settled(session, judgement, numerical) is judgement


@pytest.mark.parametrize("wrong_at", [(), (2,)])
def test_what_is_right_or_at_a_kink_that_was_seen_is_not_looked_at(wrong_at) -> None:
    moved: set[int] = set()

    def f(x):
        moved.update(np.flatnonzero(x).tolist())
        return weak(x)

    session = session_of(f)
    moved.clear()
    claimed = [1.0, BETWEEN, 1.0]
    for j in wrong_at:
        claimed[j] = BETWEEN
    judgement, numerical = judged(session, claimed, flags=[0, KINK, 0], elements=[3, 4, 5])
    found = settled(session, judgement, numerical)
    assert moved == {3 + j for j in wrong_at}
    assert found.wrong.tolist() == [[False, True, False]]


def looked_at(claimed: list[float]) -> tuple[set[int], Judgement]:
    moved: set[int] = set()

    def f(x):
        moved.update(np.flatnonzero(x).tolist())
        return weak(x)

    session = session_of(f, len(claimed))
    moved.clear()
    judgement, numerical = judged(session, claimed)
    return moved, settled(session, judgement, numerical)


def test_eight_elements_stand_for_all() -> None:
    moved, found = looked_at([BETWEEN] * 20)
    assert len(moved) == 8
    assert {0, 19} < moved
    assert not found.wrong.any()
    assert found.unsure.all()
    assert (found.reference.flags == KINK).all()
    moved, found = looked_at([BETWEEN] * 8)
    assert moved == set(range(8))


def test_unless_one_of_the_eight_is_wrong() -> None:
    moved, found = looked_at([*[BETWEEN] * 19, OUTSIDE])
    assert len(moved) == 8
    assert set(np.flatnonzero(found.unsure[0])) == moved - {19}
    assert set(np.flatnonzero(found.wrong[0])) == set(range(20)) - moved | {19}


def test_every_cotangent_must_lie_between() -> None:
    session = session_of(cotangents=2)
    for other, is_weak in ((1.0, True), (BETWEEN, True), (OUTSIDE, False)):
        judgement, _ = judged(session, [1.0, BETWEEN], [1.0, other])
        assert at_weak_kink(session, 0, 1, judgement, 1, None) is is_weak, other
        judgement, _ = judged(session, [1.0, other], [1.0, BETWEEN])
        assert at_weak_kink(session, 0, 1, judgement, 1, None) is is_weak, other


def test_the_element_of_a_column_is_moved_with_the_cotangent_of_the_row() -> None:
    def f(x):
        return np.where(np.arange(12) == 7, weak(x), x)

    session = session_of(f, cotangents=2)
    v = session.weights(1)[7]
    reference = Reference.exact(np.array([[v, v]]), np.array([[1.0, 1.0]]))
    judgement = judge(reference, np.array([[v, BETWEEN * v]]), np.full((1, 2), 1e-9), session.rules)
    assert at_weak_kink(session, 0, 7, judgement, 1, None, 1)
    assert not at_weak_kink(session, 0, 6, judgement, 1, None, 1)
    assert not at_weak_kink(session, 0, 7, judgement, 1, None, 0)
    assert not at_weak_kink(session, 0, 7, judgement, 1, None)


def test_the_limit_reaches_beyond_both_slopes() -> None:
    session = session_of()
    for limit, is_weak in ((0.9 * WEAK, False), (1.1 * WEAK, True)):
        for claimed in (OUTSIDE, 2 - OUTSIDE):
            judgement, _ = judged(session, [claimed])
            judgement.limit[:] = limit * abs(session.weights(0)[0])
            assert at_weak_kink(session, 0, 0, judgement, 0, None) is is_weak


def test_a_kink_opens_only_what_was_wrong() -> None:
    session = session_of()
    judgement, _ = judged(session, [1.0, BETWEEN, OUTSIDE], flags=[0, DOMAIN, 0])
    found = with_kinks(judgement, np.array([True, True, False]))
    assert found.reference.flags.tolist() == [KINK, KINK | DOMAIN, 0]
    assert found.wrong.tolist() == [[False, False, True]]
    assert found.unsure.tolist() == [[False, True, False]]
