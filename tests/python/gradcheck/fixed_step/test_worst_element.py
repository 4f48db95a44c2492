import numpy as np
import pytest

from fluidcore.gradcheck import worst_element
from fluidcore.gradcheck.fixed_step.worst_element import relative_errors


def test_equal_gradients_have_no_error_also_where_they_are_negative() -> None:
    gradient = np.array([[1.0, -2.0], [0.0, 1e-9]])
    worst = worst_element(gradient, gradient)
    assert worst is not None
    assert worst.relative_error == 0
    assert worst.wrong == 0


def test_the_error_is_relative_to_the_numerical_gradient() -> None:
    worst = worst_element([10.0, -20.0], [10.0, -21.0])
    assert worst is not None
    assert worst.relative_error == pytest.approx(0.05)
    assert (worst.index, worst.numerical, worst.operator) == ((1,), -20.0, -21.0)
    assert (worst.wrong, worst.total) == (1, 2)


def test_a_sign_is_an_error() -> None:
    worst = worst_element([-3.0], [3.0])
    assert worst is not None
    assert worst.relative_error == pytest.approx(2.0)


def test_the_error_is_absolute_where_the_numerical_gradient_is_nearly_zero() -> None:
    worst = worst_element([9e-4, 0.0], [1e-3, 0.002])
    assert worst is not None
    assert worst.relative_error == pytest.approx(0.002)
    assert worst.index == (1,)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_never_right(bad: float) -> None:
    for numerical, operator in (([1.0], [bad]), ([bad], [1.0]), ([bad], [bad])):
        worst = worst_element(numerical, operator)
        assert worst is not None
        assert worst.relative_error == np.inf
        assert worst.wrong == 1


def test_no_elements_have_no_worst_one() -> None:
    assert worst_element(np.zeros((0, 3)), np.zeros((0, 3))) is None


def test_different_shapes_are_an_error() -> None:
    message = r"the same shape, got numerical \[2\], operator \[1, 2\]"
    with pytest.raises(ValueError, match=message):
        worst_element([1.0, 2.0], [[1.0, 2.0]])


def test_half_a_percent_is_the_limit_and_elements_count_as_they_are() -> None:
    worst = worst_element([1.0, 1.0, 0.5], [1.0049, 1.0051, 0.504])
    assert worst is not None
    assert worst.wrong == 2
    assert worst.relative_error == pytest.approx(0.008)
    worst = worst_element([1.0, 0.5], [1.0, 0.504], 0.01, floor=1.0)
    assert worst is not None
    assert worst.wrong == 0
    assert worst.relative_error == pytest.approx(0.004)


def test_a_thousandth_is_divided_by_and_less_is_not() -> None:
    assert relative_errors(np.array([1e-3]), np.array([2e-3])) == pytest.approx([1.0])
    assert relative_errors(np.array([0.5]), np.array([1.0])) == pytest.approx([1.0])
    assert relative_errors(np.array([0.99e-3]), np.array([2e-3])) == pytest.approx([1.01e-3])
