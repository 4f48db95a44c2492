"""The first values of parameters."""

import pytest

from fluidcore import eager
from fluidcore.eager import nn
from fluidcore.initializer import Constant, Normal, NumpyArray


def test_a_parameter_is_a_leaf_with_the_values_of_an_initializer() -> None:
    value = nn.parameter([2, 3], Constant(0.5), "float64")
    assert (value.tolist(), value.dtype) == ([[0.5] * 3] * 2, "float64")
    assert value.requires_grad
    assert value.is_leaf
    assert nn.parameter([2], NumpyArray([1, 2])).tolist() == [1.0, 2.0]


def test_new_numbers_are_drawn_every_time_and_the_same_after_the_same_seed() -> None:
    eager.seed(5)
    first, second = (nn.parameter([3], Normal()).tolist() for _ in range(2))
    eager.seed(5)
    assert nn.parameter([3], Normal()).tolist() == first != second
    assert nn.parameter([3], Normal(seed=2)).tolist() == nn.parameter([3], Normal(seed=2)).tolist()
    assert nn.parameter([3], Normal(), "bfloat16").dtype == "bfloat16"


def test_bad_arguments_are_errors() -> None:
    with pytest.raises(
        TypeError, match=r"^parameter: shape must be a list of whole numbers, got 3"
    ):
        nn.parameter(3, Normal())  # type: ignore[arg-type]
