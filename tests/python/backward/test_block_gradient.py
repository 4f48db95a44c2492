"""Tests of fluidcore.backward.block_gradient: clips, callbacks, constants and history in blocks."""

import numpy as np
import pytest
from differences import data, loop, total, whole

import fluidcore as fluid
from fluidcore import layers


def parameter(name, shape=(1,)):
    block = fluid.default_main_program().global_block()
    return block.create_parameter(list(shape), "float64", name)


def clipped(variable, bound):
    variable.error_clip = fluid.ErrorClipByValue(bound)
    return variable


def backward(loss, **settings):
    return fluid.append_backward(loss, callbacks=[fluid.error_clip_callback], **settings)


def run(fetch_list, feed=None, **parameters):
    for name, value in parameters.items():
        fluid.global_scope().var(name).get_tensor().set(np.asarray(value, np.float64))
    return fluid.Executor().run(feed=feed or {}, fetch_list=fetch_list)


# Error clips


def test_a_variable_in_a_loop_is_clipped_in_every_step():
    w = parameter("w")
    y = layers.assign(w * 1.0)
    loop(whole(3), lambda _: layers.assign(clipped(y * 2.0, 1.5), output=y))
    ((_, grad),) = backward(total(y))
    # 1 from the loss, then in each step: clip, times 2
    np.testing.assert_allclose(run([grad], w=[1])[0], [3.0])


def test_a_variable_that_a_loop_carries_is_clipped_between_the_steps():
    w = parameter("w")
    y = clipped(layers.assign(w * 1.0), 1.5)
    loop(whole(3), lambda _: layers.assign(y * 2.0, output=y))
    ((_, grad),) = backward(total(y))
    np.testing.assert_allclose(run([grad], w=[1])[0], [1.5])


@pytest.mark.parametrize("times", [3, 1])
def test_of_a_parameter_read_in_a_loop_only_the_complete_gradient_is_clipped(times):
    w = clipped(parameter("w"), 1.5)
    y = layers.zeros([1], "float64")
    loop(whole(times), lambda _: layers.assign(y + w * 1.0, output=y))
    ((_, grad),) = backward(total(y) + total(w * -1.0))
    # 3 - 1 is clipped; 3, the part of the loop, is not
    np.testing.assert_allclose(run([grad], w=[1])[0], [min(times - 1, 1.5)])
    clips = [op for b in fluid.default_main_program().blocks for op in b.ops if op.type == "clip"]
    assert [op.input("X") for op in clips] == [["w@GRAD"]]


def test_a_variable_in_a_recurrence_is_clipped_in_every_step():
    xs, w = data("xs", [3, 1]), parameter("w")
    rnn = layers.StaticRNN()
    with rnn.step():
        x, before = rnn.step_input(xs), rnn.memory(shape=[1])
        z = clipped(before * 2.0 + w * x, 1.0)
        rnn.update_memory(before, z)
        rnn.step_output(z)
    ((_, grad),) = backward(total(rnn()))
    # each step's gradient, 1 and what the next one adds, becomes 1
    np.testing.assert_allclose(run([grad], {"xs": np.ones((3, 1))}, w=[1])[0], [3.0])


def test_a_memory_a_slice_and_a_sequence_have_clips_of_their_own():
    xs, w = clipped(data("xs", [3, 1]), 0.5), parameter("w")
    rnn = layers.StaticRNN()
    with rnn.step():
        x, before = clipped(rnn.step_input(xs), 1.0), clipped(rnn.memory(shape=[1]), 0.25)
        z = before * 2.0 + w * x
        rnn.update_memory(before, z)
        rnn.step_output(z)
    ((_, grad),) = backward(total(rnn()))
    by_w, by_xs = run([grad, "xs@GRAD"], {"xs": np.ones((3, 1))}, w=[3])
    np.testing.assert_allclose(by_w, [1 + 1.25 + 1.25])
    np.testing.assert_allclose(by_xs, np.full((3, 1), 0.5))


def test_a_variable_in_a_branch_is_clipped_if_the_branch_is_taken():
    w, flag = parameter("w"), data("flag", [1], "bool")
    out = layers.cond(flag, lambda: clipped(w * 3.0, 0.5) * 2.0, lambda: w * 7.0)
    ((_, grad),) = backward(total(out))
    for taken, expected in ((True, 1.5), (False, 7.0), (True, 1.5)):
        np.testing.assert_allclose(run([grad], {"flag": np.array([taken])}, w=[1])[0], [expected])


def test_a_wrong_error_clip_in_a_block_is_a_type_error_and_leaves_nothing():
    w = parameter("w")
    y = layers.assign(w * 1.0)
    inside = []

    def body(_):
        inside.append(y * w)
        layers.assign(inside[0], output=y)

    loop(whole(2), body)
    loss = total(y)
    inside[0].error_clip = 3.0
    text = str(fluid.default_main_program())
    with pytest.raises(TypeError, match="error_clip should be an instance of BaseErrorClipAttr"):
        backward(loss)
    assert str(fluid.default_main_program()) == text


# Callbacks


def nested(w):
    """A loop in a branch in a recurrence."""
    rnn = layers.StaticRNN()
    with rnn.step():
        x, before = rnn.step_input(data("xs", [2, 1])), rnn.memory(shape=[1])

        def repeated():
            return layers.while_loop(
                lambda i, v: layers.less_than(i, whole(2)),
                lambda i, v: (i + 1, layers.tanh(v * w)),
                [0, x],
            )[1]

        out = layers.cond(layers.less_than(x, layers.zeros([1], "float64")), lambda: x, repeated)
        new = layers.tanh(before * w + out)
        rnn.update_memory(before, new)
        rnn.step_output(new)
    return total(rnn())


