"""Gradients through loops, branches, recurrences and tensor arrays, against central differences."""

import numpy as np
import pytest
from differences import check, data, total, whole

import fluidcore as fluid
from fluidcore import layers

RNG = np.random.default_rng(5)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def the_same_numbers_whichever_tests_run():
    RNG.bit_generator.state = START


# A recurrent network, written in three ways


def unrolled(xs, h, w, u, steps):
    for t in range(steps):
        x = layers.reshape(layers.split(xs, steps, dim=0)[t], [2, 3])
        h = layers.tanh(layers.matmul(x, w) + layers.matmul(h, u))
    return h


def with_static_rnn(xs, h, w, u, steps):
    rnn = layers.StaticRNN()
    with rnn.step():
        x = rnn.step_input(xs)
        before = rnn.memory(init=h)
        after = layers.tanh(layers.matmul(x, w) + layers.matmul(before, u))
        rnn.update_memory(before, after)
        rnn.step_output(after)
    return layers.reshape(layers.split(rnn(), [steps - 1, 1], dim=0)[1], [2, 4])


def with_while_loop(xs, h, w, u, steps):
    array = layers.create_array("float64", shape=[2, 3])
    for t, part in enumerate(layers.split(xs, steps, dim=0)):
        layers.array_write(layers.reshape(part, [2, 3]), whole(t), array=array)
    n = whole(steps)

    def body(i, h):
        x = layers.array_read(array, i)
        return i + 1, layers.tanh(layers.matmul(x, w) + layers.matmul(h, u))

    return layers.while_loop(lambda i, h: layers.less_than(i, n), body, [0, h])[1]


def test_a_recurrent_network_has_the_same_gradients_however_it_is_written():
    shapes = {"xs": [3, 2, 3], "h": [2, 4], "w": [3, 4], "u": [4, 4]}
    feed = {name: RNG.normal(size=shape) for name, shape in shapes.items()}
    results = []
    for network in (unrolled, with_static_rnn, with_while_loop):
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            inputs = [data(name, shape) for name, shape in shapes.items()]
            last = network(*inputs, steps=3)
            loss = total(last * last)
            results.append(check(loss, inputs, feed)[0])
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_its_second_derivatives_are_the_same_too():
    shapes = {"xs": [3, 2, 3], "h": [2, 4], "w": [3, 4], "u": [4, 4]}
    feed = {name: RNG.normal(size=shape) / 2 for name, shape in shapes.items()}
    results = []
    for network in (unrolled, with_static_rnn, with_while_loop):
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            inputs = [data(name, shape) for name, shape in shapes.items()]
            last = network(*inputs, steps=3)
            slopes = fluid.gradients(total(last * last), inputs)
            norm = layers.sums([total(slope * slope) for slope in slopes])
            second = fluid.gradients(norm, inputs)
            results.append(fluid.Executor().run(feed=feed, fetch_list=second))
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


# Loops


def test_a_variable_that_is_carried_through_a_loop():
    x, w, n = data("x", [3]), data("w", [3]), data("n", [1], "int64")
    _, y = layers.while_loop(
        lambda i, y: layers.less_than(i, n),
        lambda i, y: (i + 1, y + layers.tanh(y * w)),
        [0, x],
    )
    feeds = [
        {"x": RNG.normal(size=3), "w": RNG.normal(size=3), "n": np.array([trips])}
        for trips in (3, 0, 1, 5)
    ]
    results = check(total(y * y), [x, w], *feeds)
    np.testing.assert_allclose(results[1][0], 2 * feeds[1]["x"], rtol=1e-12)
    np.testing.assert_array_equal(results[1][1], np.zeros(3))


