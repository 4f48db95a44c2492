"""Gradients, of first and second order, of programs that are easily got wrong."""

import numpy as np
import pytest
from differences import check, check_twice, data, differences, loop, total, whole

import fluidcore as fluid
from fluidcore import layers

RNG = np.random.default_rng(5)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def the_same_numbers_whichever_tests_run():
    RNG.bit_generator.state = START


def normal(*shape):
    return RNG.normal(size=shape)


def zeros(*shape):
    return layers.zeros(list(shape), "float64")


# Tensor arrays


def test_an_array_written_in_nested_loops_and_read_in_another():
    x, w = data("x", [2]), data("w", [2])
    array, k = layers.create_array("float64", [2]), whole(0)

    def write(_):
        layers.array_write(layers.tanh(x * w) * layers.cast(k + 1, "float64"), k, array=array)
        layers.increment(k)

    loop(whole(3), lambda _: loop(whole(2), write))
    s = zeros(2)

    def read(i):
        part = layers.array_read(array, i)
        layers.assign(s + part * s * 0.1 + layers.square(part), output=s)

    loop(whole(6), read)
    check_twice(total(s * s), [x, w], {"x": normal(2), "w": normal(2)})


def test_elements_that_are_overwritten_between_reads():
    x, y = data("x", [2]), data("y", [2])
    array = layers.array_write(x * x, whole(0))
    a = layers.array_read(array, whole(0))
    layers.array_write(y * y * a, whole(0), array=array)
    b = layers.array_read(array, whole(0))
    layers.array_write(layers.tanh(b) * x, whole(0), array=array)
    c = layers.array_read(array, whole(0))
    check_twice(total(a * b * c + c * c), [x, y], {"x": normal(2), "y": normal(2)})


def test_one_element_that_a_loop_overwrites_in_each_step():
    x, n = data("x", [2]), data("n", [1], "int64")
    array = layers.array_write(x * 1.0, whole(0))

    def body(_):
        z = layers.array_read(array, whole(0))
        layers.array_write(layers.tanh(z * x) + z * z * 0.1, whole(0), array=array)

    loop(n, body)
    out = layers.array_read(array, whole(0))
    feeds = [{"x": normal(2), "n": np.array([trips])} for trips in (3, 0, 1)]
    check_twice(total(out * out), [x], *feeds)


def test_an_element_that_is_read_twice_in_a_step_and_once_more_after_the_loop():
    x, w = data("x", [2]), data("w", [2])
    array = layers.array_write(x, whole(0))

    def body(i):
        a, b = layers.array_read(array, i), layers.array_read(array, i)
        layers.array_write(layers.tanh(a * b * w) + a, i + 1, array=array)

    loop(whole(3), body)
    again = layers.array_read(array, whole(1))
    loss = total(layers.array_read(array, whole(3)) * again * again)
    check_twice(loss, [x, w], {"x": normal(2), "w": normal(2)})


def test_an_array_with_gaps():
    x = data("x", [2])
    array = layers.array_write(x * x, whole(0))
    layers.array_write(x * 2.0, whole(3), array=array)
    both = [layers.array_read(array, whole(i)) for i in (3, 0)]
    check_twice(total(both[0] * both[1]), [x], {"x": normal(2)})


def test_an_array_that_lives_for_one_step():
    x = data("x", [2])
    y = layers.assign(x * 1.0)

    def body(_):
        array = layers.array_write(y * x, whole(0))
        layers.array_write(layers.tanh(y), whole(1), array=array)
        loop(
            whole(2),
            lambda j: layers.assign(y + layers.array_read(array, j) * 0.5, output=y),
        )

    loop(whole(2), body)
    check_twice(total(y), [x], {"x": normal(2)})


def test_an_array_that_a_branch_in_a_loop_changes():
    x, n = data("x", [2]), data("n", [1], "int64")
    array = layers.create_array("float64", [2])

    def write(i):
        layers.array_write(x * 1.0, i, array=array)

        def square():
            element = layers.array_read(array, i)
            layers.array_write(element * element * x, i, array=array)

        layers.cond(layers.less_than(i, whole(2)), square)

    loop(n, write)
    s = zeros(2)
    loop(n, lambda i: layers.assign(s * x + layers.array_read(array, i), output=s))
    feeds = [{"x": normal(2), "n": np.array([trips])} for trips in (4, 0, 1)]
    check_twice(total(s), [x], *feeds)


