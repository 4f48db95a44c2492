"""Where f has two one-sided derivatives, every value between them is right."""

import numpy as np
import pytest
from targets import NumpyTarget

from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.judge import JUMP, KINK, Judgement, Reference, judge
from fluidcore.gradcheck.kinks import has_two_sides, settle_directions, settle_kinks
from fluidcore.gradcheck.modes import Numerical
from fluidcore.gradcheck.session import Session

X = np.zeros(12)


def session_of(f, **settings) -> Session:
    settings = {"cotangents": 1, **settings}
    return Session(NumpyTarget(f, lambda x, v: v, [X]), GradCheckConfig(**settings))


def wild(x):
    """Oscillates faster and faster towards 0."""
    with np.errstate(all="ignore"):
        return np.where(x == 0, 0.0, x * np.sin(1 / x))


def stepped(x):
    return np.where(x > 0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("f", "two"),
    [
        (np.abs, True),
        (lambda x: np.maximum(x, 0), True),
        (lambda x: np.minimum(3 * x, 2 * x), True),
        (lambda x: np.abs(x) + x * x, True),
        (lambda x: 1000 + np.abs(x), True),
        (wild, False),
        (stepped, False),
        (lambda x: np.sqrt(np.abs(x)), False),
        (lambda x: np.abs(x) + np.maximum(wild(x), 0), False),
        (lambda x: np.abs(x) + wild(np.maximum(x, 0)), False),
        (lambda x: np.abs(x) + wild(np.minimum(x, 0)), False),
    ],
)
def test_one_sided_quotients_of_a_kink_tend_to_two_numbers(f, two: bool) -> None:
    session = session_of(f)
    d = np.zeros(12)
    d[5] = 1.0
    assert has_two_sides(session, 0, d, 0, None) is two


def test_the_evaluations_are_counted() -> None:
    count = [0]

    def f(x):
        count[0] += 1
        return np.abs(x)

    session = session_of(f)
    before, counted = count[0], session.calls.forwards
    has_two_sides(session, 0, np.ones(12), 0, None)
    assert session.calls.forwards - counted == count[0] - before > 0


def at_kinks(flags, claimed, session: Session) -> tuple[Judgement, Numerical]:
    """Elements with the one-sided derivatives -1 and 1."""
    one = np.ones((1, len(flags)))
    found = Reference(0 * one, 0 * one, -one, one, one, np.array(flags, np.uint8))
    judgement = judge(found, np.array([claimed], float), 1e-9 * one, session.rules)
    return judgement, Numerical(found, np.arange(len(flags)), "full")


FLAGS, CLAIMED = [KINK, KINK, KINK, JUMP | KINK, 0], [0.5, 1.0, 1.5, 0.5, 0.5]


def test_at_a_kink_what_is_between_is_right_and_what_is_not_wrong() -> None:
    session = session_of(np.abs)
    judgement, numerical = at_kinks(FLAGS, CLAIMED, session)
    assert judgement.unsure.tolist() == [[True, True, False, True, True]]
    found = settle_kinks(session, 0, judgement, numerical, None)
    assert found.unsure.tolist() == [[False, False, False, True, True]]
    assert found.wrong.tolist() == [[False, False, True, False, False]]


def test_where_there_are_no_two_sides_nothing_is_known() -> None:
    session = session_of(wild)
    judgement, numerical = at_kinks(FLAGS, CLAIMED, session)
    found = settle_kinks(session, 0, judgement, numerical, None)
    assert found.unsure.tolist() == [[True] * 5]
    assert not found.wrong.any()


def test_one_wild_element_makes_all_of_them_unknown() -> None:
    def f(x):
        return np.where(np.arange(12) == 2, wild(x), np.abs(x))

    session = session_of(f)
    judgement, numerical = at_kinks(FLAGS, CLAIMED, session)
    found = settle_kinks(session, 0, judgement, numerical, None)
    assert found.unsure.tolist() == [[True] * 5]


def test_of_many_elements_eight_are_looked_at_the_first_and_the_last_among_them() -> None:
    looked: set[int] = set()

    def f(x):
        looked.update(np.flatnonzero(x).tolist())
        return np.abs(x)

    session = session_of(f)
    judgement, numerical = at_kinks([KINK] * 12, [0.5] * 12, session)
    settle_kinks(session, 0, judgement, numerical, None)
    assert len(looked) == 8
    assert {0, 11} < looked
    looked.clear()
    judgement, numerical = at_kinks([KINK, 0, KINK], [0.5] * 3, session)
    settle_kinks(session, 0, judgement, numerical, None)
    assert looked == {0, 2}


@pytest.mark.parametrize("settings", [{"on_kink": "fail"}, {"on_kink": "skip"}, {"budget_s": 1e-9}])
def test_the_judgement_stays_where_kinks_are_not_accepted_or_time_is_over(settings) -> None:
    session = session_of(np.abs, **settings)
    judgement, numerical = at_kinks(FLAGS, CLAIMED, session)
    assert settle_kinks(session, 0, judgement, numerical, None) is judgement
    found = settle_directions(session, 0, judgement, None)
    np.testing.assert_array_equal(found.wrong, judgement.wrong)
    np.testing.assert_array_equal(found.unsure, judgement.unsure)


def test_elements_that_are_settled_are_not_looked_at_again() -> None:
    count = [0]

    def f(x):
        count[0] += 1
        return np.abs(x)

    session = session_of(f)
    judgement, numerical = at_kinks([0, JUMP, 0], [0.5, 0.5, 9.0], session)
    before = count[0]
    assert settle_kinks(session, 0, judgement, numerical, None) is judgement
    settle_directions(session, 0, judgement, None)
    assert count[0] == before


@pytest.mark.parametrize("f", [np.abs, wild])
def test_every_direction_is_settled_by_itself(f) -> None:
    session = session_of(f)
    judgement, _ = at_kinks(FLAGS, CLAIMED, session)
    found = settle_directions(session, 0, judgement, None)
    unsure = f is wild
    assert found.unsure.tolist() == [[unsure, unsure, unsure, True, True]]
    assert found.wrong.tolist() == [[False, False, not unsure, False, False]]
    assert judgement.wrong.tolist() == [[False, False, True, False, False]]