def test_a_variable_that_a_while_changes_in_place():
    x, n = data("x", [2]), data("n", [1], "int64")
    y, i = layers.zeros([2], "float64"), whole(0)
    cond = layers.less_than(i, n)
    with layers.While(cond).block():
        layers.assign(y * y + x, output=y)
        layers.increment(i)
        layers.less_than(i, n, cond=cond)
    check(
        total(y),
        [x],
        *({"x": RNG.normal(size=2) / 2, "n": np.array([trips])} for trips in (4, 0, 2)),
    )


def test_the_classic_loop_over_arrays():
    xs = [data(f"x{k}", [4]) for k in range(3)]
    array = None
    for k, x in enumerate(xs):
        array = layers.array_write(x, whole(k), array=array)
    i, n = whole(0), whole(3)
    memory = layers.array_write(layers.zeros([4], "float64"), i)
    cond = layers.less_than(i, n)
    with layers.While(cond).block():
        both = [layers.array_read(array, i), layers.array_read(memory, i)]
        layers.increment(i)
        layers.array_write(layers.sums(both) * both[0], i, array=memory)
        layers.less_than(i, n, cond=cond)
    loss = total(layers.array_read(memory, i))
    check(loss, xs, {x.name: RNG.normal(size=4) for x in xs})


def test_an_element_that_is_read_twice():
    x = data("x", [2])
    array = layers.array_write(x, whole(0))
    a = layers.array_read(array, whole(0))
    b = layers.array_read(array, whole(0))
    check(total(a * b * a), [x], {"x": RNG.normal(size=2)})


def test_a_variable_that_is_used_twice_in_a_block():
    x, n = data("x", [2, 2]), data("n", [1], "int64")
    _, y = layers.while_loop(
        lambda i, y: layers.less_than(i, n),
        lambda i, y: (i + 1, layers.matmul(y, y) + y * y + layers.matmul(x, x)),
        [0, x],
    )
    check(total(y), [x], {"x": RNG.normal(size=(2, 2)) / 4, "n": np.array([2])})


def test_loops_in_loops():
    x, n = data("x", [2]), data("n", [1], "int64")

    def outer(i, y):
        return i + 1, layers.while_loop(
            lambda j, z: layers.less_than(j, i),
            lambda j, z: (j + 1, z * x + y),
            [0, layers.tanh(y)],
        )[1]

    _, y = layers.while_loop(lambda i, y: layers.less_than(i, n), outer, [0, x])
    check(
        total(y), [x], *({"x": RNG.normal(size=2), "n": np.array([trips])} for trips in (3, 1, 0))
    )


# Branches


def test_a_branch_that_is_not_taken_has_a_zero_gradient():
    x, y, flag = data("x", [3]), data("y", [3]), data("flag", [1], "bool")
    out = layers.cond(flag, lambda: x * x * x, lambda: layers.exp(y))
    values = {"x": RNG.normal(size=3), "y": RNG.normal(size=3)}
    feeds = [values | {"flag": np.array([taken])} for taken in (True, False, False, True)]
    for taken, (dx, dy) in zip(
        (True, False, False, True), check(total(out), [x, y], *feeds), strict=True
    ):
        np.testing.assert_array_equal(dy if taken else dx, np.zeros(3))


def test_a_branch_that_returns_an_outer_variable_or_a_number():
    x, flag = data("x", [3]), data("flag", [1], "bool")
    out = layers.cond(flag, lambda: (x, x * x), lambda: (0.5, x))
    values = {"x": RNG.normal(size=3)}
    feeds = [values | {"flag": np.array([taken])} for taken in (True, False)]
    check(total(out[0] * out[1] * x), [x], *feeds)


@pytest.mark.parametrize("number", [0, 1, 2, 9])
def test_a_branch_of_many(number):
    x, i = data("x", [2]), data("i", [1], "int64")
    out = layers.switch_case(
        i, [lambda: x * 2.0, lambda: x * x, lambda: layers.tanh(x)], lambda: x * x * x
    )
    check(total(out), [x], {"x": RNG.normal(size=2), "i": np.array([number])})


