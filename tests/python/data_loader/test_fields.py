"""Tests of fluidcore.data_loader.fields: names and variables."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers


def message(call, *arguments, error=fluid.InvalidArgument, **options):
    with pytest.raises(error) as caught:
        call(*arguments, **options)
    return str(caught.value)


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "float32"])
def test_pythons_numbers_become_the_dtype_of_the_variable(dtype):
    x = layers.data("x", [2], dtype=dtype)
    n = layers.data("n", [1], dtype="int16")
    (batch,) = fluid.DataLoader([([0.5, 1], 3), ([2, 3], 4)], 2, feed_list=[x, n])
    assert (batch["x"].dtype.name, batch["x"].tolist()) == (dtype, [[0.5, 1], [2, 3]])
    assert (batch["n"].dtype.name, batch["n"].tolist()) == ("int16", [[3], [4]])


def test_whole_numbers_can_be_fed_to_a_floating_variable():
    x = layers.data("x", [1])
    (batch,) = fluid.DataLoader([1, 2, 3], 3, feed_list=[x])
    assert batch["x"].dtype == np.float32


def test_a_list_is_one_field():
    (batch,) = fluid.DataLoader([[1, 2], [3, 4]], 2, feed_list=["x"])
    assert batch["x"].tolist() == [[1, 2], [3, 4]]


def test_numbers_that_do_not_fit_the_variable_are_refused_as_in_a_run():
    n = layers.data("n", [1], dtype="int64")
    loader = fluid.DataLoader([0.5, 1.5], 2, feed_list=[n])
    assert message(list, loader) == (
        "feed 'n': must be an array, a Tensor, or numbers that int64 can hold, got list: float64 "
        "does not convert to int64"
    )


def test_the_list_of_names_is_checked():
    x = layers.data("x", [1])
    assert message(fluid.DataLoader, [1], 1, feed_list=[]) == (
        "DataLoader: feed_list must be different names, got []"
    )
    assert message(fluid.DataLoader, [1], 1, feed_list=[x, "x"]) == (
        "DataLoader: feed_list must be different names, got ['x', 'x']"
    )
    assert message(fluid.DataLoader, [1], 1, feed_list="x", error=TypeError) == (
        "DataLoader: feed_list must be a list, got 'x'"
    )
    assert message(fluid.DataLoader, [1], 1, feed_list=x, error=TypeError) == (
        "DataLoader: feed_list must be a list, got Variable('x', float32 [-1, 1], data)"
    )
    assert message(fluid.DataLoader, [1], 1, feed_list=[3], error=TypeError) == (
        "DataLoader: what is in feed_list must be a str, got int 3"
    )
