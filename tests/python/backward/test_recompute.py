"""Tests of fluidcore.backward.recompute: the same gradients, bit for bit."""

import numpy as np
import pytest
from differences import total, whole

import fluidcore as fluid
from fluidcore import layers

RNG = np.random.default_rng(3)
IMAGES = {"x": RNG.normal(size=(5, 1, 8, 8)).astype("float32")}


def named(name, value):
    """The value in a variable of this name."""
    block = fluid.default_main_program().global_block()
    result = block.create_var(name, shape=value.shape, dtype=value.dtype)
    return layers.assign(value, output=result)


def image():
    return layers.data("x", [1, 8, 8])


def perceptron():
    marks, h = [], image()
    for _ in range(4):
        h = layers.fc(layers.fc(h, 16, act="tanh"), 16, act="relu")
        marks.append(h)
    return h, marks


def with_dropout():
    marks, h = [], image()
    for _ in range(4):
        h = layers.fc(layers.dropout(layers.fc(h, 16, act="tanh"), 0.3), 16, act="sigmoid")
        marks.append(h)
    return h, marks


def convolutions():
    first = layers.batch_norm(layers.conv2d(image(), 4, 3, act="relu"))
    h = layers.pool2d(first, 2, pool_stride=2)
    second = layers.dropout(layers.batch_norm(layers.conv2d(h, 4, 3), act="relu"), 0.4)
    return layers.fc(layers.tanh(second), 3), [first, second]


def recomputed(program):
    """The operators that calculate something again."""
    return [
        op.type
        for op in program.global_block().ops
        if any("@RECOMPUTED" in name for name in op.output_arg_names)
    ]


def train(network, with_checkpoints):
    """Loss, gradients and all that lives between runs; what is calculated again."""
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 7
    with (
        fluid.program_guard(main, startup),
        fluid.unique_name.guard(),
        fluid.scope_guard(fluid.Scope()),
    ):
        result, marks = network()
        loss = layers.mean(layers.square(result))
        pairs = fluid.append_backward(loss, checkpoints=marks if with_checkpoints else None)
        executor = fluid.Executor()
        executor.run(startup)
        values = executor.run(feed=IMAGES, fetch_list=[loss, *(grad for _, grad in pairs)])
        scope = fluid.global_scope()
        names = [variable.name for variable in main.list_vars() if variable.persistable]
        values += [np.array(scope.find_var(name).get_tensor()) for name in names]
        return [value.tobytes() for value in values], recomputed(main)


@pytest.mark.parametrize("network", [perceptron, with_dropout, convolutions])
def test_gradients_and_states_are_the_same_bit_for_bit(network):
    kept, none = train(network, False)
    again, operators = train(network, True)
    assert again == kept
    assert none == []
    assert len(operators) > 3
    assert "dropout" not in operators  # what is random is kept


def awkward(x, w):
    """In place, a loop, a branch; several operators read what is calculated again."""
    block = fluid.default_main_program().global_block()
    first = named("first", layers.tanh(x * w) * x)
    h = named("h", layers.exp(first) * w)
    block.append_op("tanh", {"X": h}, {"Out": h})
    k = layers.sigmoid(h * first)
    y = layers.while_loop(
        lambda i, y: layers.less_than(i, whole(3)),
        lambda i, y: (i + 1, layers.tanh(y * k + w)),
        [0, k],
    )[1]
    second = named("second", layers.tanh(y * h) * y)
    flag = layers.less_than(total(second), total(second) + 1.0)
    y = layers.cond(flag, lambda: second * second * k, lambda: second)
    return total(layers.tanh(y) * y)


def awkward_gradients(checkpoints):
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        x, w = (
            layers.data(name, [3], dtype="float64", append_batch_size=False, stop_gradient=False)
            for name in "xw"
        )
        fluid.append_backward(awkward(x, w), checkpoints=checkpoints)
        feed = {"x": np.array([0.3, 0.2, -0.5]), "w": np.array([1.0, 2.0, 0.5])}
        return [
            v.tobytes() for v in fluid.Executor().run(feed=feed, fetch_list=["x@GRAD", "w@GRAD"])
        ]


@pytest.mark.parametrize(
    "checkpoints",
    [["first"], ["first", "second"], {"second"}, ["h"], ["second", "first", "h"], []],
)
def test_checkpoints_around_loops_branches_and_writes_in_place(checkpoints):
    assert awkward_gradients(checkpoints) == awkward_gradients(None)


def test_a_state_that_is_updated_between_two_checkpoints():
    results = []
    for checkpoints in (None, ["a", "b"]):
        with (
            fluid.program_guard(fluid.Program(), fluid.Program()),
            fluid.unique_name.guard(),
            fluid.scope_guard(fluid.Scope()),
        ):
            block = fluid.default_main_program().global_block()
            w = block.create_parameter([2], "float64", "w")
            state = layers.create_global_var([2], 0.5, "float64", persistable=True, name="state")
            a = named("a", layers.tanh(w * state))
            c = layers.exp(layers.tanh(a * state) * w)
            layers.assign(state * 1.5, output=state)
            b = named("b", c * state)
            loss = total(layers.tanh(b) * w)
            fluid.append_backward(loss, checkpoints=checkpoints)
            executor = fluid.Executor()
            executor.run(fluid.default_startup_program())
            fluid.global_scope().var("w").get_tensor().set(np.array([0.3, 0.7]))
            runs = [executor.run(fetch_list=["w@GRAD"])[0].tobytes() for _ in range(3)]
            results.append(runs)
    assert results[0] == results[1]


def test_checkpoints_must_be_results_of_the_losss_block():
    w = fluid.default_main_program().global_block().create_parameter([2], "float64", "w")
    loss = total(w * w)
    text = str(fluid.default_main_program())
    for checkpoint in ("nothing", w):
        name = getattr(checkpoint, "name", checkpoint)
        with pytest.raises(
            fluid.InvalidArgument,
            match=rf"checkpoints must be results of operators of block 0, got '{name}'",
        ):
            fluid.append_backward(loss, checkpoints=[checkpoint])
    with pytest.raises(TypeError, match="checkpoints must be a list or a set"):
        fluid.append_backward(loss, checkpoints=loss)
    assert str(fluid.default_main_program()) == text
