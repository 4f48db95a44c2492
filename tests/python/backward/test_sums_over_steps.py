"""Gradients of what each step of a StaticRNN reads: made once, after it, where rows add up."""

from collections.abc import Callable

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers

Step = Callable[[fluid.Variable, fluid.Variable], fluid.Variable]
X = np.random.default_rng(0).standard_normal((5, 3, 4))


def recurrent(step: Step) -> fluid.Variable:
    """The sum of all states after five steps of 3 rows; a step makes a state of [3, 4]."""
    x = layers.data("x", [5, 3, 4], dtype="float64", append_batch_size=False, stop_gradient=False)
    zeros = layers.fill_constant([3, 4], "float64", 0.0)
    rnn = layers.StaticRNN()
    with rnn.step():
        now = rnn.step_input(x)
        state = rnn.memory(init=zeros)
        new = step(now, state)
        rnn.update_memory(state, new)
        rnn.step_output(new)
    return layers.reduce_sum(rnn())


def weight(name: str, shape: list[int]) -> fluid.Variable:
    return layers.create_parameter(shape, "float64", attr=fluid.ParamAttr(name=name))


def ops_of_gradients() -> tuple[list[str], list[str]]:
    """The types of the operators after recurrent_grad, and of its block."""
    program = fluid.default_main_program()
    outside = [op.type for op in program.global_block().ops]
    return outside[outside.index("recurrent_grad") + 1 :], [op.type for op in program.block(2).ops]


def check(loss: fluid.Variable, gradients: dict[str, fluid.Variable]) -> None:
    """Compares gradients of parameters with differences of the loss."""
    exe, scope = fluid.Executor(), fluid.global_scope()
    exe.run(fluid.default_startup_program())
    found = exe.run(feed={"x": X}, fetch_list=list(gradients.values()))
    for name, gradient in zip(gradients, found, strict=True):
        tensor = scope.find_var(name).get_tensor()
        value = np.array(tensor)
        for index in np.ndindex(value.shape):
            losses = []
            for step in (1e-6, -1e-6):
                moved = value.copy()
                moved[index] += step
                tensor.set(moved, fluid.CPUPlace())
                losses.append(exe.run(feed={"x": X}, fetch_list=[loss])[0].item())
            tensor.set(value, fluid.CPUPlace())
            assert abs(gradient[index] - (losses[0] - losses[1]) / 2e-6) < 1e-7


def test_the_gradient_of_a_weight_is_one_product_after_the_steps() -> None:
    w = weight("w", [4, 4])
    loss = recurrent(lambda now, state: layers.tanh(now + layers.mul(state, w)))
    (gradient,) = fluid.gradients(loss, [w])
    outside, inside = ops_of_gradients()
    assert outside[-3:] == ["reshape", "reshape", "mul_grad"]
    assert inside.count("mul_grad") == 1  # of the state
    block = fluid.default_main_program().global_block()
    assert not any("w@GRAD@CARRY" in name for name in block.vars)
    check(loss, {"w": gradient})


def test_an_operator_that_nothing_else_is_asked_of_leaves_the_steps() -> None:
    w = weight("w", [4, 4])
    loss = recurrent(lambda now, state: layers.tanh(layers.mul(now, w) + state))
    (gradient,) = fluid.gradients(loss, [w])
    assert "mul_grad" not in ops_of_gradients()[1]
    check(loss, {"w": gradient})


def test_a_weight_that_is_read_twice_is_added_up_in_the_steps() -> None:
    w = weight("w", [4, 4])
    loss = recurrent(lambda now, state: layers.tanh(layers.mul(now, w) + layers.mul(state, w)))
    (gradient,) = fluid.gradients(loss, [w])
    assert "mul_grad" not in ops_of_gradients()[0]
    check(loss, {"w": gradient})


def test_what_has_no_rows_is_added_up_in_the_steps() -> None:
    w = weight("w", [3, 3])
    loss = recurrent(lambda now, state: layers.tanh(now + layers.mul(w, state)))
    (gradient,) = fluid.gradients(loss, [w])
    assert "mul_grad" not in ops_of_gradients()[0]
    check(loss, {"w": gradient})


def test_weights_that_the_step_reads_in_turn_each_have_a_product() -> None:
    w, u = weight("w", [4, 6]), weight("u", [6, 4])
    loss = recurrent(lambda now, state: now + layers.mul(layers.tanh(layers.mul(state, w)), u))
    of_w, of_u = fluid.gradients(loss, [w, u])
    assert ops_of_gradients()[0].count("mul_grad") == 2
    check(loss, {"w": of_w, "u": of_u})


def test_gradients_of_such_gradients() -> None:
    w = weight("w", [4, 4])
    loss = recurrent(lambda now, state: layers.tanh(now + layers.mul(state, w)))
    (gradient,) = fluid.gradients(loss, [w])
    slope = layers.reduce_sum(layers.square(gradient))
    (bend,) = fluid.gradients(slope, [w])
    check(slope, {"w": bend})


def test_what_callbacks_clip_is_the_whole_sum() -> None:
    w = weight("w", [4, 4])
    w.error_clip = fluid.ErrorClipByValue(max=1e-3)
    loss = recurrent(lambda now, state: layers.tanh(now + layers.mul(state, w)))
    ((_, gradient),) = fluid.append_backward(loss, callbacks=[fluid.error_clip_callback])
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    (found,) = exe.run(feed={"x": X}, fetch_list=[gradient])
    assert np.abs(found).max() == 1e-3


@pytest.mark.parametrize("is_sparse", [False, True])
def test_the_rows_of_a_table_that_steps_read_are_found_after_them(is_sparse: bool) -> None:
    table = fluid.ParamAttr("table")
    ids = layers.data("ids", [5, 3, 1], dtype="int64", append_batch_size=False)
    zeros = layers.fill_constant([3, 4], "float64", 0.0)
    rnn = layers.StaticRNN()
    with rnn.step():
        now, state = rnn.step_input(ids), rnn.memory(init=zeros)
        row = layers.embedding(now, [9, 4], is_sparse, param_attr=table, dtype="float64")
        new = layers.tanh(row + state)
        rnn.update_memory(state, new)
        rnn.step_output(new)
    ((_, gradient),) = fluid.append_backward(layers.reduce_sum(rnn()))
    outside, inside = ops_of_gradients()
    assert outside[-1] == "lookup_table_grad"
    assert "lookup_table_grad" not in inside
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    ids_of_steps = np.array([[1, 2, 3], [1, 1, 7], [8, 0, 2], [3, 3, 3], [1, 2, 3]])
    (found,) = exe.run(feed={"ids": ids_of_steps[..., None]}, fetch_list=[gradient])
    if is_sparse:
        assert found.rows.tolist() == ids_of_steps.ravel().tolist()
        found = found.to_dense()
    w = np.array(fluid.global_scope().find_var("table").get_tensor())
    states = [np.zeros((3, 4))]
    for step in ids_of_steps:
        states.append(np.tanh(w[step] + states[-1]))
    wanted, passed = np.zeros_like(w), np.zeros((3, 4))
    for step, state in zip(ids_of_steps[::-1], states[:0:-1], strict=True):
        passed = (passed + 1) * (1 - state**2)
        np.add.at(wanted, step, passed)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)
