"""Tests of fluidcore.backward.path."""

import numpy as np
import pytest
from texts import forward, show

import fluidcore as fluid
from fluidcore import core, layers
from fluidcore.backward.path import ops_on_path
from fluidcore.backward.view import forward_ops


def test_operators_beside_the_path_are_left_out():
    ops = forward("mul: x, w -> h", "accuracy: h -> acc", "mean: h -> loss", "scale: lr -> lr2")
    path = ops_on_path(ops, ["w"], ["loss"])
    assert show(path.ops) == ["mul: x, w -> h", "mean: h -> loss"]
    assert path.variables == {"w", "h", "loss"}


def test_a_stopped_variable_ends_the_path():
    ops = forward("mul: x, w -> h", "mul: h, v -> k", "mean: k -> loss")
    path = ops_on_path(ops, ["w", "v"], ["loss"], stopped={"h"})
    assert show(path.ops) == ["mul: h, v -> k", "mean: k -> loss"]


def test_a_constant_operator_ends_the_path():
    ops = forward("top_k: w -> h", "mul: h, v -> loss")
    path = ops_on_path(ops, ["w", "v"], ["loss"], is_constant=lambda op_type: op_type == "top_k")
    assert show(path.ops) == ["mul: h, v -> loss"]


def test_no_path_gives_nothing():
    assert ops_on_path(forward("mean: x -> loss"), ["w"], ["loss"]).ops == []


def branch(depth, block):
    """An if/elif chain: each branch holds the next one; all write y around the outermost."""
    program = block.program
    for _ in range(depth):
        block = program.block(program.desc.append_block(block.idx).id())
        block.append_op("elementwise_mul", {"X": "y", "Y": "w"}, {"Out": "y"})
    while block.idx > 0:
        around = program.block(block.parent_idx)
        sub_block = core.BlockIndex(block.idx)
        slots = {"X": "go", "Params": ["y", "w"]}
        around.append_op("conditional_block", slots, {"Out": ["y"]}, {"sub_block": sub_block})
        block = around


@pytest.mark.parametrize("depth", [1, 8, 60])
def test_each_operator_is_looked_at_once_however_deep_it_is(depth):
    block = fluid.default_main_program().global_block()
    block.create_var("go", shape=[1], dtype="bool")
    for name in ("w", "y"):
        block.create_var(name, shape=[1], dtype="float32")
    branch(depth, block)
    looked_at = []
    ops = forward_ops(block, core.EffectsOfBlocks(block.program.desc))
    path = ops_on_path(ops, ["w"], ["y"], is_constant=looked_at.append)
    assert len(looked_at) == depth
    for _ in range(depth):
        assert path.variables == {"w", "y"}
        (path,) = path.bodies.values()


def test_a_value_that_is_only_handed_from_step_to_step_is_on_the_path():
    xs = layers.data("xs", [4, 2], append_batch_size=False, stop_gradient=False)
    start = layers.data("start", [2], append_batch_size=False, stop_gradient=False)
    rnn = layers.StaticRNN()
    with rnn.step():
        before = rnn.memory(init=start)
        rnn.update_memory(before, rnn.step_input(xs))
        rnn.step_output(before)
    late = rnn()
    weights = layers.data("weights", [4, 1], append_batch_size=False)
    slopes = fluid.gradients(layers.reduce_sum(late * weights), [xs, start])
    feed = {"xs": np.ones((4, 2), np.float32), "start": np.ones(2, np.float32)}
    feed["weights"] = np.array([[1], [10], [100], [1000]], np.float32)
    of_xs, of_start = fluid.Executor().run(feed=feed, fetch_list=slopes)
    np.testing.assert_array_equal(of_xs[:, 0], [10, 100, 1000, 0])
    np.testing.assert_array_equal(of_start, [1, 1])
