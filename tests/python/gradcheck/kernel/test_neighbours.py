"""Points beside x whose outputs are those of x but for one to three rounding units."""

import numpy as np
import pytest
from targets import NumpyTarget

from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.kernel.neighbours import Neighbour, between, neighbours, unit_of
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.target.precision import UNIT

U = UNIT["float32"]
ROOT = 2.0**-12  # the root of it, which is the first step times the size of x


def session_of(f, x, dtype: str = "float32") -> Session:
    return Session(NumpyTarget(f, lambda x, v: v, [x], dtype), GradCheckConfig())


def sloped(slope: float, x=(1.0, 1.0), unit: float = U):
    """Neighbours of the first element by f = slope x, in units of 1."""
    session = session_of(lambda x: slope * x, np.array(x))
    return neighbours(session, [(0, 0)], unit)


def steps(found: list[Neighbour]) -> list[float]:
    return [at.step for at in found]


def test_the_first_step_is_the_root_of_a_unit_of_the_size_of_x() -> None:
    assert steps(sloped(1.5 * U / ROOT)) == [ROOT, -ROOT]
    size = np.sqrt((9.0 + 25.0) / 2)
    found = steps(sloped(1.5 * U / ROOT, x=(3.0, 5.0), unit=U * size))
    assert found == pytest.approx([ROOT * size, -ROOT * size])
    found = steps(sloped(1.5 * U / ROOT, x=(5.0, 3.0), unit=5 * U))
    assert found == pytest.approx([ROOT * 5, -ROOT * 5])
    assert steps(sloped(1.5 * U / ROOT, x=(0.0, 0.0))) == [ROOT, -ROOT]


@pytest.mark.parametrize(
    ("units", "step"),
    [
        (1.01, 1),
        (2.9, 1),
        (0.99, 2.5),  # 4 is too far, and half the way is near enough
        (0.26, 4),
        (0.7, 4),
        (0.07, 16),
        (0.24, 10),
    ],
)
def test_larger_steps_and_then_halves_lead_to_one_to_three_units(units, step) -> None:
    assert steps(sloped(units * U / ROOT)) == [step * ROOT, -step * ROOT]


def test_there_is_none_where_the_first_step_is_enough_or_f_never_moves() -> None:
    assert sloped(3.1 * U / ROOT) == []
    assert sloped(0.0) == []
    assert sloped(1.5 * U / ROOT, unit=0.0) == []


@pytest.mark.parametrize(("edge", "count"), [(3500.0, 2), (4100.0, 0)])
def test_an_element_moves_at_most_4096_times_itself(edge: float, count: int) -> None:
    session = session_of(lambda x: U * np.maximum(np.abs(x - 1) - edge, 0), np.ones(2))
    assert len(neighbours(session, [(0, 0)], 400.0 * U)) == count


def test_both_sides_of_every_element_are_looked_at_alone() -> None:
    session = session_of(lambda x: 1.5 * U / ROOT * np.maximum(x - 1, 0), np.ones(3))
    found = neighbours(session, [(0, 2), (0, 1)], U)
    assert [(at.k, at.element, at.step) for at in found] == [(0, 2, ROOT), (0, 1, ROOT)]
    assert found[0].xs[0].tolist() == [1, 1, 1 + ROOT]
    assert found[0].xs[0].dtype == np.float32


def test_an_edge_of_the_domain_is_too_far() -> None:
    def f(x):
        if x[0] > 1 + 3 * ROOT:
            raise ValueError("outside")
        return 0.7 * U / ROOT * np.where(x < 1 - 3 * ROOT, np.nan, x)

    session = session_of(f, np.ones(1))
    assert steps(neighbours(session, [(0, 0)], U)) == [2.5 * ROOT, -2.5 * ROOT]


def test_the_largest_change_of_an_output_counts() -> None:
    session = session_of(lambda x: np.stack([0.1 * x, 1.5 * x, 0 * x]) * U / ROOT, np.ones(1))
    assert steps(neighbours(session, [(0, 0)], U)) == [ROOT, -ROOT]


def test_the_way_to_a_neighbour_is_split_where_f_changes_most() -> None:
    session = session_of(lambda x: 0.1 * U / ROOT * x, np.ones(2))
    (end, other) = neighbours(session, [(0, 1)], U)
    for at in (end, other):
        found = between(session, at, U)
        moved = [point.step / at.step for point in found]
        assert moved == sorted(moved)
        assert moved[-1] == 1
        assert 0 < moved[0] < 0.15
        assert 15 <= len(found) <= 21
        changes = 0.1 * np.array([abs(point.step) for point in found]) / ROOT
        assert changes[0] >= 0.1
        assert np.max(np.diff(changes)) <= 0.25
        for point in found:
            assert (point.k, point.element) == (0, 1)
            assert point.xs[0][0] == 1
            assert point.xs[0][1] == np.float32(1 + point.step)


def test_points_of_a_way_that_are_x_itself_or_the_same_are_left_out() -> None:
    session = session_of(lambda x: 2 * U * (x > 1 + ROOT / 2), np.ones(1))
    end = Neighbour(0, 0, ROOT, [np.array([1 + ROOT], np.float32)])
    found = between(session, end, U)
    assert all(point.step > ROOT / 2 for point in found)
    assert len({point.xs[0].tobytes() for point in found}) == len(found)
    far = Neighbour(0, 0, ROOT, [])
    assert between(session_of(lambda x: 4 * U * (x > 1), np.ones(1)), far, U) == []


def test_a_unit_is_that_of_the_largest_output() -> None:
    assert unit_of(session_of(lambda x: -3 * np.abs(x), np.array([1.0, 2.0]))) == 6 * U
    session = session_of(lambda x: np.abs(x), np.array([1.0, 2.0]), "bfloat16")
    assert unit_of(session) == 2 * UNIT["bfloat16"]


def test_other_signs_show_the_terms_and_what_is_not_finite_is_none() -> None:
    x = np.array([5.0, -5.0])
    assert unit_of(session_of(lambda x: x.sum(), x)) == 10 * U
    values = np.array([0.0, 1.0])
    session = session_of(lambda x: np.where(x.sum() == 0, values, np.array([7.0, np.inf])), x)
    assert unit_of(session) == 7 * U

    def f(x):
        if x[0] < 0:
            raise ValueError("outside")
        return x.sum()

    assert unit_of(session_of(f, x)) == 10 * U
