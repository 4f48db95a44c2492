"""Tests of comparisons and logic."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers


def run(fetches, **feed):
    return fluid.Executor().run(feed=feed, fetch_list=fetches)


def program_text():
    return str(fluid.default_main_program()) + str(fluid.default_startup_program())


def number(value, dtype="float32"):
    return layers.fill_constant([1], dtype, value)


def refused(kind, match, call):
    before = program_text()
    blocks = fluid.default_main_program().num_blocks
    with pytest.raises(kind, match=match):
        call()
    assert program_text() == before
    assert fluid.default_main_program().num_blocks == blocks
    assert fluid.default_main_program().current_block().idx == 0


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("less_than", np.less),
        ("less_equal", np.less_equal),
        ("greater_than", np.greater),
        ("greater_equal", np.greater_equal),
        ("equal", np.equal),
        ("not_equal", np.not_equal),
    ],
)
def test_comparisons_are_those_of_numpy_and_write_cond(name, expected):
    x, y = layers.data("x", [3]), layers.data("y", [3])
    fresh = getattr(layers, name)(x, y)
    given = fluid.default_main_program().global_block().create_var("given", dtype="bool")
    assert getattr(layers, name)(x, y, cond=given) is given
    xs = np.array([[1, 2, 3], [4, 5, 6]], "float32")
    ys = np.array([[1, 3, 2], [4, 4, 7]], "float32")
    for out in run([fresh, given], x=xs, y=ys):
        np.testing.assert_array_equal(out, expected(xs, ys))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("logical_and", np.logical_and),
        ("logical_or", np.logical_or),
        ("logical_xor", np.logical_xor),
    ],
)
def test_logic_is_that_of_numpy_and_writes_out(name, expected):
    x, y = layers.data("x", [4], dtype="bool"), layers.data("y", [4], dtype="bool")
    fresh = getattr(layers, name)(x, y)
    assert getattr(layers, name)(x, y, out=fresh) is fresh
    xs = np.array([[False, False, True, True]])
    ys = np.array([[False, True, False, True]])
    (out,) = run([fresh], x=xs, y=ys)
    np.testing.assert_array_equal(out, expected(xs, ys))


def test_comparisons_may_be_written_as_in_python():
    x = layers.data("x", [3], append_batch_size=False)
    xs = np.array([1, 2, 3], "float32")
    outs = run([x < 2, x <= 2, x > 2, x >= 2, x.astype("int64") <= 2], x=xs)
    for out, expected in zip(outs, [xs < 2, xs <= 2, xs > 2, xs >= 2, xs <= 2], strict=True):
        np.testing.assert_array_equal(out, expected)


def test_logical_not_and_is_empty():
    x = layers.data("x", [2], dtype="bool")
    outs = [layers.logical_not(x), layers.is_empty(x)]
    flipped, empty = run(outs, x=np.array([[True, False]]))
    np.testing.assert_array_equal(flipped, [[False, True]])
    np.testing.assert_array_equal(empty, [False])
    assert run(outs, x=np.ones((0, 2), bool))[1][0]


def test_comparisons_want_variables():
    x = number(1)
    refused(TypeError, "less_than: y must be a Variable, got int 3", lambda: layers.less_than(x, 3))
    refused(TypeError, "less_than: the output must", lambda: layers.less_than(x, x, cond="c"))
