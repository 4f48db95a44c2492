"""A small network that is trained, and what its scope holds then."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

import fluidcore as fluid
from fluidcore import layers

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 3))
Y = RNG.normal(size=(24, 1))


def build(optimizer: fluid.optimizer.Optimizer, mean: bool = True, **weight: object):
    """A network of two layers in float64 that the optimizer minimizes; its loss."""
    x = layers.data("x", [3], dtype="float64")
    y = layers.data("y", [1], dtype="float64")
    h = layers.fc(x, 4, act="tanh", param_attr=fluid.ParamAttr("w1", **weight), bias_attr="b1")
    error = layers.square_error_cost(layers.fc(h, 1, param_attr="w2", bias_attr="b2"), y)
    loss = layers.mean(error) if mean else layers.reduce_sum(error)
    optimizer.minimize(loss)
    fluid.default_startup_program().random_seed = 3
    return loss


def held(names: Iterable[str] = ("w1", "b1", "w2", "b2")) -> dict[str, np.ndarray]:
    """Copies of variables of the global scope."""
    scope = fluid.global_scope()
    return {name: np.array(scope.find_var(name).get_tensor()) for name in names}


def run(exe: fluid.Executor, size: int, first: int, count: int) -> None:
    """Runs the default program with batches first, first + 1, ... of a size, in a circle."""
    for batch in range(first, first + count):
        rows = np.arange(batch * size, (batch + 1) * size) % len(X)
        exe.run(feed={"x": X[rows], "y": Y[rows]})


def trained(build_network: Callable[[], object], size: int, count: int) -> dict[str, np.ndarray]:
    """The parameters after some batches, in a program and scope of their own."""
    with (
        fluid.program_guard(fluid.Program(), fluid.Program()),
        fluid.unique_name.guard(),
        fluid.scope_guard(fluid.Scope()),
    ):
        build_network()
        exe = fluid.Executor()
        exe.run(fluid.default_startup_program())
        run(exe, size, 0, count)
        return held()


def assert_same(got: dict[str, np.ndarray], expected: dict[str, np.ndarray], rtol: float) -> None:
    """Whether all arrays agree."""
    assert got.keys() == expected.keys()
    for name in got:
        np.testing.assert_allclose(got[name], expected[name], rtol=rtol, atol=rtol, err_msg=name)
