"""What a gradient without a float64 form is off by, at its point and beside it."""

import numpy as np
import pytest
from targets import NumpyTarget

from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.measure.judge import Judgement, Reference, judge
from fluidcore.gradcheck.measure.modes import Numerical
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.pipeline.own_rounding import settle_rounding

X = np.array([1.0, -2.0, 1.5, 3.0, -1.0])
OFF = 0.5


class Doubled:
    """f = 2 x; the gradient by some elements is off by OFF, and by less beside the point.

    Args:
        stays: The part of OFF that is left there.
        at: The elements.
        settings: Of the check.
    """

    def __init__(self, stays: float, at: tuple[int, ...] = (1,), dtype="float32", **settings):
        self.points: list[np.ndarray] = []

        def vjp(x, v):
            here = np.array_equal(x.astype(float), X)
            if not here:
                self.points.append(x.astype(float))
            a = 2 * v
            a[list(at)] += x.dtype.type(OFF * (1 if here else stays)) * v[list(at)]
            return a

        target = NumpyTarget(lambda x: 2 * x, vjp, [X], dtype)
        settings = {"shadow": "off", "cotangents": 2, **settings}
        self.session = Session(target, GradCheckConfig(**settings))

    def judged(self, elements=range(5), scale: float = 1.0) -> tuple[Judgement, Numerical]:
        elements = np.array(elements)
        rows = range(self.session.num_cotangents)
        v = np.array([self.session.weights(row) for row in rows])[:, elements]
        reference = Reference.exact(2 * v, scale * np.abs(v))
        claimed = self.session.analytical(0, self.session.dtype)[:, elements]
        judgement = judge(reference, claimed, 1e-3 * np.abs(v), self.session.rules)
        self.points.clear()
        return judgement, Numerical(reference, elements, "full")


def settled(checked: Doubled, **options) -> Judgement:
    return settle_rounding(checked.session, 0, *checked.judged(**options))


@pytest.mark.parametrize(("change", "is_open"), [(0.24, False), (0.26, True), (1.0, True)])
def test_four_times_what_differs_between_points_may_be_rounding(change, is_open) -> None:
    checked = Doubled(1 - change)
    before, _ = checked.judged()
    assert before.wrong.tolist() == [[False, True, False, False, False]] * 2
    found = settled(checked)
    assert found.wrong[:, 1].tolist() == [not is_open] * 2
    assert found.unsure[:, 1].tolist() == [is_open] * 2
    others = [0, 2, 3, 4]
    assert not found.wrong[:, others].any()
    assert not found.unsure[:, others].any()
    np.testing.assert_array_equal(found.limit[:, others], before.limit[:, others])
    if is_open:
        limit = before.limit + 4 * change * OFF * np.abs(before.analytical) / (2 + OFF)
        np.testing.assert_allclose(found.limit[:, 1], limit[:, 1], rtol=1e-4)
    else:
        np.testing.assert_array_equal(found.limit, before.limit)


def test_an_error_that_stays_is_wrong() -> None:
    assert settled(Doubled(1.0)).wrong[:, 1].all()


def test_the_elements_are_those_that_were_looked_at() -> None:
    assert settled(Doubled(1.0, at=(3,)), elements=[3, 0]).wrong.tolist() == [[True, False]] * 2
    assert settled(Doubled(0.0, at=(3,)), elements=[0, 3]).unsure.tolist() == [[False, True]] * 2


def test_six_pairs_of_points_are_asked_on_either_side() -> None:
    checked = Doubled(1.0)
    settled(checked)
    assert len(checked.points) == 2 * 6 * 2
    moves = [x / X - 1 for x in checked.points]
    rows = {move.tobytes(): move for move in moves}
    assert len(rows) == 12
    for move in rows.values():
        opposite = min(np.max(np.abs(move + other)) for other in rows.values())
        assert opposite < 4 * 2.0**-24


@pytest.mark.parametrize(
    ("dtype", "scale", "size"),
    [
        ("float32", 1.0, 2.0**-12),
        ("float16", 1.0, 2.0**-6),
        ("bfloat16", 1.0, 2.0**-6),
        ("float32", 0.0, 2.0**-6),
    ],
)
def test_points_are_a_root_of_a_rounding_unit_away_or_more_where_f_is_still(dtype, scale, size):
    checked = Doubled(1.0, dtype=dtype)
    settled(checked, scale=scale)
    farthest = max(np.max(np.abs(x / X - 1)) for x in checked.points)
    unit = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}[dtype]
    assert 0.8 * size - unit <= farthest <= size + unit


@pytest.mark.parametrize(
    ("dtype", "settings"),
    [
        ("float32", {"shadow": "auto"}),
        ("float64", {"shadow": "auto"}),
        ("float32", {"budget_s": 1e-9}),
    ],
)
def test_nothing_changes_with_a_float64_form_or_without_time(dtype, settings) -> None:
    checked = Doubled(0.0, dtype=dtype, **settings)
    judgement, numerical = checked.judged()
    assert settle_rounding(checked.session, 0, judgement, numerical) is judgement
    assert checked.points == []


def test_what_is_right_is_not_asked_again() -> None:
    checked = Doubled(0.0, at=())
    judgement, numerical = checked.judged()
    assert settle_rounding(checked.session, 0, judgement, numerical) is judgement
    assert checked.points == []