def test_an_index_that_changes_after_it_was_used():
    x, i = data("x", [2]), whole(0)
    array = layers.array_write(x * x, i)
    layers.increment(i)
    layers.array_write(x * 3.0, i, array=array)
    a = layers.array_read(array, i)
    layers.increment(i, -1)
    b = layers.array_read(array, i)
    layers.increment(i, 7)
    check_twice(total(a * b * b), [x], {"x": normal(2)})


def test_a_constant_written_over_an_element():
    y = data("y", [2])
    array = layers.array_write(y * y, whole(0))
    before = layers.array_read(array, whole(0))
    layers.array_write(zeros(2), whole(0), array=array)
    check_twice(total(layers.array_read(array, whole(0)) * y + before * y), [y], {"y": normal(2)})


def test_a_constant_beside_an_element():
    y = data("y", [2])
    array = layers.array_write(y * y, whole(0))
    layers.array_write(zeros(2), whole(1), array=array)
    both = [layers.array_read(array, whole(i)) for i in (0, 1)]
    check_twice(total(layers.exp(both[1] + y) * both[0]), [y], {"y": normal(2)})


# Loops


def test_variables_that_change_places_in_a_while():
    x, y, n = data("x", [2]), data("y", [2]), data("n", [1], "int64")
    a, b = layers.assign(x), layers.assign(y)

    def body(_):
        before = layers.assign(a)
        layers.assign(b * x, output=a)
        layers.assign(before + layers.tanh(before), output=b)

    loop(n, body)
    feeds = [{"x": normal(2), "y": normal(2), "n": np.array([trips])} for trips in (3, 0, 1, 2)]
    check_twice(total(a * a * b), [x, y], *feeds)


def test_variables_that_change_places_in_a_while_loop():
    x, y, n = data("x", [2]), data("y", [2]), data("n", [1], "int64")
    _, a, b = layers.while_loop(
        lambda i, a, b: layers.less_than(i, n),
        lambda i, a, b: (i + 1, b, a),
        [0, x * 2.0, y * y],
    )
    feeds = [{"x": normal(2), "y": normal(2), "n": np.array([trips])} for trips in (3, 0, 2)]
    check_twice(total(a * a * b), [x, y], *feeds)


def test_a_number_of_steps_that_depends_on_the_loop_variable_itself():
    x = data("x", [1])
    ten = layers.fill_constant([1], "float64", 10.0)
    (y,) = layers.while_loop(lambda y: layers.less_than(y, ten), lambda y: y * x, [x])
    values = (1.5, 2.1, 12.0, 1.1)
    results = check(total(y), [x], *({"x": np.array([value])} for value in values))
    for value, (gradient,) in zip(values, results, strict=True):
        trips = max(0, int(np.ceil(np.log(10) / np.log(value))) - 1)
        np.testing.assert_allclose(gradient, [(trips + 1) * value**trips], rtol=1e-12)


def test_a_constant_that_a_loop_overwrites():
    x, n = data("x", [2]), data("n", [1], "int64")
    y = zeros(2)
    loop(n, lambda _: layers.assign(x * x, output=y))
    feeds = [{"x": normal(2), "n": np.array([trips])} for trips in (2, 0, 1)]
    check_twice(total(y * x), [x], *feeds)


def test_operators_in_place_in_a_loop():
    x = data("x", [2])
    y = layers.assign(x * 1.0)

    def body(_):
        block = fluid.default_main_program().current_block()
        block.append_op("tanh", {"X": y}, {"Out": y})
        block.append_op("elementwise_mul", {"X": y, "Y": x}, {"Out": y})
        block.append_op("elementwise_mul", {"X": y, "Y": y}, {"Out": y})
        block.append_op("scale", {"X": y}, {"Out": y}, {"scale": 1.5})

    loop(whole(3), body)
    check_twice(total(y), [x], {"x": normal(2)})


