"""Tests of the activations that have parameters."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers

X = np.array([[[-1.0, 2.0, -np.inf], [3.0, -4.0, np.inf]]], np.float32)


@pytest.mark.parametrize(
    ("mode", "alpha"),
    [("all", [0.5]), ("channel", [0.5, 2.0]), ("element", [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])],
)
def test_what_is_below_0_is_multiplied_with_a_parameter(mode, alpha):
    alpha = np.array(alpha, np.float32)
    x = layers.data("x", [2, 3])
    out = layers.prelu(x, mode, param_attr="alpha")
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    before = exe.run(feed={"x": X}, fetch_list=[out])[0]
    np.testing.assert_array_equal(before, np.where(X > 0, X, 0.25 * X))
    fluid.global_scope().find_var("alpha").get_tensor().set(alpha)
    of_each = alpha[:, None] if mode == "channel" else alpha
    after = exe.run(feed={"x": X}, fetch_list=[out])[0]
    np.testing.assert_array_equal(after, np.where(X > 0, X, of_each * X))


@pytest.mark.parametrize(
    ("shape", "mode", "message"),
    [
        ([2], "row", "mode must be one of all, channel, element, got 'row'"),
        ([2, -1], "element", r"x must have known extents after the batch .*, got \[2, -1\]"),
        ([], "channel", r"x must have known extents after the batch for mode \"channel\", got"),
    ],
)
def test_parameters_without_a_size_are_an_error(shape, mode, message):
    with pytest.raises(fluid.InvalidArgument, match=f"^prelu: {message}"):
        layers.prelu(layers.data("x", shape), mode)
