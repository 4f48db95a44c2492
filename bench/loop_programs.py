"""Loops and recomputation in fluidcore: what `python -m bench --loops` measures."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping

import numpy as np

import fluidcore as fluid
from bench.timing import memory_megabytes, peak_megabytes, time_calls
from fluidcore import layers

SIDE = 256  # rows and columns of what the training loop carries
LAYERS, BATCH, WIDTH = 32, 256, 1024  # of the perceptron
KEPT = {"relu": 1, "gelu": 2}  # activation -> tensors of a layer that its gradient needs

Step = Callable[[fluid.Variable], fluid.Variable]


def measure(what: str, *how: str) -> dict[str, object]:
    """One measurement; the words are those of `bench.loops`."""
    functions: dict[str, Callable[..., dict[str, object]]] = {
        "steps": _steps,
        "memory": _memory,
        "recompute": _recompute,
    }
    return functions[what](*how)


def _loop(first: fluid.Variable, steps: int, step: Step) -> fluid.Variable:
    i, n = layers.zeros([1], "int64"), layers.fill_constant([1], "int64", steps)
    result: fluid.Variable = layers.while_loop(
        lambda i, x: layers.less_than(i, n),
        lambda i, x: (layers.increment(i), step(x)),
        [i, first],
    )[1]
    return result


def _parameter(shape: list[int], value: float) -> fluid.Variable:
    constant = fluid.initializer.Constant(value)
    return layers.create_parameter(shape, default_initializer=constant)


def _runner(
    main: fluid.Program,
    startup: fluid.Program,
    fetches: list[fluid.Variable],
    feed: Mapping[str, np.ndarray] | None = None,
) -> Callable[[], list[np.ndarray]]:
    scope, executor = fluid.Scope(), fluid.Executor()
    executor.run(startup, scope=scope)
    return lambda: executor.run(main, feed=dict(feed or {}), fetch_list=fetches, scope=scope)


def _fetches(loss: fluid.Variable, direction: str) -> list[fluid.Variable]:
    """The loss, and the gradients of the parameters if the direction is backward."""
    if direction == "forward":
        return [loss]
    return [
        loss,
        *(gradient for _, gradient in fluid.append_backward(loss) if gradient is not None),
    ]


def _steps(form: str, direction: str, count: str) -> dict[str, object]:
    """Steps of five products and five sums of [1], in a loop or one after the other."""
    main, startup = fluid.Program(), fluid.Program()
    start = time.perf_counter()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        w, b = _parameter([1], 0.999), _parameter([1], 0.001)

        def step(x: fluid.Variable) -> fluid.Variable:
            for _ in range(5):
                x = layers.elementwise_add(layers.elementwise_mul(x, w), b)
            return x

        x = layers.fill_constant([1], "float32", 2.0)
        if form == "while":
            x = _loop(x, int(count), step)
        else:
            for _ in range(int(count)):
                x = step(x)
        fetches = _fetches(layers.mean(x), direction)
    run = _runner(main, startup, fetches)
    values = [float(value[0]) for value in run()]
    first = {"first_run": time.perf_counter() - start}
    timing = time_calls(run)
    return {"values": values, **first, **timing._asdict(), "peak_mb": peak_megabytes()}


def _memory(direction: str, count: str) -> dict[str, object]:
    """The peak of a loop over tanh(x w + b), all [SIDE, SIDE]."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        w, b = _parameter([SIDE, SIDE], 0.1 / SIDE), _parameter([SIDE], 0.1)

        def step(x: fluid.Variable) -> fluid.Variable:
            return layers.tanh(layers.elementwise_add(layers.matmul(x, w), b))

        first = layers.fill_constant([SIDE, SIDE], "float32", 0.5)
        fetches = _fetches(layers.mean(_loop(first, int(count), step)), direction)
    run = _runner(main, startup, fetches)
    start = time.perf_counter()
    run()
    seconds = time.perf_counter() - start
    return {"median": seconds, "peak_mb": peak_megabytes(), "after_mb": memory_megabytes()}


def _recompute(activation: str, form: str) -> dict[str, object]:
    """Training steps of a perceptron that updates every weight as soon as its gradient is known."""
    run = _perceptron(activation, form, updates=True)
    before = memory_megabytes()
    losses = [float(run()[0][0]) for _ in range(2)]
    peak = peak_megabytes()
    row = {"losses": losses, "peak_mb": peak, "grown_mb": peak - before}
    row |= time_calls(run)._asdict()
    if form != "inference":
        gradients = _perceptron(activation, form, updates=False)()[1:]
        assert all(np.any(gradient) for gradient in gradients)
        row["digest"] = hashlib.sha256(b"".join(g.tobytes() for g in gradients)).hexdigest()
    return row


def _perceptron(activation: str, form: str, *, updates: bool) -> Callable[[], list[np.ndarray]]:
    main, startup = fluid.Program(), fluid.Program()
    startup.random_seed = 1
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        normal = fluid.initializer.Normal(0.0, (2 / WIDTH) ** 0.5)
        x = layers.data("x", [WIDTH])
        outputs = []
        for _ in range(LAYERS):
            x = layers.fc(x, WIDTH, act=activation, param_attr=fluid.ParamAttr(initializer=normal))
            outputs.append(x)
        loss = layers.mean(x)
        fetches = [loss]
        if form != "inference":
            ends = segment_ends(LAYERS, KEPT[activation]) if form == "checkpoints" else []
            found = fluid.append_backward(
                loss,
                callbacks=[_update(main)] if updates else None,
                checkpoints=[outputs[end - 1] for end in ends] or None,
            )
            fetches += (
                [] if updates else [gradient for _, gradient in found if gradient is not None]
            )
    images = np.random.RandomState(0).randn(BATCH, WIDTH).astype(np.float32)
    return _runner(main, startup, fetches, {"x": images})


def _update(main: fluid.Program) -> Callable[[fluid.Block, Mapping[str, str]], None]:
    """A callback that appends the SGD step of each parameter right after its gradient."""
    rate = layers.fill_constant([1], "float32", 1e-3)
    parameters = {parameter.name: parameter for parameter in main.all_parameters()}

    def callback(block: fluid.Block, context: Mapping[str, str]) -> None:
        for name in block.ops[-1].output_arg_names:
            parameter = parameters.get(context.get(name, ""))
            if parameter is not None:
                inputs = {"Param": parameter, "Grad": block.var(name), "LearningRate": rate}
                block.append_op("sgd", inputs, {"ParamOut": parameter})

    return callback


def segment_ends(count: int, kept: int) -> list[int]:
    """Where to cut `count` layers into segments: after how many layers.

    A segment is shorter than the one before it, because one checkpoint more is kept when it is
    calculated again: the peak is the same in all of them.
    """
    budget = next(
        some for some in range(1, count * kept + 1) if sum(_segments(some, kept)) >= count
    )
    ends = []
    end = 0
    for length in _segments(budget, kept):
        end += length
        if end < count:
            ends.append(end)
    return ends


def _segments(budget: int, kept: int) -> list[int]:
    return [(budget - checkpoints) // kept for checkpoints in range(budget - kept + 1)]