def test_counters_of_every_kind_in_a_loop():
    x, limit = data("x", [2]), data("limit", [1])
    i, j = layers.fill_constant([1], "float64", 0.0), whole(5)
    y = layers.assign(x * 1.0)
    condition = layers.less_than(i, limit)
    with layers.While(condition).block():
        layers.assign(y * x + i * y + layers.cast(j, "float64"), output=y)
        layers.increment(i)
        layers.increment(j, 3)
        layers.less_than(i, limit, cond=condition)
    feeds = [{"x": normal(2), "limit": np.array([trips + 0.5])} for trips in (2, 0, -1)]
    check_twice(total(y) * i, [x], *feeds)


def test_a_batch_of_unknown_size():
    x, w = data("x", [-1, 2]), data("w", [2])

    def body(i, y):
        first = layers.less_than(i, whole(1))
        return i + 1, layers.cond(first, lambda: y * w, lambda: layers.tanh(y) * x)

    _, y = layers.while_loop(lambda i, y: layers.less_than(i, whole(3)), body, [0, x])
    check_twice(total(y), [x, w], *({"x": normal(n, 2), "w": normal(2)} for n in (3, 1, 2)))


def test_a_dropout_has_the_same_mask_in_each_step_of_forward_and_backward():
    x = data("x", [50])
    s = zeros(50)

    def body(i):
        layers.assign(s + layers.dropout(x, 0.5) * layers.cast(i + 1, "float64"), output=s)

    loop(whole(4), body)
    gradients = fluid.gradients(total(s), [x])
    values = normal(50)
    forward, gradient = fluid.Executor().run(feed={"x": values}, fetch_list=[s, *gradients])
    np.testing.assert_allclose(forward, gradient * values, rtol=1e-12)
    assert len(np.unique(gradient.round(9))) > 4


def test_gradients_taken_within_a_step():
    """Each step goes down the slope; the result is differentiated through the descent."""
    x = data("x", [2])
    y = layers.assign(x * 1.0)

    def body(_):
        (slope,) = fluid.gradients(layers.tanh(y) * y, [y])
        layers.assign(y - 0.1 * slope, output=y)

    loop(whole(3), body)
    check_twice(total(y * y), [x], {"x": normal(2)})


def test_gradients_of_a_loop_taken_within_a_step():
    """What both gradients keep of the inner loop must not share a name."""
    x, n = data("x", [2]), data("n", [1], "int64")
    y = layers.assign(x * 1.0)

    def body(i):
        z = layers.assign(y)
        loop(i + 1, lambda _: layers.assign(layers.tanh(z * x) + y * 0.1, output=z))
        (slope,) = fluid.gradients(total(z * z), [y])
        layers.assign(y - 0.3 * slope, output=y)

    loop(n, body)
    feeds = ({"x": np.array([0.4, -0.7]), "n": np.array([steps])} for steps in (3, 0, 1))
    check(total(y * y), [x], *feeds)


def test_gradients_of_a_loop_taken_within_a_recurrence_and_within_a_branch():
    x, n, s = data("x", [2]), data("n", [1], "int64"), data("s", [3, 2])

    def slope_at(y, factor):
        z = layers.assign(y)
        loop(n, lambda _: layers.assign(layers.tanh(z * factor), output=z))
        return fluid.gradients(total(z), [y])[0]

    rnn = layers.StaticRNN()
    with rnn.step():
        piece, before = rnn.step_input(s), rnn.memory(init=x)
        slope = slope_at(before, piece)
        rnn.update_memory(before, slope)
        rnn.step_output(slope)
    y = layers.cond(layers.less_than(n, whole(2)), lambda: slope_at(x, x), lambda: x * 1.0)
    values = {"x": np.array([0.4, -0.7]), "s": normal(3, 2)}
    feeds = ({**values, "n": np.array([steps])} for steps in (3, 0, 1))
    check(total(rnn()) + total(y * y), [x, s], *feeds)


