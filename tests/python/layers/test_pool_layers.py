"""Tests of pooling to a given size."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers


@pytest.mark.parametrize(("pool_type", "reduce"), [("max", np.max), ("avg", np.mean)])
def test_an_adaptive_pooling_gives_the_size_that_is_wanted(pool_type, reduce):
    x = np.random.default_rng(0).normal(size=(2, 3, 5, 4)).astype(np.float32)
    out = layers.adaptive_pool2d(layers.data("x", [3, 5, 4]), [2, 4], pool_type)
    value = fluid.Executor().run(feed={"x": x}, fetch_list=[out])[0]
    expected = [reduce(part, axis=2) for part in (x[:, :, 0:3], x[:, :, 2:5])]
    np.testing.assert_allclose(value, np.stack(expected, axis=2), rtol=1e-5, atol=1e-6)


def test_one_number_is_the_size_along_every_axis():
    out = layers.adaptive_pool3d(layers.data("x", [3, 5, 4, 7]), 2)
    assert list(out.shape) == [-1, 3, 2, 2, 2]


def test_extents_that_are_not_known_give_a_known_size():
    out = layers.adaptive_pool2d(layers.data("x", [-1, 3, -1, -1]), 7)
    assert list(out.shape) == [-1, 3, 7, 7]


def test_a_size_below_1_is_an_error():
    message = r"adaptive_pool2d: pool_size must be at least 1, got \[2, 0\]"
    with pytest.raises(fluid.InvalidArgument, match=message):
        layers.adaptive_pool2d(layers.data("x", [3, 5, 4]), [2, 0])
