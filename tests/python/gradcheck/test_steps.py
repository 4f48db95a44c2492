"""What seems wrong is looked at with other steps, which a smooth function does not mind."""

import numpy as np
import pytest
from targets import NumpyTarget

from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.judge import KINK, Judgement, Reference, judge
from fluidcore.gradcheck.modes import Numerical
from fluidcore.gradcheck.session import Session
from fluidcore.gradcheck.steps import settle_steps

X = np.linspace(0.5, 2.5, 20)


class Check:
    """Derivatives of 1 by every element, with error bars, and what is claimed, in parts of them."""

    def __init__(self, f, claimed, x=X, error=1e-9, dtype="float64", **settings) -> None:
        self.moved: set[int] = set()

        def watched(xs):
            self.moved.update(np.flatnonzero(xs != x.astype(xs.dtype)).tolist())
            return f(xs)

        settings = {"cotangents": len(claimed), **settings}
        target = NumpyTarget(watched, lambda x, v: v, [x], dtype)
        self.session = Session(target, GradCheckConfig(**settings))
        v = np.array([self.session.weights(row) for row in range(len(claimed))])
        found = Reference.exact(v, np.abs(v))
        self.reference = Reference(v, error * np.abs(v), v, v, found.scale, found.flags)
        self.judgement = judge(self.reference, v * claimed, 1e-9 * np.abs(v), self.session.rules)
        self.moved.clear()

    def settled(self) -> Judgement:
        numerical = Numerical(self.reference, np.arange(self.reference.value.shape[1]), "full")
        return settle_steps(self.session, 0, self.judgement, numerical, None)


def claims(*wrong: int, rows: int = 1, row: int = 0, by: float = 1e-3) -> np.ndarray:
    found = np.ones((rows, 20))
    found[row, list(wrong)] += by
    return found


def test_an_error_beside_a_smooth_function_stays_one() -> None:
    check = Check(lambda x: x, claims(3, 5))
    found = check.settled()
    assert check.moved == {3, 5}
    np.testing.assert_array_equal(found.wrong, check.judgement.wrong)
    assert np.flatnonzero(found.wrong[0]).tolist() == [3, 5]
    assert not found.unsure.any()
    assert not found.reference.flags.any()


@pytest.mark.parametrize("row", [0, 1])
def test_an_error_for_one_of_two_cotangents_is_looked_at(row: int) -> None:
    check = Check(lambda x: x, claims(7, rows=2, row=row))
    check.settled()
    assert check.moved == {7}


def test_what_other_steps_find_to_be_another_number_is_open() -> None:
    check = Check(lambda x: np.where(np.arange(20) == 4, 1.1 * x, x), claims(4, 6, rows=2))
    found = check.settled()
    assert np.flatnonzero(found.wrong.any(0)).tolist() == [6]
    assert np.flatnonzero(found.unsure.all(0)).tolist() == [4]
    assert np.flatnonzero(found.reference.flags == KINK).tolist() == [4]
    assert np.flatnonzero(np.isinf(found.reference.error).all(0)).tolist() == [4]
    assert found.reference.flags.dtype == np.uint8


def test_sixteen_elements_stand_for_all() -> None:
    check = Check(lambda x: 1.1 * x, claims(*range(20)))
    found = check.settled()
    assert len(check.moved) == 16
    assert {0, 19} < check.moved
    assert not found.wrong.any()
    assert found.unsure.all()
    some = Check(lambda x: np.where(np.arange(20) == 0, x, 1.1 * x), claims(*range(20)))
    found = some.settled()
    assert set(np.flatnonzero(found.unsure[0])) == some.moved - {0}


@pytest.mark.parametrize(
    ("apart", "is_open"), [(0.9e-6, False), (1.2e-6, True), (-0.9e-6, False), (-1.2e-6, True)]
)
def test_a_millionth_may_be_an_error_bar_that_is_too_short(apart: float, is_open: bool) -> None:
    check = Check(lambda x: (1 + apart) * x, claims(2), error=0.0)
    found = check.settled()
    assert found.unsure[0, 2] == is_open
    assert found.wrong[0, 2] == (not is_open)
    if not is_open:
        v = abs(check.session.weights(0)[2])
        bar = found.reference.error[0, 2]
        assert bar == pytest.approx(abs(apart) * v, rel=1e-2)
        assert found.limit[0, 2] == pytest.approx(check.judgement.limit[0, 2] + 3 * bar)
        others = np.arange(20) != 2
        assert not found.reference.error[0, others].any()


def test_a_longer_bar_may_excuse_what_was_wrong() -> None:
    for by, is_wrong in ((2.0e-6, False), (3.5e-6, True)):
        check = Check(lambda x: (1 + 0.9e-6) * x, claims(2, by=by), error=0.0)
        assert check.judgement.wrong[0, 2]
        assert check.settled().wrong[0, 2] == is_wrong


@pytest.mark.parametrize(
    "options", [{"dtype": "float32", "shadow": "off"}, {"budget_s": 1e-9}, {"claimed": claims()}]
)
def test_nothing_is_looked_at_without_time_or_doubts_or_digits(options) -> None:
    check = Check(lambda x: 1.1 * x, **{"claimed": claims(1, by=1.0), **options})
    assert check.settled() is check.judgement
    assert not check.moved


def test_the_evaluations_are_counted() -> None:
    count = [0]

    def f(x):
        count[0] += 1
        return x

    check = Check(f, claims(1))
    before, counted = count[0], check.session.calls.forwards
    check.settled()
    assert check.session.calls.forwards - counted == count[0] - before > 0
