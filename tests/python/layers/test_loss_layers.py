"""Tests of layers that are losses."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers

X = np.array([[0.5, -3.0], [0.0, 2.0]], np.float32)
Y = np.array([[0.0, 0.0], [1.0, 0.0]], np.float32)


def run(out, **feed):
    return fluid.Executor().run(feed=feed, fetch_list=[out])[0]


def pair():
    return [layers.data(name, [2], append_batch_size=True) for name in ("x", "y")]


def test_smooth_l1_is_a_sum_over_each_row():
    value = run(layers.smooth_l1(*pair()), x=X, y=Y)
    np.testing.assert_allclose(value, [[0.125 + 2.5], [0.5 + 1.5]])


def test_smooth_l1_has_weights_and_a_sigma():
    x, y = pair()
    weight = layers.data("w", [2])
    value = run(layers.smooth_l1(x, y, weight, weight, sigma=2.0), x=X, y=Y, w=2 * np.ones_like(X))
    diff = np.abs(2 * (X - Y))
    terms = np.where(diff < 0.25, 2 * diff**2, diff - 0.125)
    np.testing.assert_allclose(value, 2 * terms.sum(axis=1, keepdims=True), rtol=1e-6)


def test_the_cosine_of_rows():
    value = run(layers.cos_sim(*pair()), x=X[:1], y=np.array([[1.0, 0.0]], np.float32))
    np.testing.assert_allclose(value, [[0.5 / np.sqrt(9.25)]], rtol=1e-6)


def test_labels_of_another_dtype_are_smoothed_too():
    label = layers.data("label", [4], dtype="int64")
    value = run(layers.label_smooth(label, epsilon=0.2), label=np.eye(4, dtype=np.int64))
    assert value.dtype == np.float32
    np.testing.assert_allclose(value, 0.8 * np.eye(4) + 0.05, rtol=1e-6)


def test_sigmoid_cross_entropy_of_logits():
    x, y = pair()
    value = run(layers.sigmoid_cross_entropy_with_logits(x, y), x=X, y=Y)
    np.testing.assert_allclose(value, np.logaddexp(0, X) - X * Y, rtol=1e-6)


def test_ctc_loss_of_padded_labels():
    logits = layers.data("logits", [2, 1, 2], append_batch_size=False)
    label = layers.data("label", [1, 3], dtype="int64", append_batch_size=False)
    length = layers.data("length", [1], dtype="int32", append_batch_size=False)
    loss = layers.ctc_loss(logits, label, label_length=length, blank=1)
    value = run(
        loss,
        logits=np.zeros((2, 1, 2), np.float32),
        label=np.array([[0, 7, 7]]),
        length=np.array([1], np.int32),
    )
    np.testing.assert_allclose(value, [[-np.log(0.75)]], rtol=1e-6)


@pytest.mark.parametrize(
    ("layer", "arguments", "message"),
    [
        ("ctc_loss", (1, 2), "ctc_loss: logits must be a Variable, got int 1"),
        ("smooth_l1", (None, 1), "smooth_l1: x must be a Variable, got NoneType None"),
        ("cos_sim", (1, 2), "cos_sim: X must be a Variable, got int 1"),
        ("label_smooth", (1,), "label_smooth: label must be a Variable, got int 1"),
    ],
)
def test_what_is_no_variable_is_an_error(layer, arguments, message):
    with pytest.raises(TypeError, match=f"^{message}"):
        getattr(layers, layer)(*arguments)


def test_a_label_smooth_that_fails_leaves_nothing():
    label = layers.data("label", [4], dtype="int64")
    text = str(fluid.default_main_program())
    with pytest.raises(fluid.InvalidArgument, match="label_smooth: epsilon must be in"):
        layers.label_smooth(label, epsilon=2.0)
    assert str(fluid.default_main_program()) == text