def test_gradients_taken_within_a_step_through_an_array_around_the_loop():
    x, n = data("x", [2]), data("n", [1], "int64")
    array, y = layers.array_write(x * x, whole(0)), layers.assign(x * 1.0)

    def body(i):
        z = layers.array_read(array, i)
        layers.array_write(layers.tanh(z * y), i + 1, array=array)
        (slope,) = fluid.gradients(total(layers.array_read(array, i + 1)), [y])
        layers.assign(y - 0.3 * slope, output=y)

    loop(n, body)
    feeds = ({"x": np.array([0.9, -0.2]), "n": np.array([steps])} for steps in (3, 0, 1))
    check_twice(total(y * layers.array_read(array, n)), [x], *feeds)


def test_the_gradient_in_each_step_is_that_of_the_step():
    x = data("x", [2])
    y, s = layers.assign(x * 1.0), zeros(2)

    def body(_):
        (slope,) = fluid.gradients([y * y * y], [y])
        layers.assign(s + slope, output=s)
        layers.assign(y * 0.5, output=y)

    loop(whole(3), body)
    (got,) = fluid.Executor().run(feed={"x": np.array([1.0, 2.0])}, fetch_list=[s])
    np.testing.assert_allclose(got, 3 * np.array([1.0, 4.0]) * (1 + 0.25 + 0.0625), rtol=1e-12)


def test_two_gradients_of_one_loop():
    x = data("x", [2])
    y = layers.assign(x * 1.0)
    loop(whole(3), lambda _: layers.assign(y * x, output=y))
    slopes = [fluid.gradients(total(z), [x])[0] for z in (y, y * y)]
    values = normal(2)
    first, second = fluid.Executor().run(feed={"x": values}, fetch_list=slopes)
    np.testing.assert_allclose(first, 4 * values**3, rtol=1e-12)
    np.testing.assert_allclose(second, 8 * values**7, rtol=1e-12)


def test_the_third_derivative_of_a_loop():
    x = data("x", [1])
    y = layers.assign(x * 1.0)
    loop(whole(3), lambda _: layers.assign(y * x, output=y))
    for _ in range(3):
        (y,) = fluid.gradients(y, [x])
    (got,) = fluid.Executor().run(feed={"x": np.array([1.3])}, fetch_list=[y])
    np.testing.assert_allclose(got, [24 * 1.3], rtol=1e-12)


def test_what_lives_between_runs_and_changes_in_a_loop():
    x = data("x", [2])
    state = layers.create_global_var([2], 0.5, "float64", persistable=True, name="state")
    state.stop_gradient = False
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    loop(whole(2), lambda _: layers.assign(state * x, output=state))
    gradients = fluid.gradients(total(state), [x])
    values, expected = normal(2), np.full(2, 0.5)
    for _ in range(3):
        (got,) = executor.run(feed={"x": values}, fetch_list=gradients)
        np.testing.assert_allclose(got, 2 * expected * values, rtol=1e-12)
        expected = expected * values**2
        now = np.array(fluid.global_scope().find_var("state").get_tensor())
        np.testing.assert_allclose(now, expected, rtol=1e-12)


@pytest.mark.parametrize("inside", [True, False])
def test_a_parameter_that_the_program_itself_overwrites(inside):
    """Its gradient is that of the value at the start of the run."""
    block = fluid.default_main_program().global_block()
    w = block.create_parameter([2], "float64", "w")
    before = w * 3.0
    if inside:
        loop(whole(2), lambda _: layers.assign(w * w, output=w))
    else:
        layers.assign(w * w, output=w)
        layers.assign(w * w, output=w)
    ((_, gradient),) = fluid.append_backward(total(w * before))
    value = np.array([0.9, 1.1])
    fluid.global_scope().var("w").get_tensor().set(value)
    (got,) = fluid.Executor().run(fetch_list=[gradient])
    np.testing.assert_allclose(got, 15 * value**4, rtol=1e-12)


def test_a_carried_variable_that_stops_gradients():
    x, w = data("x", [2]), data("w", [2])
    y, z = layers.assign(x * 1.0), layers.assign(x * 1.0)
    y.stop_gradient = True

    def body(_):
        layers.assign(y * w, output=y)
        layers.assign(z * y + z, output=z)

    loop(whole(2), body)
    dx, dw = fluid.gradients(total(z), [x, w])
    assert dw is None
    feed = {"x": normal(2), "w": normal(2)}
    (got,) = fluid.Executor().run(feed=feed, fetch_list=[dx])
    first = feed["x"] * feed["w"]
    np.testing.assert_allclose(got, (1 + first) * (1 + first * feed["w"]), rtol=1e-12)


