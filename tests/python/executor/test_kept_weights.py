"""Weights that no run writes are kept as the kernels like them, and made anew when they change."""

from collections.abc import Callable

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers
from fluidcore.program import Variable

RNG = np.random.default_rng(0)
VECTORS = RNG.standard_normal((16, 64)).astype(np.float32)
IMAGES = RNG.standard_normal((2, 16, 8, 8)).astype(np.float32)
WEIGHTS = {
    "mul": RNG.standard_normal((64, 48)).astype(np.float32),
    "conv2d": RNG.standard_normal((32, 16, 3, 3)).astype(np.float32),
}
FEEDS = {"mul": {"x": VECTORS}, "conv2d": {"x": IMAGES}}


def layer(kind: str) -> Variable:
    if kind == "mul":
        return layers.fc(layers.data("x", [64]), 48, param_attr="w", bias_attr=False)
    x = layers.data("x", [16, 8, 8])
    return layers.conv2d(x, 32, 3, param_attr=fluid.ParamAttr(name="w"), bias_attr=False)


def expected(kind: str, weights: np.ndarray) -> np.ndarray:
    if kind == "mul":
        return VECTORS.astype(np.float64) @ weights.astype(np.float64)
    windows = np.lib.stride_tricks.sliding_window_view(IMAGES.astype(np.float64), (3, 3), (2, 3))
    return np.einsum("nchwij,mcij->nmhw", windows, weights.astype(np.float64))


def tensor_of(scope: fluid.Scope) -> fluid.Tensor:
    return scope.var("w").get_tensor()


def set_all(scope: fluid.Scope, weights: np.ndarray) -> None:
    tensor_of(scope).set(weights)


def set_elements(scope: fluid.Scope, weights: np.ndarray) -> None:
    for i, value in enumerate(weights.ravel()[:5]):
        tensor_of(scope).set_float_element(i, float(value))
    view = np.asarray(tensor_of(scope))
    view.ravel()[5:] = weights.ravel()[5:]


def write_through_a_view(scope: fluid.Scope, weights: np.ndarray) -> None:
    np.asarray(tensor_of(scope))[:] = weights


def run_a_program(scope: fluid.Scope, weights: np.ndarray) -> None:
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        block = fluid.default_main_program().global_block()
        w = block.create_var("w", shape=weights.shape, dtype="float32", persistable=True)
        new = layers.data("new", list(weights.shape), append_batch_size=False)
        layers.assign(new, output=w)
        fluid.Executor().run(feed={"new": weights}, scope=scope)


CHANGES = [set_all, set_elements, write_through_a_view, run_a_program]


@pytest.mark.parametrize("kind", sorted(WEIGHTS))
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen(kind: str, change: Callable[[fluid.Scope, np.ndarray], None]) -> None:
    y = layer(kind)
    exe, scope = fluid.Executor(), fluid.Scope()
    set_all(scope, WEIGHTS[kind])
    for factor in (1, -2, 3):
        change(scope, np.float32(factor) * WEIGHTS[kind])
        for _ in range(2):
            (got,) = exe.run(feed=FEEDS[kind], fetch_list=[y], scope=scope)
            np.testing.assert_allclose(got, factor * expected(kind, WEIGHTS[kind]), atol=1e-4)


@pytest.mark.parametrize("kind", sorted(WEIGHTS))
def test_a_view_that_is_held_may_be_written_at_any_time(kind: str) -> None:
    y = layer(kind)
    exe, scope = fluid.Executor(), fluid.Scope()
    set_all(scope, WEIGHTS[kind])
    exe.run(feed=FEEDS[kind], fetch_list=[y], scope=scope)
    view = np.asarray(tensor_of(scope))
    for factor in (2, 5):
        view[:] = factor * WEIGHTS[kind]
        (got,) = exe.run(feed=FEEDS[kind], fetch_list=[y], scope=scope)
        np.testing.assert_allclose(got, factor * expected(kind, WEIGHTS[kind]), atol=1e-3)
    view[:] = 7 * WEIGHTS[kind]
    del view
    (got,) = exe.run(feed=FEEDS[kind], fetch_list=[y], scope=scope)
    np.testing.assert_allclose(got, 7 * expected(kind, WEIGHTS[kind]), atol=1e-3)


@pytest.mark.parametrize("kind", sorted(WEIGHTS))
def test_each_scope_has_its_own(kind: str) -> None:
    y = layer(kind)
    exe = fluid.Executor()
    scopes = [fluid.Scope() for _ in range(3)]
    for factor, scope in enumerate(scopes):
        set_all(scope, factor * WEIGHTS[kind])
    for _ in range(2):
        for factor, scope in enumerate(scopes):
            (got,) = exe.run(feed=FEEDS[kind], fetch_list=[y], scope=scope)
            np.testing.assert_allclose(got, factor * expected(kind, WEIGHTS[kind]), atol=1e-4)


def test_training_between_runs_is_seen() -> None:
    y = layer("mul")
    test = fluid.default_main_program().clone(for_test=True)
    fluid.optimizer.SGD(0.1).minimize(layers.mean(layers.square(y)))
    exe, scope = fluid.Executor(), fluid.Scope()
    set_all(scope, WEIGHTS["mul"])
    exe.run(fluid.default_startup_program(), scope=scope)
    for _ in range(3):
        exe.run(feed=FEEDS["mul"], scope=scope)
        weights = np.array(tensor_of(scope))
        for _ in range(2):
            (got,) = exe.run(test, FEEDS["mul"], [y], scope=scope)
            np.testing.assert_allclose(got, expected("mul", weights), atol=1e-4)


def test_a_loop_keeps_what_it_does_not_write() -> None:
    state = layers.assign(layers.data("x", [64]))
    w = layers.create_parameter([64, 64], "float32", attr=fluid.ParamAttr(name="w"))
    i = layers.zeros([1], "int64")
    n = layers.fill_constant([1], "int64", 3)
    cond = layers.less_than(i, n)
    loop = layers.While(cond)
    with loop.block():
        layers.assign(layers.tanh(layers.matmul(state, w)), output=state)
        layers.increment(i)
        layers.less_than(i, n, cond=cond)
    exe, scope = fluid.Executor(), fluid.Scope()
    for seed in (1, 2):
        weights = np.random.default_rng(seed).standard_normal((64, 64)).astype(np.float32)
        set_all(scope, weights)
        wanted = VECTORS.astype(np.float64)
        for _ in range(3):
            wanted = np.tanh(wanted @ weights)
        (got,) = exe.run(feed={"x": VECTORS}, fetch_list=[state], scope=scope)
        np.testing.assert_allclose(got, wanted, atol=1e-3)


def test_the_same_bits_on_any_number_of_threads() -> None:
    y = layer("mul")
    exe, scope = fluid.Executor(), fluid.Scope()
    set_all(scope, WEIGHTS["mul"])
    before = fluid.get_num_threads()
    x = np.random.default_rng(0).standard_normal((640, 64)).astype(np.float32)
    results = []
    for threads in (1, 2, 3):
        fluid.set_num_threads(threads)
        results.append(exe.run(feed={"x": x}, fetch_list=[y], scope=scope)[0])
    fluid.set_num_threads(before)
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)
