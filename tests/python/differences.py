"""Gradients against central differences, and short words for what tests of loops need."""

import numpy as np

import fluidcore as fluid
from fluidcore import layers


def data(name, shape, dtype="float64"):
    """A variable of known shape that gradients may pass if it is float64."""
    return layers.data(
        name, shape, dtype=dtype, append_batch_size=False, stop_gradient=dtype != "float64"
    )


def whole(value):
    """A constant, int64 [1]."""
    return layers.fill_constant([1], "int64", value)


def total(x):
    """The sum of all elements."""
    return layers.reduce_sum(x)


def loop(n, body):
    """Runs `body(i)` for i from 0 to n - 1 in a While."""
    i = whole(0)
    condition = layers.less_than(i, n)
    with layers.While(condition).block():
        body(i)
        layers.increment(i)
        layers.less_than(i, n, cond=condition)


def differences(executor, loss, feed, name, step=1e-6, program=None):
    """The gradient of the loss with respect to what is fed, number by number."""
    value = feed[name]
    gradient = np.zeros_like(value)
    for i in np.ndindex(*value.shape):
        ends = []
        for sign in (1, -1):
            moved = value.copy()
            moved[i] += sign * step
            fed = feed | {name: moved}
            ends.append(executor.run(program, feed=fed, fetch_list=[loss])[0].item())
        gradient[i] = (ends[0] - ends[1]) / (2 * step)
    return gradient


def check(loss, inputs, *feeds):
    """Compares the gradients of the loss with differences, for each of the feeds in turn."""
    gradients = fluid.gradients(loss, inputs)
    executor = fluid.Executor()
    results = []
    for feed in feeds:
        got = executor.run(feed=feed, fetch_list=gradients)
        for variable, gradient in zip(inputs, got, strict=True):
            expected = differences(executor, loss, feed, variable.name)
            np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-7)
        results.append(got)
    return results


def check_twice(loss, inputs, *feeds):
    """Compares the gradients, and the gradients of their squared norm, with differences."""
    program = fluid.default_main_program()
    forward = program.clone()
    first = fluid.gradients(loss, inputs)
    norm = layers.sums([total(layers.square(g)) for g in first if g is not None])
    once = program.clone()
    second = fluid.gradients(norm, inputs)
    executor = fluid.Executor()
    stages = ((loss, forward, first, 1e-6, 1e-6), (norm, once, second, 1e-5, 1e-4))
    for feed in feeds:
        for target, before, gradients, step, tolerance in stages:
            for variable, gradient in zip(inputs, gradients, strict=True):
                expected = differences(executor, target.name, feed, variable.name, step, before)
                found = np.zeros_like(expected)
                if gradient is not None:
                    (found,) = executor.run(feed=feed, fetch_list=[gradient])
                np.testing.assert_allclose(found, expected, rtol=tolerance, atol=1e-6)
