"""Tests of the layers that work by indices, with extents that are known only at run time."""

import numpy as np

import fluidcore as fluid
from fluidcore import layers


def run(outs, **feed):
    return fluid.Executor().run(feed=feed, fetch_list=list(outs))


def test_rows_are_taken_and_replaced_by_an_index_that_is_fed():
    x = layers.data("x", [3])
    index = layers.data("index", [1], dtype="int32")
    taken = layers.gather(input=x, index=index)
    back = layers.scatter(input=x, index=index, updates=taken * 2.0)
    assert (taken.shape, back.shape) == ((-1, 3), (-1, 3))
    values = np.arange(12, dtype=np.float32).reshape(4, 3)
    got, changed = run([taken, back], x=values, index=np.array([[3], [1]], np.int32))
    np.testing.assert_array_equal(got, values[[3, 1]])
    values[[3, 1]] *= 2
    np.testing.assert_array_equal(changed, values)


def test_rows_are_chosen_among_variables():
    x, y = (layers.data(name, [2]) for name in "xy")
    index = layers.data("index", [1], dtype="int32")
    out = layers.multiplex(inputs=[x, y], index=index)
    assert out.shape == (-1, 2)
    ones = np.ones((3, 2), np.float32)
    (got,) = run([out], x=ones, y=2 * ones, index=np.array([[0], [1], [0]], np.int32))
    np.testing.assert_array_equal(got, [[1, 1], [2, 2], [1, 1]])


def test_one_hot_takes_labels():
    out = layers.one_hot(input=layers.data("label", [1], dtype="int64"), depth=3)
    assert (out.shape, out.dtype) == ((-1, 3), "float32")
    np.testing.assert_array_equal(run([out], label=np.array([[2], [0]]))[0], np.eye(3)[[2, 0]])


def test_sorted_values_come_with_their_positions_or_alone():
    x = layers.data("x", [3])
    values, indices = layers.argsort(x, descending=True)
    alone = layers.sort(x, axis=-1)
    assert (values.shape, indices.dtype) == ((-1, 3), "int64")
    down, where, up = run([values, indices, alone], x=np.array([[2, 3, 1]], np.float32))
    np.testing.assert_array_equal(down, [[3, 2, 1]])
    np.testing.assert_array_equal(where, [[1, 0, 2]])
    np.testing.assert_array_equal(up, [[1, 2, 3]])


def test_a_random_batch_is_as_large_as_what_is_fed():
    x = layers.data("x", [3])
    noise = layers.uniform_random_batch_size_like(x, shape=[-1, 5], seed=3)
    assert noise.shape == (-1, 5)
    for rows in (4, 1):
        assert run([noise], x=np.zeros((rows, 3), np.float32))[0].shape == (rows, 5)
