"""Where f has two one-sided derivatives, every value between them is right."""

from dataclasses import replace
from types import SimpleNamespace

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


def sides(monkeypatch, right, left, noise) -> bool:
    """Whether one-sided quotients at steps that fall are those of two sides."""
    right, left = (np.broadcast_to(np.array(side), (len(noise),)) for side in (right, left))
    steps = 2.0 ** -np.arange(len(noise))
    rows = [
        (h, 0.0, n, 3 + r * h, 3 - a * h, 3.0)
        for h, n, r, a in zip(steps, noise, right, left, strict=True)
    ]
    found = SimpleNamespace(levels=rows, evaluations=0)
    monkeypatch.setattr("fluidcore.gradcheck.kinks.core", SimpleNamespace())
    monkeypatch.setattr(
        "fluidcore.gradcheck.kinks.core.differentiate_along",
        lambda *_, **__: found,
        raising=False,
    )
    return has_two_sides(session_of(np.abs), 0, np.ones(12), 0, None)


@pytest.mark.parametrize(("seen", "two"), [(3, False), (4, True), (5, True)])
def test_four_steps_must_tell_the_sides_apart_by_eight_noises(monkeypatch, seen, two) -> None:
    noise = [0.25] * seen + [0.2501] * (8 - seen)
    assert sides(monkeypatch, 1.0, -1.0, noise) is two


def test_the_six_smallest_steps_that_tell_them_apart_count(monkeypatch) -> None:
    assert sides(monkeypatch, [9.0] + [1.0] * 6, -1.0, [0.0] * 7)
    assert not sides(monkeypatch, [1.0, 9.0, *[1.0] * 5], -1.0, [0.0] * 7)
    assert not sides(monkeypatch, 1.0, [-1.0, -9.0, *[-1.0] * 5], [0.0] * 7)
    noisy = [0.0] * 6 + [9.0] * 3  # where nothing is seen, nothing counts
    assert not sides(monkeypatch, [9.0] + [1.0] * 8, -1.0, noisy)
    assert sides(monkeypatch, [1.0] * 6 + [5.0] * 3, -1.0, noisy)


@pytest.mark.parametrize("side", ["right", "left"])
def test_a_side_may_change_by_a_hundredth_of_the_gap_and_four_noises(monkeypatch, side) -> None:
    def steady(change: float, noise: float) -> bool:
        moved, other = np.array([change, 0, 0, 0, 0, 0]), np.zeros(6)
        right, left = (moved, other) if side == "right" else (other, moved)
        return sides(monkeypatch, 4 + right, -4 - left, [0.0, 0.0, noise, 0.0, 0.0, 0.0])

    assert steady(0.079, 0.0)
    assert not steady(0.081, 0.0)
    assert steady(0.079 + 4 * 0.5, 0.5)
    assert not steady(0.081 + 4 * 0.5, 0.5)


@pytest.mark.parametrize("where", range(5))
def test_the_gap_is_that_of_the_smallest_step(monkeypatch, where: int) -> None:
    right = np.full(6, 4.0)
    right[where] += 2.09
    assert not sides(monkeypatch, right, -4.0, [0.5] * 6)
    right[where] = 4.0 + 2.07
    assert sides(monkeypatch, right, -4.0, [0.5] * 6)


def test_directions_that_are_settled_are_not_looked_at_again() -> None:
    count = [0]

    def f(x):
        count[0] += 1
        return np.abs(x)

    def looks(claimed: list[float]) -> int:
        session = session_of(f)
        judgement, _ = at_kinks([KINK] * len(claimed), claimed, session)
        settled = replace(judgement, unsure=judgement.unsure & (np.array(claimed) != 0))
        before = count[0]
        settle_directions(session, 0, settled, None)
        return count[0] - before

    assert looks([0.0, 0.0]) == 0
    assert looks([0.5, 0.0]) == looks([0.5]) > 0
    assert looks([0.0, 0.5]) > 0
    assert looks([0.5, 0.5]) > looks([0.5, 0.0])


def test_what_is_wrong_beside_wild_elements_stays_wrong() -> None:
    session = session_of(lambda x: np.where(np.arange(12) == 0, wild(x), x))
    judgement, numerical = at_kinks([KINK, 0], [2.0, 2.0], session)
    judgement = replace(judgement, unsure=judgement.unsure & False)
    assert judgement.wrong.tolist() == [[True, True]]
    found = settle_kinks(session, 0, judgement, numerical, None)
    assert found.wrong.tolist() == [[False, True]]
    assert found.unsure.tolist() == [[True, False]]
