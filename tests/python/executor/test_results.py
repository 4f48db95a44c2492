"""What a run returns: arrays that nobody else has."""

from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers

ONES = np.ones((2, 3), np.float32)


def test_the_results_of_a_run_stay_when_another_one_follows():
    x = layers.data("x", [3])
    y = layers.exp(layers.scale(x, 2.0))
    exe = fluid.Executor()
    (first,) = exe.run(feed={"x": ONES}, fetch_list=[y])
    (second,) = exe.run(feed={"x": 2 * ONES}, fetch_list=[y])
    np.testing.assert_allclose(first, np.exp(2 * ONES), rtol=1e-6)
    np.testing.assert_allclose(second, np.exp(4 * ONES), rtol=1e-6)


def test_a_variable_that_is_fetched_twice_gives_two_arrays():
    x = layers.data("x", [3])
    y = layers.scale(x, 2.0)
    one, other = fluid.Executor().run(feed={"x": ONES}, fetch_list=[y, y])
    one += 1
    np.testing.assert_array_equal(other, 2 * ONES)


def test_what_is_fetched_may_be_read_on_and_overwritten_in_place():
    x = layers.data("x", [3])
    y = layers.scale(x, 2.0)
    z = layers.relu(y - 5.0)
    fluid.default_main_program().global_block().append_op("relu", {"X": y}, {"Out": y})
    got_y, got_z = fluid.Executor().run(feed={"x": -ONES}, fetch_list=[y, z])
    np.testing.assert_array_equal(got_y, 0 * ONES)
    np.testing.assert_array_equal(got_z, 0 * ONES)


def test_feeds_and_variables_of_the_scope_are_copied():
    x = layers.data("x", [3])
    w = layers.create_parameter([3], "float32", attr=fluid.ParamAttr(name="w"))
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    got_x, got_w = exe.run(feed={"x": ONES}, fetch_list=[x, w])
    before = got_w.copy()
    got_x += 1
    got_w += 1
    again_x, again_w = exe.run(feed={"x": ONES}, fetch_list=[x, w])
    np.testing.assert_array_equal(again_x, ONES)
    np.testing.assert_array_equal(again_w, before)


def test_what_a_loop_changes_is_fetched():
    i = layers.zeros([1], "int64")
    n = layers.fill_constant([1], "int64", 4)
    total = layers.fill_constant([2, 3], "float32", 1.0)
    cond = layers.less_than(i, n)
    loop = layers.While(cond)
    with loop.block():
        layers.assign(total * 2.0, output=total)
        layers.increment(i)
        layers.less_than(i, n, cond=cond)
    exe = fluid.Executor()
    for _ in range(2):
        (got,) = exe.run(fetch_list=[total])
        np.testing.assert_array_equal(got, np.full((2, 3), 16, np.float32))


def test_what_is_written_anew_before_a_failure_keeps_its_value() -> None:
    block = fluid.default_main_program().global_block()
    x = layers.data("x", [2, 3], append_batch_size=False)
    label = layers.data("label", [2, 1], dtype="int64", append_batch_size=False)
    kept = block.create_var(name="kept", shape=[2, 3], dtype="float32", persistable=True)
    block.append_op("scale", {"X": [x]}, {"Out": [kept]}, {"scale": 2.0})
    loss = layers.nll_loss(kept, label)
    executor = fluid.Executor()
    values = np.arange(6, dtype=np.float32).reshape(2, 3)

    def run(factor: int, number: int) -> None:
        executor.run(
            feed={"x": factor * values, "label": np.full((2, 1), number)}, fetch_list=[loss]
        )

    def now() -> Any:
        return np.array(fluid.global_scope().find_var("kept").get_tensor())

    for factor in (1, 2, 3):
        run(factor, 0)
        np.testing.assert_array_equal(now(), 2 * factor * values)
        with pytest.raises(ValueError, match="labels must be in"):
            run(10, 7)
        np.testing.assert_array_equal(now(), 2 * factor * values)


def test_a_view_of_a_variable_sees_what_a_run_writes_anew() -> None:
    x = layers.data("x", [1, 4], append_batch_size=False)
    index = layers.data("index", [1], dtype="int64", append_batch_size=False)
    kept = layers.create_global_var([1, 4], 0.0, "float32", persistable=True, name="kept")
    layers.assign(x * 2.0, kept)
    out = layers.gather(kept, index)  # may still fail after the variable was written
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    view = np.asarray(fluid.global_scope().find_var("kept").get_tensor())
    for value in (1.0, 3.0, 5.0):
        feed = {"x": np.full((1, 4), value, np.float32), "index": np.array([0])}
        exe.run(feed=feed, fetch_list=[out])
        np.testing.assert_array_equal(view, np.full((1, 4), 2 * value))
    with pytest.raises(fluid.InvalidArgument, match="gather: "):
        exe.run(feed={**feed, "index": np.array([7])}, fetch_list=[out])
    np.testing.assert_array_equal(view, np.full((1, 4), 10.0))
