"""Programs with loops, branches and recurrences."""

from __future__ import annotations

import numpy as np

from fluidcore import layers
from fluidcore.backward import gradients
from fluidcore.gradcheck.cases.model import Builder, Model, weighted, whole
from fluidcore.program import Variable


def _steps(m: Model) -> Variable:
    return m.given("steps", np.array([3]))


def _loop(m: Model) -> Variable:
    x, w, n = m.input("x", 3, 2), m.parameter("w", 2), _steps(m)

    def body(i: Variable, h: Variable) -> tuple[Variable, Variable]:
        return i + 1, layers.tanh(h * w + x)

    return weighted(layers.while_loop(lambda i, _: layers.less_than(i, n), body, [whole(0), x])[1])


def _loop_with_branches(m: Model) -> Variable:
    x, w, n = m.input("x", 3, 2), m.parameter("w", 2), _steps(m)

    def body(i: Variable, h: Variable) -> tuple[Variable, Variable]:
        first = layers.less_than(i, whole(1))
        return i + 1, layers.cond(first, lambda: layers.sigmoid(h * w), lambda: h * h + w)

    return weighted(layers.while_loop(lambda i, _: layers.less_than(i, n), body, [whole(0), x])[1])


def _loop_in_loop(m: Model) -> Variable:
    x, w, n = m.input("x", 3, 2), m.parameter("w", 2), m.given("steps", np.array([2]))

    def inner(i: Variable, h: Variable) -> tuple[Variable, Variable]:
        return i + 1, layers.tanh(h * w)

    def outer(i: Variable, h: Variable) -> tuple[Variable, Variable]:
        h = layers.while_loop(lambda j, _: layers.less_than(j, n), inner, [whole(0), h])[1]
        return i + 1, layers.sigmoid(h) + x

    return weighted(layers.while_loop(lambda i, _: layers.less_than(i, n), outer, [whole(0), x])[1])


def _loop_in_place(m: Model) -> Variable:
    h, w, n, i = layers.assign(m.input("x", 3, 2)), m.parameter("w", 2), _steps(m), whole(0)
    condition = layers.less_than(i, n)
    with layers.While(condition).block():
        layers.assign(layers.tanh(h * w), output=h)
        layers.increment(i)
        layers.less_than(i, n, cond=condition)
    return weighted(h)


def _loop_over_arrays(m: Model) -> Variable:
    i, w = whole(0), m.parameter("w", 2)
    first, second = m.input("x0", 3, 2), m.input("x1", 3, 2)
    steps = layers.array_write(second, whole(1), array=layers.array_write(first, i))
    memory = layers.array_write(m.constant(0.5, 3, 2), i)
    condition = layers.less_than(i, whole(2))
    with layers.While(condition).block():
        x, before = layers.array_read(steps, i), layers.array_read(memory, i)
        layers.increment(i)
        layers.array_write(layers.tanh(x * w + before), i, array=memory)
        layers.less_than(i, whole(2), cond=condition)
    return weighted(layers.array_read(memory, i) + layers.array_read(memory, whole(1)))


def _rows_of_loop(m: Model) -> Variable:
    table, words, n = m.parameter("table", 6, 2), m.labels("words", 6, 3), _steps(m)

    def body(i: Variable, h: Variable) -> tuple[Variable, Variable]:
        return i + 1, layers.tanh(h + layers.lookup_table_v2(table, words, is_sparse=True))

    start = [whole(0), m.input("h", 3, 2)]
    end = layers.while_loop(lambda i, _: layers.less_than(i, n), body, start)[1]
    (slope,) = gradients(layers.reduce_sum(end), table)
    assert slope is not None
    return layers.mean(layers.square(layers.selected_rows_to_dense(slope)))


def _branch(m: Model) -> Variable:
    x, w = m.input("x", 3, 2), m.parameter("w", 2)
    yes = m.given("yes", m.data.truths(1))
    return weighted(layers.cond(yes, lambda: layers.exp(x * w), lambda: x - w) + x)


def _switch_case(m: Model) -> Variable:
    x, w = m.input("x", 3, 2), m.parameter("w", 2)
    which = m.labels("which", 3, 1)
    branches = [lambda: layers.tanh(x * w), lambda: layers.square(x), lambda: w + x * 2.0]
    return weighted(layers.switch_case(which, dict(enumerate(branches))))


def _rows(m: Model) -> Variable:
    x = m.input("x", 5, 3)
    branches = layers.IfElse(m.given("mask", np.array([[1], [0], [0], [1], [1]], bool)))
    with branches.true_block():
        branches.output(layers.fc(branches.input(x), 2, param_attr="w", act="tanh"))
    with branches.false_block():
        branches.output(layers.fc(branches.input(x), 2, param_attr="w"))
    return weighted(branches()[0])


def _recurrence(m: Model) -> Variable:
    x, w = m.input("x", 4, 2, 3), m.parameter("w", 3)
    rnn = layers.StaticRNN()
    with rnn.step():
        word = rnn.step_input(x)
        before = rnn.memory(shape=[2, 3])
        after = layers.tanh(word + before * w)
        rnn.update_memory(before, after)
        rnn.step_output(after)
    return _weighted_states(rnn)


def _gru(m: Model) -> Variable:
    x, start = m.input("x", 3, 2, 3), m.input("h0", 2, 4)
    rnn = layers.StaticRNN()
    with rnn.step():
        word, before = rnn.step_input(x), rnn.memory(init=start)
        gates = layers.fc([word, before], 8, act="sigmoid")
        update, reset = layers.split(gates, 2, 1)
        candidate = layers.fc([word, reset * before], 4, act="tanh")
        after = before + update * (candidate - before)
        rnn.update_memory(before, after)
        rnn.step_output(after)
    return _weighted_states(rnn)


def _weighted_states(rnn: layers.StaticRNN) -> Variable:
    states = rnn()
    assert isinstance(states, Variable)
    return weighted(states)


CONTROL_FLOW: dict[str, Builder] = {
    "loop": _loop,
    "loop with branches": _loop_with_branches,
    "loop in loop": _loop_in_loop,
    "loop in place": _loop_in_place,
    "loop over arrays": _loop_over_arrays,
    "rows of a loop": _rows_of_loop,
    "branch": _branch,
    "switch case": _switch_case,
    "rows": _rows,
    "recurrence": _recurrence,
    "gru": _gru,
}