def test_a_constant_term_in_a_loop():
    x = data("x", [2])
    y = layers.assign(x * 1.0)
    loop(whole(2), lambda _: layers.assign(y * x + 1.0, output=y))
    check_twice(total(y), [x], {"x": normal(2)})


# Branches


def test_branches_that_change_with_the_value_in_a_loop():
    x, n = data("x", [2]), data("n", [1], "int64")

    def body(i, y):
        negative = layers.less_than(total(y), zeros(1))
        return i + 1, layers.cond(negative, lambda: y * y * 0.3 + x, lambda: y * x - 1.0)

    _, y = layers.while_loop(lambda i, y: layers.less_than(i, n), body, [0, x])
    feeds = [{"x": normal(2), "n": np.array([trips])} for trips in (4, 0, 3)]
    check_twice(total(y), [x], *feeds)


def test_a_constant_in_a_branch_in_a_loop():
    x = data("x", [2])

    def body(i, y):
        first = layers.less_than(i, whole(1))
        return i + 1, layers.cond(first, lambda: y * x, lambda: y * x - 1.0)

    _, y = layers.while_loop(lambda i, y: layers.less_than(i, whole(2)), body, [0, x])
    check_twice(total(y), [x], {"x": normal(2)})


def test_branches_that_write_in_place():
    x, flag = data("x", [2]), data("flag", [1], "bool")
    y = layers.assign(x * 2.0)

    def square():
        layers.assign(y * y, output=y)

    def squash():
        layers.assign(layers.tanh(y), output=y)

    layers.cond(flag, square, squash)
    feeds = [{"x": normal(2), "flag": np.array([taken])} for taken in (True, False, True)]
    check_twice(total(y * x), [x], *feeds)


def test_a_branch_that_overwrites_with_a_constant():
    x, flag = data("x", [2]), data("flag", [1], "bool")
    y = layers.assign(x * x)
    with layers.ConditionalBlock([flag], True).block():
        layers.assign(layers.fill_constant([2], "float64", 3.0), output=y)
    feeds = [{"x": normal(2), "flag": np.array([taken])} for taken in (True, False)]
    check_twice(total(y * x), [x], *feeds)


def test_a_condition_that_is_overwritten_afterwards():
    x, flag = data("x", [2]), data("flag", [1], "bool")
    y, condition = layers.assign(x * x), layers.assign(flag)
    with layers.ConditionalBlock([condition], True).block():
        layers.assign(y * y, output=y)
    layers.assign(layers.logical_not(condition), output=condition)
    feeds = [{"x": normal(2), "flag": np.array([taken])} for taken in (True, False)]
    check_twice(total(y * x), [x], *feeds)


def test_a_variable_that_one_branch_writes_and_another_reads():
    x, flag = data("x", [2]), data("flag", [1], "bool")
    block = fluid.default_main_program().global_block()
    y = block.create_var("y", shape=[2], dtype="float64")
    with layers.ConditionalBlock([flag], True).block():
        layers.assign(x * x, output=y)
    with layers.ConditionalBlock([flag], True).block():
        layers.assign(y * y, output=y)
    z = layers.cond(flag, lambda: y * 1.0, lambda: x * 1.0)
    feeds = [{"x": normal(2), "flag": np.array([taken])} for taken in (True, False)]
    check_twice(total(z), [x], *feeds)


def rows_by_limit(x, limit, if_true, if_false):
    branches = layers.IfElse(layers.less_than(limit, zeros(4, 1)))
    with branches.true_block():
        branches.output(if_true(branches))
    with branches.false_block():
        branches.output(if_false(branches))
    (out,) = branches()
    return out


LIMITS = [np.array(rows).reshape(4, 1) for rows in ([-1.0, 1, 1, 1], [-1.0, -1, 1, 1], [1.0] * 4)]


