"""Outputs that are in the memory of inputs: nobody can tell, but by what a plan needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers


def results(
    monkeypatch: pytest.MonkeyPatch, feed: dict[str, np.ndarray], fetches: list[Any]
) -> Iterator[list[np.ndarray]]:
    """Without views, and with them in two runs of one plan."""
    monkeypatch.setenv("FLUIDCORE_PASSES", "-views")
    yield fluid.Executor().run(feed=feed, fetch_list=fetches)
    monkeypatch.delenv("FLUIDCORE_PASSES")
    exe = fluid.Executor()
    yield exe.run(feed=feed, fetch_list=fetches)
    yield exe.run(feed={name: array.copy() for name, array in feed.items()}, fetch_list=fetches)


def check_the_same(
    monkeypatch: pytest.MonkeyPatch, feed: dict[str, np.ndarray], fetches: list[Any]
) -> list[np.ndarray]:
    first, *others = results(monkeypatch, feed, fetches)
    for other in others:
        for ours, theirs in zip(first, other, strict=True):
            assert ours.tobytes() == theirs.tobytes()
    return first


def steps(fetches: list[Any], feed: dict[str, np.ndarray]) -> str:
    return fluid.Executor().plan(feed=feed, fetch_list=fetches)


X = np.arange(12, dtype=np.float32).reshape(3, 4)


def data() -> fluid.Variable:
    return layers.data("x", [3, 4], append_batch_size=False, stop_gradient=False)


def test_a_reshape_is_no_step_and_needs_no_memory() -> None:
    x = data()
    wide = layers.matmul(x, x, transpose_y=True)
    y = layers.matmul(
        layers.reshape(layers.unsqueeze(wide, [0]), [1, 9]), layers.ones([9, 2], "float32")
    )
    text = steps([y], {"x": X})
    assert "reshape" not in text
    assert "unsqueeze" not in text
    lines = text.splitlines()
    assert lines[-1] == f"temporaries: {64 + 128} bytes"


def test_elementwise_steps_around_a_reshape_run_together() -> None:
    x = data()
    y = layers.scale(layers.relu(layers.reshape(layers.scale(x, 2.0), [12])), 3.0)
    assert "  scale + relu + scale: 3 from " in steps([y], {"x": X})


def test_the_gradient_of_a_bias_leaves_the_other_one_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = data()
    bias = layers.create_parameter([4], "float32", name="bias")
    out = layers.reduce_sum(layers.square(layers.elementwise_add(layers.tanh(x), bias)))
    gradients = fluid.gradients(out, [x, bias])
    fluid.Executor().run(fluid.default_startup_program())
    check_the_same(monkeypatch, {"x": X}, gradients)


def test_both_operands_of_a_sum_may_have_one_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    x = data()
    left, right = layers.scale(x, 2.0), layers.scale(x, 3.0)
    gradients = fluid.gradients(layers.square(left + right), [x, left, right])
    _, of_left, of_right = check_the_same(monkeypatch, {"x": X}, gradients)
    np.testing.assert_array_equal(of_left, of_right)


def scale_in_place(x: fluid.Variable, number: float) -> None:
    x.block.append_op("scale", inputs={"X": x}, outputs={"Out": x}, attrs={"scale": number})


def test_a_variable_that_is_overwritten_leaves_its_view_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = layers.scale(data(), 1.0)
    before = layers.reshape(x, [4, 3])
    scale_in_place(x, 100.0)
    after = layers.reshape(x, [2, 6])
    kept, changed, now = check_the_same(monkeypatch, {"x": X}, [before, after, x])
    np.testing.assert_array_equal(kept.ravel(), X.ravel())
    np.testing.assert_array_equal(changed.ravel(), X.ravel() * 100)
    np.testing.assert_array_equal(now, X * 100)


def test_a_view_that_is_overwritten_leaves_the_variable_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = layers.scale(data(), 1.0)
    view = layers.reshape(x, [4, 3])
    scale_in_place(view, 100.0)
    kept, changed = check_the_same(monkeypatch, {"x": X}, [x * 1.0, view])
    np.testing.assert_array_equal(kept, X)
    np.testing.assert_array_equal(changed.ravel(), X.ravel() * 100)


def test_a_copy_stays_what_it_was_when_a_loop_writes_the_original(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = layers.scale(data(), 1.0)
    before = layers.assign(x)
    i = layers.fill_constant([1], "int64", 0)
    n = layers.fill_constant([1], "int64", 3)
    cond = layers.less_than(i, n)
    loop = layers.While(cond)
    with loop.block():
        inside = layers.reshape(x, [4, 3])
        layers.assign(layers.reshape(inside * 2.0, [3, 4]), x)
        layers.increment(i, 1)
        layers.less_than(i, n, cond=cond)
    later = layers.fill_constant([3, 4], "float32", 7.0)  # may be where an old value was
    kept, last, _ = check_the_same(monkeypatch, {"x": X}, [before, x, later])
    np.testing.assert_array_equal(kept, X)
    np.testing.assert_array_equal(last, X * 8)


def test_a_copy_in_a_loop_stays_what_it_was_in_its_step(monkeypatch: pytest.MonkeyPatch) -> None:
    x = data()

    def body(value: fluid.Variable, i: fluid.Variable) -> tuple[fluid.Variable, fluid.Variable]:
        old = layers.assign(value)
        new = value * 2.0
        return new + old, i + 1

    three = layers.fill_constant([1], "int64", 3)
    value, _ = layers.while_loop(lambda _, i: i < three, body, [x, 0])
    (result,) = check_the_same(monkeypatch, {"x": X}, [value])
    np.testing.assert_array_equal(result, X * 27)


def test_fed_and_fetched_arrays_are_never_one(monkeypatch: pytest.MonkeyPatch) -> None:
    x = data()
    y = layers.reshape(x, [12])
    fed = X.copy()
    for result, again in results(monkeypatch, {"x": fed}, [y, layers.assign(x)]):
        result[...] = -1
        again[...] = -1
        np.testing.assert_array_equal(fed, X)


def test_a_parameter_that_is_reshaped_may_change_between_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    weight = layers.create_parameter([12], "float32", name="weight")
    y = layers.matmul(data(), layers.reshape(weight, [4, 3]))
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    scope = fluid.global_scope()
    for factor in (1.0, 1.0, 2.0):
        value = factor * np.arange(12, dtype=np.float32)
        scope.find_var("weight").get_tensor().set(value, fluid.CPUPlace())
        (result,) = exe.run(feed={"x": X}, fetch_list=[y])
        np.testing.assert_allclose(result, X @ value.reshape(4, 3))
    check_the_same(monkeypatch, {"x": X}, [y])


def test_an_updated_parameter_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    weight = layers.create_parameter([12], "float32", name="weight")
    before = layers.assign(weight)
    layers.assign(weight * 2.0, weight)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    tensor = fluid.global_scope().find_var("weight").get_tensor()
    for passes in ("-views", ""):
        monkeypatch.setenv("FLUIDCORE_PASSES", passes)
        tensor.set(np.ones(12, np.float32), fluid.CPUPlace())
        (result,) = fluid.Executor().run(fetch_list=[before])
        np.testing.assert_array_equal(result, np.ones(12))
        np.testing.assert_array_equal(np.array(tensor), np.full(12, 2))


def recurrence(*, swaps: bool = False, twice: bool = False, bends: bool = False) -> list[Any]:
    """Both states in every step, and the gradients of a loss."""
    x = layers.data("steps", [5, 2, 3], append_batch_size=False, stop_gradient=False)
    first = layers.data("first", [2, 3], append_batch_size=False, stop_gradient=False)
    rnn = layers.StaticRNN()
    with rnn.step():
        word = rnn.step_input(x)
        a, b = rnn.memory(init=first), rnn.memory(init=first)
        new_a = layers.tanh(word * a + b)
        new_b = layers.sigmoid(new_a * word)
        if bends:
            new_b = layers.reshape(layers.reshape(new_b, [6]), [2, 3])
        rnn.update_memory(a, b if swaps else new_a)
        rnn.update_memory(b, new_a if swaps else new_b)
        rnn.output(new_a, new_a if twice else new_b)
    outputs = rnn()
    loss = layers.reduce_sum(outputs[0] * outputs[1] * outputs[0])
    return [*outputs, *fluid.gradients(loss, [x, first])]


STEPS = {
    "steps": np.linspace(-1.0, 2.0, 30, dtype=np.float32).reshape(5, 2, 3),
    "first": np.linspace(0.5, 1.0, 6, dtype=np.float32).reshape(2, 3),
}


@pytest.mark.parametrize("kind", ["plain", "swaps", "twice", "bends"])
def test_the_states_and_outputs_of_steps_are_calculated_where_they_stay(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetches = recurrence(**{} if kind == "plain" else {kind: True})
    check_the_same(monkeypatch, STEPS, fetches)
    text = steps(fetches, STEPS)
    monkeypatch.setenv("FLUIDCORE_PASSES", "-views")
    assert temporaries(text) < temporaries(steps(fetches, STEPS))


def temporaries(text: str) -> int:
    return int(text.splitlines()[-1].split()[1])


def test_the_history_of_a_loop_stays_what_it_was_when_a_step_overwrites_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = data()

    def body(value: fluid.Variable, i: fluid.Variable) -> tuple[fluid.Variable, fluid.Variable]:
        scaled = layers.tanh(value)
        product = scaled * scaled  # its gradient needs them as they are here
        scale_in_place(scaled, 0.5)
        return product + scaled, i + 1

    three = layers.fill_constant([1], "int64", 3)
    value, _ = layers.while_loop(lambda _, i: i < three, body, [x, 0])
    loss = layers.reduce_sum(value)
    (gradient,) = check_the_same(monkeypatch, {"x": X}, fluid.gradients(loss, x))
    assert np.abs(gradient).max() > 0


def test_a_value_may_be_in_two_histories(monkeypatch: pytest.MonkeyPatch) -> None:
    x = data()
    arrays = [layers.create_array("float32") for _ in range(2)]
    block = fluid.default_main_program().global_block()
    y = layers.tanh(x)
    for array in arrays:
        block.append_op("push_to_array", {"X": y, "Array": array}, {"ArrayOut": array})
    out = [block.create_var(name=f"out{k}", shape=[3, 4], dtype="float32") for k in range(2)]
    for k, array in enumerate(arrays):
        block.append_op("pop_from_array", {"Array": array}, {"Out": out[k], "ArrayOut": array})
    found = check_the_same(monkeypatch, {"x": X}, [*out, y])
    for array in found:
        np.testing.assert_allclose(array, np.tanh(X), rtol=1e-6)


def test_an_element_that_was_taken_out_outlives_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = data()
    array = layers.create_array("float32")
    block = fluid.default_main_program().global_block()

    def push(value: fluid.Variable) -> None:
        block.append_op("push_to_array", {"X": value, "Array": array}, {"ArrayOut": array})

    def pop(name: str) -> fluid.Variable:
        out = block.create_var(name=name, shape=[3, 4], dtype="float32")
        block.append_op("pop_from_array", {"Array": array}, {"Out": out, "ArrayOut": array})
        return out

    push(layers.scale(x, 2.0))
    first = pop("popped_first")
    push(layers.scale(x, 3.0))
    second = pop("popped_second")
    found = check_the_same(monkeypatch, {"x": X}, [first, second])
    np.testing.assert_array_equal(found[0], 2 * X)
    np.testing.assert_array_equal(found[1], 3 * X)


def test_parts_along_the_first_axis_need_no_memory() -> None:
    x = data()
    wide = layers.matmul(x, x, transpose_y=True)
    ones = layers.ones([3, 2], "float32")
    one, two = layers.split(wide, [1, 2], dim=0)
    rows = layers.unstack(layers.split(wide, 3, dim=0)[1], axis=0)
    text = steps([layers.matmul(y, ones) for y in (one, two, *rows)], {"x": X})
    assert "split" not in text
    assert "unstack" not in text


def test_parts_along_another_axis_are_copied_where_they_are_not_in_one_piece() -> None:
    x = data()
    wide = layers.matmul(x, x, transpose_y=True)
    columns, _ = layers.split(wide, [1, 2], dim=1)
    assert "  split: " in steps([layers.matmul(wide, columns)], {"x": X})
    row = layers.reshape(wide, [1, 9])
    parts = layers.split(row, [4, 5], dim=1)
    assert "split" not in steps([layers.matmul(parts[1], layers.ones([5, 1], "float32"))], {"x": X})


def test_gradients_of_what_was_put_together_along_the_first_axis_need_no_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = data()
    v = layers.data("v", [6, 4], append_batch_size=False)
    w = layers.data("w", [2, 3, 4], append_batch_size=False)
    parts = [layers.scale(x, 2.0), layers.scale(x, 3.0)]
    joined = layers.concat(parts, axis=0)
    stacked = layers.stack(parts, axis=0)
    gradients = fluid.gradients(joined, parts, v * 1.0) + fluid.gradients(stacked, parts, w * 1.0)
    feed = {
        "x": X,
        "v": np.arange(24, dtype=np.float32).reshape(6, 4),
        "w": np.arange(24, 48, dtype=np.float32).reshape(2, 3, 4),
    }
    text = steps([layers.matmul(gradient, x, transpose_y=True) for gradient in gradients], feed)
    assert "_grad" not in text
    found = check_the_same(monkeypatch, feed, gradients)
    np.testing.assert_array_equal(np.concatenate(found).ravel(), np.arange(48))


def test_steps_on_a_part_wait_for_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    x = layers.data("x", [2, 100_000], append_batch_size=False)
    whole = layers.scale(x, 2.0)  # by threads, in tiles
    one, two = layers.split(whole, 2, dim=0)
    late = layers.scale(layers.relu(two), 3.0)
    feed = {"x": np.arange(200_000, dtype=np.float32).reshape(2, -1)}
    found = check_the_same(monkeypatch, feed, [late, layers.scale(one, 5.0)])
    np.testing.assert_array_equal(found[0], feed["x"][1:] * 6)
    np.testing.assert_array_equal(found[1], feed["x"][:1] * 10)
    text = steps([late], feed)
    assert "  relu + scale: " in text


def test_parts_of_parts_are_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    weight = layers.create_parameter([4, 2, 3], "float32", name="weight")
    fluid.Executor().run(fluid.default_startup_program())
    value = np.arange(24, dtype=np.float32).reshape(4, 2, 3)
    fluid.global_scope().find_var("weight").get_tensor().set(value, fluid.CPUPlace())
    x = layers.data("x", [4, 2, 3], append_batch_size=False)
    found = []
    for whole in (weight, x, layers.scale(x, 1.0)):
        _, last = layers.split(whole, [1, 3], dim=0)
        _, row, _ = layers.unstack(last, axis=0)
        second = layers.unstack(layers.reshape(row, [3, 2]), axis=0)[1]
        found.append(layers.scale(second, 2.0))
    for result in check_the_same(monkeypatch, {"x": value}, found):
        np.testing.assert_array_equal(result, 2 * value[2].reshape(3, 2)[1])


def test_a_part_that_is_overwritten_leaves_the_whole_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = layers.scale(data(), 1.0)
    one, two = layers.split(x, [1, 2], dim=0)
    scale_in_place(two, 100.0)
    whole, first, changed = check_the_same(monkeypatch, {"x": X}, [x * 1.0, one, two])
    np.testing.assert_array_equal(whole, X)
    np.testing.assert_array_equal(first, X[:1])
    np.testing.assert_array_equal(changed, X[1:] * 100)


def test_parts_that_live_in_the_scope_are_copied_and_others_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = data()
    one, two = layers.split(layers.scale(x, 2.0), [1, 2], dim=0)
    one.persistable = True
    (result,) = check_the_same(monkeypatch, {"x": X}, [layers.scale(two, 2.0)])
    np.testing.assert_array_equal(result, X[1:] * 4)
    kept = fluid.global_scope().find_var(one.name).get_tensor()
    np.testing.assert_array_equal(np.asarray(kept), X[:1] * 2)


def test_each_step_of_a_loop_sees_its_own_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    x = data()

    def body(value: fluid.Variable, i: fluid.Variable) -> tuple[fluid.Variable, fluid.Variable]:
        one, two = layers.split(value, [1, 2], dim=0)
        return layers.concat([two * 2.0, one], axis=0), i + 1

    two = layers.fill_constant([1], "int64", 2)
    value, _ = layers.while_loop(lambda _, i: i < two, body, [x, 0])
    (result,) = check_the_same(monkeypatch, {"x": X}, [value])
    np.testing.assert_array_equal(result, np.stack([X[2] * 4, X[0] * 2, X[1] * 2]))


def test_parts_of_nothing_are_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    x = layers.data("x", [-1, 4], append_batch_size=False)
    one, two = layers.split(layers.scale(x, 2.0), [0, 3], dim=0)
    none, all_of_it = check_the_same(monkeypatch, {"x": X}, [one * 1.0, two * 1.0])
    assert none.shape == (0, 4)
    np.testing.assert_array_equal(all_of_it, X * 2)
