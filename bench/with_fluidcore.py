"""The workloads as fluidcore programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

import fluidcore as fluid
from bench import networks_with_fluidcore
from bench.graphs import VALUE, WIDTH, factor
from bench.workloads import CHAIN, Weights, Workload, batch, chain_inputs, weights
from fluidcore import layers

VERSION = fluid.__version__
_CPU = fluid.CPUPlace()


def set_threads(count: int) -> None:
    """Limits the threads of an operator."""
    fluid.set_num_threads(count)


def _optimizer(workload: Workload) -> fluid.optimizer.Optimizer:
    s = workload.settings
    if workload.optimizer == "sgd":
        return fluid.optimizer.SGD(learning_rate=s["lr"])
    if workload.optimizer == "momentum":
        return fluid.optimizer.Momentum(learning_rate=s["lr"], momentum=s["momentum"])
    return fluid.optimizer.Adam(s["lr"], s["beta1"], s["beta2"], s["epsilon"])


Place = fluid.CPUPlace | fluid.CUDAPlace


def _set(scope: fluid.Scope, name: str, value: np.ndarray, place: Place) -> None:
    scope.var(name).get_tensor().set(value, place)


def _loaded(
    startup: fluid.Program,
    values: Weights,
    place: Place,
    communicator: fluid.core.Communicator | None = None,
) -> tuple[fluid.Executor, fluid.Scope]:
    scope = fluid.Scope()
    executor = fluid.Executor(place, communicator=communicator)
    executor.run(startup, scope=scope)
    for name, value in values.items():
        _set(scope, name, value, place)
    return executor, scope


def _logits(workload: Workload, values: Weights) -> fluid.Variable:
    dtype = "int64" if workload.vocabulary else "float32"
    x = layers.data("x", list(workload.example), dtype=dtype)
    network: Callable[[fluid.Variable, Weights], fluid.Variable]
    network = getattr(networks_with_fluidcore, workload.network)
    return network(x, values)


def train_step(
    workload: Workload,
    place: Place = _CPU,
    communicator: fluid.core.Communicator | None = None,
    bucket_mb: float = 25.0,
) -> Callable[[], float]:
    """A function that makes one training step and returns the loss before it; has its `program`.

    Args:
        workload: What to train.
        place: Where.
        communicator: The ranks whose gradients are added up; None: this process trains alone.
        bucket_mb: Of gradients that are added up together.
    """
    examples, labels = batch(workload)
    values = weights(workload)
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        y = layers.data("y", [1], dtype="int64")
        loss = layers.mean(layers.softmax_with_cross_entropy(_logits(workload, values), y))
        optimizer = _optimizer(workload)
        if communicator is not None:
            optimizer = fluid.parallel.DistributedOptimizer(
                optimizer, communicator, bucket_mb=bucket_mb
            )
        optimizer.minimize(loss)
    executor, scope = _loaded(startup, values, place, communicator)
    feed = {"x": examples, "y": labels[:, None]}

    def step() -> float:
        (value,) = executor.run(main, feed=feed, fetch_list=[loss], scope=scope)
        return float(value[0])

    step.program = main  # type: ignore[attr-defined]
    return step


def infer(workload: Workload, size: int) -> Callable[[], np.ndarray]:
    """A function that returns the logits of `size` examples."""
    examples, _ = batch(workload, size)
    values = weights(workload)
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        logits = _logits(workload, values)
    executor, scope = _loaded(startup, values, _CPU)
    inference = main.clone(for_test=True)

    def run() -> np.ndarray:
        (value,) = executor.run(inference, {"x": examples}, [logits], scope=scope)
        return np.asarray(value)

    return run


def count_flops(call: Callable[[], object]) -> int:
    """Floating-point operations of the products and convolutions of a call."""
    with fluid.profiler.profile() as profile:
        call()
    return sum(operator.flops for operator in profile)


def product(extent: int) -> Callable[[], object]:
    """A function that multiplies two square matrices."""
    main, scope = fluid.Program(), fluid.Scope()
    with fluid.program_guard(main), fluid.unique_name.guard():
        block = main.global_block()
        x = block.create_var("x", shape=[extent, extent], dtype="float32", persistable=True)
        result = layers.matmul(x, x)
    _set(scope, "x", np.ones([extent, extent], np.float32), _CPU)
    executor = fluid.Executor(fluid.CPUPlace())
    return lambda: executor.run(main, fetch_list=[result], scope=scope)


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
            _set(scope, variable.name, value, _CPU)
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