def test_two_inputs_of_which_the_number_of_rows_changes_from_run_to_run():
    x, y, limit = data("x", [4, 2]), data("y", [4, 2]), data("limit", [4, 1])
    out = rows_by_limit(x, limit, lambda b: b.input(x) * b.input(y), lambda b: b.input(x))
    feed = {"x": normal(4, 2), "y": normal(4, 2)}
    for limits in LIMITS:
        (got,) = fluid.Executor().run(feed=feed | {"limit": limits}, fetch_list=[out])
        expected = np.where(limits < 0, feed["x"] * feed["y"], feed["x"])
        np.testing.assert_allclose(got, expected)
    executor = fluid.Executor()
    for limits in LIMITS:
        executor.run(feed=feed | {"limit": limits}, fetch_list=[out])


def test_rows_twice_differentiated_of_which_the_number_changes_from_run_to_run():
    x, limit = data("x", [4, 2]), data("limit", [4, 1])

    def cube(branches):
        rows = branches.input(x)
        return rows * rows * rows

    out = rows_by_limit(x, limit, cube, lambda b: layers.tanh(b.input(x)))
    feeds = [{"x": normal(4, 2), "limit": limits} for limits in LIMITS]
    check_twice(total(out * x), [x], *feeds)


# Recurrences


def test_memories_that_change_places():
    xs, a0, b0 = data("xs", [3, 2]), data("a0", [2]), data("b0", [2])
    rnn = layers.StaticRNN()
    with rnn.step():
        x, a, b = rnn.step_input(xs), rnn.memory(init=a0), rnn.memory(init=b0)
        rnn.update_memory(a, b)
        rnn.update_memory(b, layers.tanh(a * x))
        rnn.output(a * b, b)
    first, second = rnn()
    feed = {"xs": normal(3, 2), "a0": normal(2), "b0": normal(2)}
    check_twice(total(first * first) + total(second), [xs, a0, b0], feed)


def test_one_variable_in_every_role_of_a_recurrence():
    """A sequence that comes in twice, is read as a whole, and starts two memories."""
    xs = data("xs", [2, 2])
    rnn = layers.StaticRNN()
    with rnn.step():
        x, y = rnn.step_input(xs), rnn.step_input(xs)
        a, b = rnn.memory(init=xs), rnn.memory(init=xs)
        new = layers.tanh(a * x + y + xs * b)
        rnn.update_memory(a, new)
        rnn.update_memory(b, a * 0.5)
        rnn.output(new, new, x)
    first, second, third = rnn()
    check_twice(total(first * second) + total(third * third), [xs], {"xs": normal(2, 2)})


def test_a_memory_that_the_steps_do_not_read():
    xs, start = data("xs", [3, 2]), data("start", [2])
    rnn = layers.StaticRNN()
    with rnn.step():
        x, before = rnn.step_input(xs), rnn.memory(init=start)
        rnn.update_memory(before, layers.tanh(x))
        rnn.step_output(before * 2.0)
    check_twice(total(layers.square(rnn())), [xs, start], {"xs": normal(3, 2), "start": normal(2)})


@pytest.mark.parametrize("overwritten", ["xs", "start"])
def test_a_sequence_or_a_start_that_the_block_overwrites_keeps_its_value_for_the_recurrence(
    overwritten,
):
    given = {"xs": data("given_xs", [3, 2]), "start": data("given_start", [2])}
    xs, start = layers.assign(given["xs"]), layers.assign(given["start"])
    rnn = layers.StaticRNN()
    with rnn.step():
        changed = {"xs": xs, "start": start}[overwritten]
        layers.assign(changed * changed, output=changed)
        x, before = rnn.step_input(xs), rnn.memory(init=start)
        new = layers.tanh(before * x)
        rnn.update_memory(before, new)
        rnn.step_output(new)
    out = rnn()
    feed = {"given_xs": normal(3, 2), "given_start": normal(2)}
    (got,) = fluid.Executor().run(feed=feed, fetch_list=[out])
    state, states = feed["given_start"], []
    for x in feed["given_xs"]:
        state = np.tanh(state * x)
        states.append(state)
    np.testing.assert_allclose(got, states, rtol=1e-12)
    loss = total(out * out) + total(xs) + total(start)
    check_twice(loss, list(given.values()), feed)


