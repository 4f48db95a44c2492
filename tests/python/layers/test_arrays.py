"""Tests of tensor arrays."""

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


def test_an_array_is_written_read_and_measured():
    x = layers.data("x", [2], append_batch_size=False)
    zero, two = number(0, "int64"), number(2, "int32")
    array = layers.array_write(x, zero)
    assert layers.array_write(x * 2.0, two, array=array) is array
    first, third = layers.array_read(array, zero), layers.array_read(array, two)
    assert first.shape == (2,)
    a, b, n = run([first, third, layers.array_length(array)], x=np.array([1, 2], "float32"))
    np.testing.assert_array_equal(a, [1, 2])
    np.testing.assert_array_equal(b, [2, 4])
    assert (n.dtype, n.tolist()) == (np.int64, [3])


def test_an_array_is_empty_at_the_start_of_every_run():
    array = layers.create_array("float32", shape=[1])
    before = layers.array_length(array)
    layers.array_write(number(1), number(0, "int64"), array=array)
    after = layers.array_length(array)
    executor = fluid.Executor()
    for _ in range(2):
        a, b = executor.run(fetch_list=[before, after])
        assert (a[0], b[0]) == (0, 1)


def test_reading_an_element_that_was_not_written_is_an_error():
    i = layers.data("i", [1], dtype="int64", append_batch_size=False)
    array = layers.array_write(number(1), number(2, "int64"))
    element = layers.array_read(array, i)
    run([element], i=np.array([2]))
    for index in (1, 7):
        with pytest.raises(fluid.InvalidArgument, match=rf"written, got I {index}, .*length 3"):
            run([element], i=np.array([index]))


def test_arrays_refuse_what_they_cannot_hold():
    x, i = number(1), number(0, "int64")
    array = layers.array_write(x, i)
    blank = layers.create_array("float32")
    three = layers.zeros([3], "float32")
    for kind, match, call in [
        (TypeError, "array_write: x must be a Variable", lambda: layers.array_write(1.0, i)),
        (TypeError, "array_write: i must be a Variable", lambda: layers.array_write(x, 0)),
        (
            fluid.InvalidArgument,
            r"array_read: i must be int64 or int32 with one element, got float32 \[1\]",
            lambda: layers.array_read(array, x),
        ),
        (
            fluid.InvalidArgument,
            "array_length: array must be a tensor array, got .*; make one with create_array",
            lambda: layers.array_length(x),
        ),
        (
            fluid.InvalidArgument,
            r"write create_array\('float32', shape=\[...\]\)",
            lambda: layers.array_read(blank, i),
        ),
        (
            fluid.InvalidArgument,
            "write_to_array: Out must fit the elements",
            lambda: layers.array_write(three, i, array=array),
        ),
        (fluid.InvalidArgument, "relu: X must be a tensor", lambda: layers.relu(array)),
    ]:
        refused(kind, match, call)
