"""Checks of gradients by fluidcore."""

from __future__ import annotations

from collections.abc import Callable

import fluidcore as fluid
from bench.gradient_check_cases import (
    RESNET_CLASSES,
    STEP,
    ResNetBlock,
    batch,
    inputs,
    resnet_blocks,
)
from bench.with_fluidcore import VERSION, set_threads
from fluidcore import layers
from fluidcore.gradcheck.adapters.operator import operator_target
from fluidcore.gradcheck.adapters.program import program_target
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.pipeline.run import run_check
from fluidcore.gradcheck.report.result import GradCheckReport
from fluidcore.gradcheck.target.target import Array, Target

__all__ = ["VERSION", "check", "set_threads"]

Variables = dict[str, fluid.Variable]

CONFIGS = {
    "differences": GradCheckConfig(epsilon=STEP),
    "error bars": GradCheckConfig(mode="full"),
    "directional": GradCheckConfig(mode="directional"),
    "directional anew": GradCheckConfig(mode="directional"),
    "default": GradCheckConfig(),
}


def check(case: str, mode: str) -> Callable[[], str]:
    """A function that makes a complete check and returns the verdict.

    The program is made before, as the function of the peer is. Its gradient operators are appended,
    and its plans made, in the first call; in every call of a mode that ends in "anew".
    """
    config = CONFIGS[mode]
    make = _operator(case) if case in ("sin", "tanh") else _program(case)
    target = make()

    def run() -> str:
        report: GradCheckReport = run_check(make() if mode.endswith("anew") else target, config)
        return report.verdict.value

    return run


def _operator(case: str) -> Callable[[], Target]:
    values = {"X": inputs(case)["x"]}
    return lambda: operator_target(case, values)


def _program(case: str) -> Callable[[], Target]:
    main, startup, scope = fluid.Program(), fluid.Program(), fluid.Scope()
    values = inputs(case)
    feed: dict[str, Array] = {}
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        if case == "resnet":
            outputs = [_resnet(_image_and_label(feed, case))]
            fluid.Executor(fluid.CPUPlace()).run(startup, scope=scope)
            for name, value in values.items():
                scope.var(name).get_tensor().set(value, fluid.CPUPlace())
        else:
            feed.update(values)
            outputs = _FUNCTIONS[case](_declared(values), feed)
    return lambda: program_target(main, feed, outputs, list(values), scope=scope)


def _declared(values: dict[str, Array], constant: bool = False) -> Variables:
    return {
        name: layers.data(
            name,
            value.shape,
            dtype=value.dtype.name,
            append_batch_size=False,
            stop_gradient=constant,
        )
        for name, value in values.items()
    }


def _image_and_label(feed: dict[str, Array], case: str) -> tuple[fluid.Variable, fluid.Variable]:
    image, label = batch(case)
    given = {"image": image, "label": label[:, None]}
    feed.update(given)
    declared = _declared(given, constant=True)
    return declared["image"], declared["label"]


def _matmul(v: Variables, feed: dict[str, Array]) -> list[fluid.Variable]:
    return [layers.matmul(v["x"], v["y"])]


def _conv2d(v: Variables, feed: dict[str, Array]) -> list[fluid.Variable]:
    block = v["x"].block
    shape = [2, 8, 14, 14]
    out = block.create_var("out", shape=shape, dtype="float64")
    block.append_op("conv2d", {"Input": v["x"], "Filter": v["w"]}, {"Output": out})
    return [out]


def _lstm(v: Variables, feed: dict[str, Array]) -> list[fluid.Variable]:
    product = layers.matmul(v["x"], v["wih"]) + layers.matmul(v["h"], v["whh"])
    gates = layers.elementwise_add(product, v["b"], axis=1)
    i, f, g, o = layers.split(gates, 4, 1)
    c = layers.sigmoid(f) * v["c"] + layers.sigmoid(i) * layers.tanh(g)
    return [layers.sigmoid(o) * layers.tanh(c), c]


def _mlp(v: Variables, feed: dict[str, Array]) -> list[fluid.Variable]:
    x, label = _image_and_label(feed, "mlp")
    for k in range(3):
        x = layers.elementwise_add(layers.matmul(x, v[f"w{k}"]), v[f"b{k}"], axis=1)
        x = layers.tanh(x) if k < 2 else x
    return [layers.mean(layers.softmax_with_cross_entropy(x, label))]


def _softmax(v: Variables, feed: dict[str, Array]) -> list[fluid.Variable]:
    return [layers.softmax(layers.gelu(layers.matmul(v["x"], v["w"])))]


_FUNCTIONS = {
    "matmul": _matmul,
    "conv2d": _conv2d,
    "lstm": _lstm,
    "mlp": _mlp,
    "softmax": _softmax,
}


def _convolution(
    x: fluid.Variable, name: str, channels: int, size: int, stride: int, act: str | None = None
) -> fluid.Variable:
    padding = size // 2
    weight = f"{name}.w"
    x = layers.conv2d(x, channels, size, stride, padding, param_attr=weight, bias_attr=False)
    return layers.batch_norm(x, act, param_attr=f"{name}.scale", bias_attr=f"{name}.shift")


def _residual(x: fluid.Variable, block: ResNetBlock) -> fluid.Variable:
    y = _convolution(x, f"{block.name}.0", block.channels, 3, block.stride, "relu")
    y = _convolution(y, f"{block.name}.1", block.channels, 3, 1)
    if block.changes:
        x = _convolution(x, f"{block.name}.2", block.channels, 1, block.stride)
    return layers.relu(x + y)


def _resnet(image_and_label: tuple[fluid.Variable, fluid.Variable]) -> fluid.Variable:
    x, label = image_and_label
    x = layers.pool2d(_convolution(x, "stem", 64, 7, 2, "relu"), 3, "max", 2, 1)
    for block in resnet_blocks():
        x = _residual(x, block)
    x = layers.pool2d(x, pool_type="avg", global_pooling=True)
    logits = layers.fc(x, RESNET_CLASSES, param_attr="fc.w", bias_attr="fc.b")
    return layers.mean(layers.softmax_with_cross_entropy(logits, label))