def test_a_start_that_is_overwritten_after_the_recurrence():
    xs, given = data("xs", [3, 2]), data("given", [2])
    start = layers.assign(given * 3.0)
    rnn = layers.StaticRNN()
    with rnn.step():
        x, before = rnn.step_input(xs), rnn.memory(init=start)
        new = layers.tanh(before * x)
        rnn.update_memory(before, new)
        rnn.step_output(new)
    layers.assign(start * start, output=start)
    loss = total(layers.square(rnn())) + total(start)
    check_twice(loss, [xs, given], {"xs": normal(3, 2), "given": normal(2)})


def test_a_result_that_is_overwritten_after_it_was_put_out():
    """The value at the end of the step counts."""
    xs, start = data("xs", [3, 2]), data("start", [2])
    rnn = layers.StaticRNN()
    with rnn.step():
        x, before = rnn.step_input(xs), rnn.memory(init=start)
        new = layers.tanh(before * x)
        rnn.update_memory(before, new)
        rnn.step_output(new)
        layers.assign(new * before + x, output=new)
    check_twice(total(layers.square(rnn())), [xs, start], {"xs": normal(3, 2), "start": normal(2)})


def test_an_outer_variable_and_an_array_that_a_recurrence_writes():
    xs, w = data("xs", [3, 2]), data("w", [2])
    s, k = layers.assign(w * w), whole(0)
    array = layers.create_array("float64", [2])
    rnn = layers.StaticRNN()
    with rnn.step():
        x = rnn.step_input(xs)
        layers.assign(s * x + s, output=s)
        layers.array_write(s * x, k, array=array)
        layers.increment(k)
        rnn.step_output(s * w)
    loss = total(layers.square(rnn())) + total(s) + total(layers.array_read(array, whole(1)))
    check_twice(loss, [xs, w], {"xs": normal(3, 2), "w": normal(2)})


def test_sequences_of_any_length():
    xs, start = data("xs", [-1, 2]), data("start", [2])
    rnn = layers.StaticRNN()
    with rnn.step():
        x, before = rnn.step_input(xs), rnn.memory(init=start)
        new = layers.tanh(x * before)
        rnn.update_memory(before, new)
        rnn.step_output(new)
    out = rnn()
    feeds = [{"xs": normal(steps, 2), "start": normal(2)} for steps in (3, 0, 1)]
    check_twice(total(out * out) + total(start), [xs, start], *feeds)


def test_a_recurrence_in_a_recurrence():
    xs = data("xs", [2, 3, 2])
    rnn = layers.StaticRNN()
    with rnn.step():
        x, a = rnn.step_input(xs), rnn.memory(shape=[2])
        inner = layers.StaticRNN()
        with inner.step():
            part, b = inner.step_input(x), inner.memory(init=a)
            new = layers.tanh(b + part * a)
            inner.update_memory(b, new)
            inner.step_output(new)
        last = layers.reduce_sum(inner(), dim=0) * 0.5
        rnn.update_memory(a, last)
        rnn.step_output(last)
    check_twice(total(rnn()), [xs], {"xs": normal(2, 3, 2)})


# Values that are overwritten


def test_a_loss_that_is_overwritten_afterwards_is_differentiated_at_the_end():
    x = data("x", [2])
    loss = total(x * x * x)
    layers.assign(loss * loss, output=loss)
    check_twice(loss, [x], {"x": normal(2)})


def test_the_program_before_gives_the_same_results_afterwards():
    """What backward adds to the blocks of the forward program changes none of its values."""
    x, n = data("x", [2]), data("n", [1], "int64")
    y = layers.assign(x * 1.0)
    loop(n, lambda _: layers.assign(layers.tanh(y * x) + y, output=y))
    loss = total(y)
    program = fluid.default_main_program()
    before = program.clone()
    fluid.gradients(loss, [x])
    feed = {"x": normal(2), "n": np.array([4])}
    executor = fluid.Executor()
    (expected,) = executor.run(before, feed=feed, fetch_list=[loss.name])
    (got,) = executor.run(program, feed=feed, fetch_list=[loss.name])
    assert got.tobytes() == expected.tobytes()
    slope = differences(executor, loss.name, feed, "x", program=program)
    np.testing.assert_allclose(slope, differences(executor, loss.name, feed, "x", program=before))
