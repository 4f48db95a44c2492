"""Dimensions put together."""

import pytest
from checked_modules import check_module

import fluidcore as fluid
from fluidcore import eager
from fluidcore.eager import nn


@pytest.mark.parametrize(
    ("start", "end", "wanted"),
    [(1, -1, [2, 60]), (0, -1, [120]), (0, 1, [6, 4, 5]), (-2, -1, [2, 3, 20]), (1, 2, [2, 12, 5])],
)
def test_dimensions_are_put_together(start: int, end: int, wanted: list[int]) -> None:
    x = eager.randn([2, 3, 4, 5])
    flat = nn.Flatten(start, end)(x)
    assert list(flat.shape) == wanted
    assert flat.to_vec() == x.to_vec()


def test_an_empty_batch_stays_empty() -> None:
    assert nn.Flatten()(eager.zeros([0, 3, 4])).shape == (0, 12)


def test_its_gradient_is_right() -> None:
    check_module(nn.Flatten(0, 1), eager.randn([2, 3, 2]))


def test_bad_arguments_are_errors() -> None:
    with pytest.raises(fluid.InvalidArgument) as caught:
        nn.Flatten(2)(eager.ones([3, 4]))
    assert str(caught.value) == (
        "Flatten: x must have the dimensions 2 to -1, in this order, got float32 [3, 4]"
    )
    with pytest.raises(TypeError, match="end_dim must be a whole number, got None"):
        nn.Flatten(1, None)  # type: ignore[arg-type]
