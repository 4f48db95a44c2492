"""The workloads as fluidcore programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

import fluidcore as fluid
from bench.graphs import VALUE, WIDTH, factor
from bench.workloads import CHAIN, Weights, Workload, batch, chain_inputs, weights
from fluidcore import layers

VERSION = fluid.__version__


def set_threads(count: int) -> None:
    """Limits the threads of an operator."""
    fluid.set_num_threads(count)


def _fc(x: fluid.Variable, name: str, size: int, act: str | None = None) -> fluid.Variable:
    return layers.fc(x, size, act=act, param_attr=f"{name}.w", bias_attr=f"{name}.b")


def _conv_pool(x: fluid.Variable, name: str, channels: int, padding: int) -> fluid.Variable:
    x = layers.conv2d(
        x,
        channels,
        5,
        padding=padding,
        act="relu",
        param_attr=f"{name}.w",
        bias_attr=f"{name}.b",
    )
    return layers.pool2d(x, 2, "max", 2)


def _logits(x: fluid.Variable, values: Weights) -> fluid.Variable:
    if "c0.w" in values:
        x = _conv_pool(x, "c0", 6, padding=2)
        x = _conv_pool(x, "c1", 16, padding=0)
    x = _fc(x, "l0", values["l0.w"].shape[1], "relu")
    x = _fc(x, "l1", values["l1.w"].shape[1], "relu")
    return _fc(x, "l2", values["l2.w"].shape[1])


def _optimizer(workload: Workload) -> fluid.optimizer.Optimizer:
    s = workload.settings
    if workload.optimizer == "sgd":
        return fluid.optimizer.SGD(learning_rate=s["lr"])
    if workload.optimizer == "momentum":
        return fluid.optimizer.Momentum(learning_rate=s["lr"], momentum=s["momentum"])
    return fluid.optimizer.Adam(s["lr"], s["beta1"], s["beta2"], s["epsilon"])


def _set(scope: fluid.Scope, name: str, value: np.ndarray) -> None:
    scope.var(name).get_tensor().set(value, fluid.CPUPlace())


def train_step(workload: Workload) -> Callable[[], float]:
    """A function that makes one training step and returns the loss before it."""
    images, labels = batch(workload)
    values = weights(workload)
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        x = layers.data("x", list(workload.image))
        y = layers.data("y", [1], dtype="int64")
        loss = layers.mean(layers.softmax_with_cross_entropy(_logits(x, values), y))
        _optimizer(workload).minimize(loss)
    scope = fluid.Scope()
    executor = fluid.Executor(fluid.CPUPlace())
    executor.run(startup, scope=scope)
    for name, value in values.items():
        _set(scope, name, value)
    feed = {"x": images, "y": labels[:, None]}

    def step() -> float:
        (value,) = executor.run(main, feed=feed, fetch_list=[loss], scope=scope)
        return float(value[0])

    return step


def chain() -> Callable[[], float]:
    """A function that runs 1,000 operators on vectors of four and returns the first element."""
    main, startup = fluid.Program(), fluid.Program()
    scope = fluid.Scope()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        x, factor, summand = (
            main.global_block().create_var(name, shape=[4], dtype="float32", persistable=True)
            for name in ("x", "factor", "summand")
        )
        for variable, value in zip((x, factor, summand), chain_inputs(), strict=True):
            _set(scope, variable.name, value)
        for _ in range(CHAIN // 2):
            x = layers.elementwise_add(layers.elementwise_mul(x, factor), summand)
    executor = fluid.Executor(fluid.CPUPlace())

    def run() -> float:
        (value,) = executor.run(main, fetch_list=[x], scope=scope)
        return float(value[0])

    return run


def _parameter() -> fluid.Variable:
    return layers.create_parameter([WIDTH], default_initializer=fluid.initializer.Constant(VALUE))


def _graph(kind: str, size: int) -> fluid.Variable:
    x = _parameter()
    if kind == "fan-out":
        return layers.sums([layers.scale(x, scale=factor(index)) for index in range(size)])
    if kind == "chain":
        for _ in range(size):
            x = layers.tanh(x)
        return x
    for _ in range(size // 3):
        x = layers.relu(
            layers.elementwise_add(layers.elementwise_mul(x, _parameter()), _parameter())
        )
    return x


def build_graph(kind: str, size: int) -> Iterator[None]:
    """Builds the forward part, then the gradients of all parameters; yields after each."""
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
        loss = layers.mean(_graph(kind, size))
        yield
        assert fluid.append_backward(loss)
        yield