def test_an_outer_variable_that_a_conditional_block_changes():
    x, flag = data("x", [2]), data("flag", [1], "bool")
    y = layers.assign(x * 3.0)
    with layers.ConditionalBlock([flag], True).block():
        layers.assign(y * y, output=y)
    feeds = [{"x": RNG.normal(size=2), "flag": np.array([taken])} for taken in (True, False)]
    check(total(y * x), [x], *feeds)


def test_parameters_that_several_blocks_read():
    x, w, flag = data("x", [2, 3]), data("w", [3, 3]), data("flag", [1], "bool")
    h = layers.matmul(x, w)
    h = layers.cond(flag, lambda: layers.matmul(h, w), lambda: layers.tanh(layers.matmul(x, w)))
    _, h = layers.while_loop(
        lambda i, h: layers.less_than(i, whole(2)),
        lambda i, h: (i + 1, layers.tanh(layers.matmul(h, w))),
        [0, h],
    )
    values = {"x": RNG.normal(size=(2, 3)), "w": RNG.normal(size=(3, 3)) / 2}
    check(total(h), [x, w], *(values | {"flag": np.array([taken])} for taken in (True, False)))


def test_rows_that_go_through_different_blocks():
    x, limit = data("x", [4, 2]), data("limit", [4, 1])
    first = layers.reduce_sum(x, dim=1, keep_dim=True)
    branches = layers.IfElse(layers.less_than(first, limit))
    with branches.true_block():
        rows = branches.input(x)
        branches.output(rows * rows)
    with branches.false_block():
        branches.output(layers.tanh(branches.input(x)))
    (out,) = branches()
    xs = RNG.normal(size=(4, 2))
    check(
        total(out * x),
        [x],
        *({"x": xs, "limit": np.full((4, 1), value)} for value in (0.0, 9.0, -9.0)),
    )


# Recurrences


def test_a_memory_and_what_it_starts_with():
    xs, start, w = data("xs", [4, 2]), data("start", [2]), data("w", [2])
    rnn = layers.StaticRNN()
    with rnn.step():
        x = rnn.step_input(xs)
        before = rnn.memory(init=start)
        after = layers.tanh(before * w + x)
        rnn.update_memory(before, after)
        rnn.output(after * before, x * x)
    first, second = rnn()
    feed = {"xs": RNG.normal(size=(4, 2)), "start": RNG.normal(size=2), "w": RNG.normal(size=2)}
    check(total(first) + total(second * second), [xs, start, w], feed)


def test_a_result_that_nobody_uses():
    xs, w = data("xs", [3, 2]), data("w", [2])
    rnn = layers.StaticRNN()
    with rnn.step():
        x = rnn.step_input(xs)
        before = rnn.memory(shape=[2])
        rnn.update_memory(before, before * w + x)
        rnn.output(before, x * w)
    used, _ = rnn()
    check(total(used), [xs, w], {"xs": RNG.normal(size=(3, 2)), "w": RNG.normal(size=2)})


def test_blocks_that_nest_three_deep():
    """A loop in a branch in a recurrence."""
    xs, w = data("xs", [4, 2]), data("w", [2])
    rnn = layers.StaticRNN()
    with rnn.step():
        x = rnn.step_input(xs)
        before = rnn.memory(shape=[2])
        small = layers.less_than(total(x), layers.zeros([1], "float64"))

        def repeated(x=x):
            return layers.while_loop(
                lambda i, v: layers.less_than(i, whole(3)),
                lambda i, v: (i + 1, layers.tanh(v * w)),
                [0, x],
            )[1]

        after = before * w + layers.cond(small, lambda x=x: x * x, repeated)
        rnn.update_memory(before, after)
        rnn.step_output(after)
    values = np.array([[1.0, 2.0], [-3.0, 1.0], [0.2, 0.3], [-1.0, -1.0]])
    check(total(rnn()), [xs, w], {"xs": values, "w": np.array([0.5, -0.7])})