def test_a_callback_gets_the_block_that_the_operator_was_added_to():
    loss = nested(parameter("w"))
    program = fluid.default_main_program()
    forward = program.num_blocks
    seen = {}

    def callback(block, context):
        op = block.desc.op(block.desc.op_size() - 1)
        seen.setdefault(block.idx, []).append(op.type())
        assert all(block.has_var_recursive(name) for name in op.output_arg_names())
        assert all(isinstance(name, str) for item in context.items() for name in item)

    fluid.append_backward(loss, callbacks=[callback])
    assert set(seen) == {0, *range(forward, program.num_blocks)}
    for index, types in seen.items():
        if index > 0:
            block = program.block(index)
            left = [op.type for op in block.ops]
            assert [kind for kind in types if kind != "assign"] == [
                kind for kind in left if kind != "assign"
            ]
            assert left.count("assign") <= types.count("assign")  # copies that nobody changed go
            assert 0 < block.forward_block_idx < forward


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_an_error_in_a_callback_at_any_depth_leaves_nothing(depth):
    loss = nested(parameter("w"))
    program = fluid.default_main_program()
    text, blocks = str(program), program.num_blocks

    def level(block):
        return 0 if block.idx == 0 else 1 + level(program.block(block.parent_idx))

    def fail(block, context):
        if level(block) == depth and block.ops[-1].type.endswith("_grad"):
            block.append_op("relu", {"X": "w"}, {"Out": "extra"})
            block.create_var("more", shape=[1], dtype="float64")
            raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        fluid.append_backward(loss, callbacks=[fail])
    assert str(program) == text
    assert program.num_blocks == blocks
    assert program.current_block().idx == 0
    ((_, grad),) = fluid.append_backward(loss)
    assert grad.name == "w@GRAD"
    assert np.isfinite(run([grad], {"xs": np.array([[0.5], [-1.0]])}, w=[0.7])[0]).all()


# What is a constant


@pytest.mark.parametrize("as_variable", [True, False])
def test_no_grad_set_takes_variables_of_blocks(as_variable):
    w, v = parameter("w", [2]), parameter("v", [2])
    y = layers.ones([2], "float64")
    inside = []

    def body(_):
        inside.append(y * w)
        layers.assign(inside[0] + v * v, output=y)

    loop(whole(2), body)
    loss = total(y)
    constant = inside[0] if as_variable else inside[0].name
    (_, by_w), (_, by_v) = fluid.append_backward(loss, no_grad_set=[constant])
    assert by_w is None
    np.testing.assert_allclose(run([by_v], w=[2, 3], v=[1, 2])[0], [2, 4])  # of the last step
    (_, by_w), (_, by_v) = fluid.append_backward(loss, no_grad_set={v})
    assert by_v is None
    np.testing.assert_allclose(run([by_w], w=[2, 3], v=[1, 2])[0], [5, 10])  # 2 w + v v
    assert [grad for _, grad in fluid.append_backward(loss, no_grad_set=[y])] == [None, None]


def test_a_variable_of_a_block_that_stops_gradients():
    x = data("x", [2])
    y = layers.assign(x * 1.0)

    def body(_):
        z = y * x
        z.stop_gradient = True
        layers.assign(y + z * x, output=y)

    loop(whole(2), body)
    (grad,) = fluid.gradients(total(y), [x])
    value = np.array([0.5, 2.0])
    first = value * value
    second = (value + first * value) * value
    np.testing.assert_allclose(run([grad], {"x": value})[0], 1 + first + second)


# What is kept


def pushed(program):
    return [op.input("X") for block in program.blocks for op in block.ops if "push" in op.type]


def test_a_loop_keeps_only_what_backward_reads():
    x, n = data("x", [2]), data("n", [1], "int64")
    _, y = layers.while_loop(
        lambda i, y: layers.less_than(i, n),
        lambda i, y: (i + 1, layers.tanh(y * 2.0) + layers.relu(x)),
        [0, x],
    )
    fluid.gradients(total(y), [x])
    program = fluid.default_main_program()
    writers = {name: op.type for op in program.block(1).ops for name in op.output_arg_names}
    assert sorted(writers[name] for (name,) in pushed(program)) == ["relu", "tanh"]


def test_a_loop_for_inference_keeps_nothing():
    x, n = data("x", [1000]), data("n", [1], "int64")
    _, y = layers.while_loop(
        lambda i, y: layers.less_than(i, n),
        lambda i, y: (i + 1, layers.tanh(y * x) + x),
        [0, x],
    )
    loss = total(y)
    (grad,) = fluid.gradients(loss, [x])
    assert len(pushed(fluid.default_main_program())) == 2
    assert pushed(fluid.default_main_program().prune([loss])) == []
    executor = fluid.Executor()

    def grown_by(steps, fetched):
        before = resident_bytes()
        executor.run(feed={"x": np.ones(1000), "n": np.array([steps])}, fetch_list=[fetched])
        return resident_bytes() - before

    grown_by(10, loss)
    grown_by(10, grad)
    assert grown_by(20_000, loss) < 8e6  # one value of all steps would be 160 MB
    assert grown_by(2_000, grad) < 3 * 2 * 16e6


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
