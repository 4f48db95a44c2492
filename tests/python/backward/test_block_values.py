"""What operators with a block read when the block overwrites it, is not run, or cannot be."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers


@pytest.fixture(autouse=True)
def program():
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
        yield fluid.default_main_program()


def data(name, shape, dtype="float32"):
    return layers.data(name, shape, dtype=dtype, append_batch_size=False)


def run(feed, *fetches):
    return fluid.Executor().run(fluid.default_main_program(), feed=feed, fetch_list=list(fetches))


def test_a_recurrence_starts_from_the_value_before_its_block_overwrites_it():
    xs, h = data("xs", [3, 1]), data("h", [1])
    rnn = layers.StaticRNN()
    with rnn.step():
        x = rnn.step_input(xs)
        before = rnn.memory(init=h)
        layers.assign(x, output=h)
        rnn.update_memory(before, before + x)
        rnn.step_output(before)
    feed = {"xs": np.array([[1], [2], [3]], np.float32), "h": np.array([10], np.float32)}
    (states,) = run(feed, rnn())
    np.testing.assert_array_equal(states.ravel(), [10, 11, 13])


def test_a_recurrence_whose_block_reads_the_variable_it_stacks_into_sees_what_was_there():
    xs, y = data("xs", [3, 1]), data("y", [3, 1])
    total = layers.assign(y)
    block = fluid.default_main_program().create_block()
    inner = layers.elementwise_add(
        layers.reduce_sum(total, dim=0), block.create_var("x", shape=[1], dtype="float32")
    )
    fluid.default_main_program().rollback()
    fluid.default_main_program().global_block().append_op(
        "recurrent",
        {"inputs": [xs]},
        {"outputs": [total]},
        {
            "sub_block": fluid.core.BlockIndex(block.idx),
            "step_inputs": ["x"],
            "step_outputs": [inner.name],
            "ex_states": [],
            "states": [],
        },
    )
    feed = {"xs": np.array([[1], [2], [3]], np.float32), "y": np.ones((3, 1), np.float32)}
    (sums,) = run(feed, total)
    np.testing.assert_array_equal(sums.ravel(), [4, 5, 6])


def test_selecting_what_a_block_that_was_not_run_would_have_written_is_an_error():
    block = fluid.default_main_program().global_block()
    taken, x = data("taken", [1], "bool"), data("x", [2])
    result = block.create_var("result", shape=[2], dtype="float32")
    with layers.ConditionalBlock([taken], is_scalar_condition=True).block():
        layers.assign(x, output=result)
    one = layers.fill_constant([1], "int32", 1)
    block.append_op("select_input", {"X": [x, result], "Mask": one}, {"Out": "chosen"})
    feed = {"x": np.ones(2, np.float32), "taken": np.array([True])}
    np.testing.assert_array_equal(run(feed, "chosen")[0], [1, 1])
    with pytest.raises(fluid.InvalidArgument, match=r"select_input: X at position 1, .* not run"):
        run(feed | {"taken": np.array([False])}, "chosen")


def test_a_branch_for_rows_that_there_are_none_of_need_not_make_sense():
    x, mask = data("x", [3, 2]), data("mask", [3], "bool")
    branches = layers.IfElse(mask)
    with branches.true_block():
        rows = layers.reshape(branches.input(x), shape=[-1, 2, 1])
        branches.output(layers.reduce_max(rows, dim=2) + 10.0)
    with branches.false_block():
        branches.output(branches.input(x))
    (merged,) = branches()
    values = np.arange(6, dtype=np.float32).reshape(3, 2)
    for taken in ([False] * 3, [True, False, True], [True] * 3, [False] * 3):
        expected = values + 10 * np.array(taken, np.float32)[:, None]
        (found,) = run({"x": values, "mask": np.array(taken)}, merged)
        np.testing.assert_array_equal(found, expected)
