"""What a loop only reads is a constant for its kernels: they keep it as they like till it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers
from fluidcore.program import Variable

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((16, 48)).astype(np.float32)
WEIGHTS = (RNG.standard_normal((48, 48)) / 7).astype(np.float32)
STEPS = 3


def parameter() -> Variable:
    return layers.create_parameter([48, 48], "float32", attr=fluid.ParamAttr(name="w"))


@contextmanager
def loop(steps: int = STEPS) -> Iterator[None]:
    i = layers.zeros([1], "int64")
    n = layers.fill_constant([1], "int64", steps)
    cond = layers.less_than(i, n)
    with layers.While(cond).block():
        yield
        layers.increment(i)
        layers.less_than(i, n, cond=cond)


def multiply(state: Variable, w: Variable) -> None:
    layers.assign(layers.matmul(state, w), output=state)


def scale(w: Variable, factor: float) -> None:
    layers.assign(layers.scale(w, factor), output=w)


def written_after_the_loop(state: Variable, w: Variable) -> None:
    with loop():
        multiply(state, w)
    scale(w, 0.5)


def written_between_loops(state: Variable, w: Variable) -> None:
    for _ in range(2):
        with loop():
            multiply(state, w)
        scale(w, 0.5)


def written_in_the_loop(state: Variable, w: Variable) -> None:
    with loop():
        multiply(state, w)
        scale(w, 0.5)


def written_around_an_inner_loop(state: Variable, w: Variable) -> None:
    with loop(2):
        with loop():
            multiply(state, w)
        scale(w, 0.5)


def read_by_an_inner_loop(state: Variable, w: Variable) -> None:
    with loop(2):
        with loop():
            multiply(state, w)
        multiply(state, w)
    scale(w, 0.5)


def a_part_of_a_variable(state: Variable, w: Variable) -> None:
    whole = layers.concat([layers.scale(w, 3.0), w], axis=0)
    with loop():
        multiply(state, layers.slice(whole, [0], [48], [96]))
    scale(w, 0.5)


def run_by_a_branch(state: Variable, w: Variable) -> None:
    one = layers.fill_constant([1], "int64", 1)
    with layers.ConditionalBlock([layers.less_than(one, one + one)], True).block(), loop():
        multiply(state, w)
    scale(w, 0.5)


# The powers of two that each product has beside the weights, in one run.
MODELS: dict[Callable[[Variable, Variable], None], list[int]] = {
    written_after_the_loop: [0, 0, 0],
    written_between_loops: [0, 0, 0, 1, 1, 1],
    written_in_the_loop: [0, 1, 2],
    written_around_an_inner_loop: [0, 0, 0, 1, 1, 1],
    read_by_an_inner_loop: [0] * 8,
    a_part_of_a_variable: [0, 0, 0],
    run_by_a_branch: [0, 0, 0],
}


@pytest.mark.parametrize("model", MODELS)
def test_every_run_sees_the_weights_of_its_time(
    model: Callable[[Variable, Variable], None],
) -> None:
    state = layers.assign(layers.data("x", [48]))
    w = parameter()
    model(state, w)
    exe, scope = fluid.Executor(), fluid.Scope()
    for weights in (WEIGHTS, WEIGHTS.T):
        tensor = scope.var("w").get_tensor()
        tensor.set(np.ascontiguousarray(weights))
        for _ in range(3):
            expected, before = ROWS.astype(np.float64), np.array(tensor).astype(np.float64)
            for power in MODELS[model]:
                expected = expected @ (before * 0.5**power)
            (got,) = exe.run(feed={"x": ROWS}, fetch_list=[state], scope=scope)
            np.testing.assert_allclose(got, expected, atol=1e-5 * np.abs(expected).max())


def trained(is_looped: bool, threads: int) -> list[np.ndarray]:
    """The losses of some steps of a recurrent network, and its weights after them."""
    fluid.set_num_threads(threads)
    x = layers.data("x", [4, 16, 48], append_batch_size=False)
    w = parameter()
    if is_looped:
        rnn = layers.StaticRNN()
        with rnn.step():
            memory = rnn.memory(shape=[-1, 48], batch_ref=x, ref_batch_dim_idx=1)
            state = layers.tanh(rnn.step_input(x) + layers.matmul(memory, w))
            rnn.update_memory(memory, state)
            rnn.step_output(state)
        states = rnn()
        assert isinstance(states, Variable)
    else:
        state, all_states = layers.zeros([16, 48], "float32"), []
        for part in layers.unstack(x, axis=0):
            state = layers.tanh(part + layers.matmul(state, w))
            all_states.append(state)
        states = layers.stack(all_states, axis=0)
    loss = layers.mean(layers.square(states))
    fluid.optimizer.SGD(5.0).minimize(loss)
    exe, scope = fluid.Executor(), fluid.Scope()
    exe.run(fluid.default_startup_program(), scope=scope)
    scope.var("w").get_tensor().set(WEIGHTS)
    feed = {"x": np.sin(np.arange(4 * 16 * 48, dtype=np.float32)).reshape(4, 16, 48)}
    losses = [np.array(exe.run(feed=feed, fetch_list=[loss], scope=scope)[0]) for _ in range(4)]
    return [*losses, np.array(scope.var("w").get_tensor())]


def test_training_changes_the_weights_that_the_next_step_loops_with() -> None:
    before = fluid.get_num_threads()
    results = []
    for is_looped, threads in ((False, 1), (True, 1), (True, 2), (True, 3)):
        with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
            results.append(trained(is_looped, threads))
    fluid.set_num_threads(before)
    unrolled, looped, *others = results
    for value, same in zip(looped, unrolled, strict=True):
        np.testing.assert_allclose(value, same, rtol=1e-5, atol=1e-6)
    for other in others:
        for value, same in zip(other, looped, strict=True):
            np.testing.assert_array_equal(value, same)
