"""Gradients of random programs against differences and against PyTorch, in float64."""

import numpy as np
import pytest
from fluid_programs import INPUTS, build
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_programs import programs, smooth_programs

import fluidcore as fluid
from fluidcore import layers

IN_CI = settings(
    max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
NIGHTLY = settings(IN_CI, max_examples=2000, derandomize=False)


def feeds(counter):
    rng = np.random.default_rng(7)
    values = {name: rng.uniform(-1.2, 1.2, shape) for name, shape in INPUTS.items()}
    return {**values, "t": np.array([counter])}


def fluid_gradients(statements, counter, differentiate=fluid.gradients):
    """The program before, the loss and the gradients of the inputs."""
    main, loss = build(statements)
    forward = main.clone()
    with fluid.program_guard(main, fluid.Program()):
        grads = differentiate(loss, [main.global_block().var(name) for name in INPUTS])
    executor = fluid.Executor(fluid.CPUPlace())
    found = [grad for grad in grads if grad is not None]
    value, *arrays = executor.run(main, feed=feeds(counter), fetch_list=[loss, *found])
    arrays = iter(arrays)
    results = {
        name: np.zeros(INPUTS[name]) if grad is None else next(arrays)
        for name, grad in zip(INPUTS, grads, strict=True)
    }
    return forward, loss.name, value.item(), results


def numerical_gradients(program, loss, counter, step=1e-5):
    executor = fluid.Executor(fluid.CPUPlace())
    given_feeds = feeds(counter)
    result = {}
    for name, shape in INPUTS.items():
        result[name] = np.zeros(shape)
        for index in np.ndindex(*shape):
            ends = []
            for sign in (1, -1):
                moved = given_feeds[name].copy()
                moved[index] += sign * step
                feed = {**given_feeds, name: moved}
                ends.append(executor.run(program, feed=feed, fetch_list=[loss])[0].item())
            result[name][index] = (ends[0] - ends[1]) / (2 * step)
    return result


def check_against_differences(statements, counter):
    forward, loss, _, found = fluid_gradients(statements, counter)
    expected = numerical_gradients(forward, loss, counter)
    for name in INPUTS:
        np.testing.assert_allclose(found[name], expected[name], atol=2e-9, rtol=2e-7, err_msg=name)


def check_against_torch(statements, counter):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    import torch_programs

    def differentiate(loss, inputs):
        callbacks = [fluid.clip.error_clip_callback]
        fluid.append_backward(loss, callbacks=callbacks)
        block = loss.block.program.global_block()
        return [block.find_var(f"{v.name}@GRAD") for v in inputs]

    _, _, value, found = fluid_gradients(statements, counter, differentiate)
    inputs = {
        name: torch.tensor(array, requires_grad=True)
        for name, array in feeds(counter).items()
        if name != "t"
    }
    loss = torch_programs.run(statements, inputs, counter)
    assert value == pytest.approx(loss.item(), abs=1e-12)
    if loss.requires_grad:
        loss.backward()
    for name, tensor in inputs.items():
        expected = np.zeros(INPUTS[name]) if tensor.grad is None else tensor.grad.numpy()
        np.testing.assert_allclose(found[name], expected, atol=1e-12, rtol=1e-9, err_msg=name)


def check_second_order(statements, counter):
    """The gradient of the squared norm of the gradient."""
    main, loss = build(statements)
    with fluid.program_guard(main, fluid.Program()):
        block = main.global_block()
        inputs = [block.var(name) for name in INPUTS]
        first = [grad for grad in fluid.gradients(loss, inputs) if grad is not None]
        if not first:
            return
        squares = [layers.reduce_sum(layers.square(grad)) for grad in first]
        norm = layers.scale(layers.sum(squares), scale=0.5)
        forward = main.clone()
        grads = fluid.gradients(norm, inputs)
    executor = fluid.Executor(fluid.CPUPlace())
    expected = numerical_gradients(forward, norm.name, counter)
    for name, grad in zip(INPUTS, grads, strict=True):
        found = np.zeros(INPUTS[name])
        if grad is not None:
            (found,) = executor.run(main, feed=feeds(counter), fetch_list=[grad])
        np.testing.assert_allclose(found, expected[name], atol=2e-8, rtol=2e-6, err_msg=name)


@IN_CI
@given(smooth_programs, st.integers(0, 3))
def test_gradients_are_those_of_differences(statements, counter):
    check_against_differences(statements, counter)


@IN_CI
@given(programs, st.integers(0, 3))
def test_gradients_are_those_of_pytorch(statements, counter):
    check_against_torch(statements, counter)


@settings(IN_CI, max_examples=30)
@given(smooth_programs, st.integers(0, 3))
def test_gradients_of_gradients_are_those_of_differences(statements, counter):
    check_second_order(statements, counter)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@NIGHTLY
@given(smooth_programs, st.integers(0, 3))
def test_gradients_of_thousands_of_programs_are_those_of_differences(statements, counter):
    check_against_differences(statements, counter)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@NIGHTLY
@given(programs, st.integers(0, 3))
def test_gradients_of_thousands_of_programs_are_those_of_pytorch(statements, counter):
    check_against_torch(statements, counter)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(NIGHTLY, max_examples=500)
@given(smooth_programs, st.integers(0, 3))
def test_second_derivatives_of_many_programs_are_those_of_differences(statements, counter):
    check_second_order(statements, counter)
