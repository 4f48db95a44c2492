"""Normalizations."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fluidcore import layers
from fluidcore.onnx.reading.node import Node
from fluidcore.onnx.reading.rules.common import (
    Result,
    Rules,
    append,
    binary,
    number_like,
    reshaped,
    scaled,
)
from fluidcore.onnx.reading.rules.random import seed_of
from fluidcore.onnx.reading.rules.reduce import reduced
from fluidcore.program import Parameter, Variable, default_main_program


def batch_norm(node: Node) -> Result:
    """A normalization of channels, with running statistics, or with those of the batch.

    In test mode running statistics stay as they are. In training, that of the model or with
    `is_test` set to False, they are updated in the scope, unless the model does something of its
    own with the new ones.
    """
    x = node.var(0)
    scale, bias, mean, variance = (node.var(i) for i in range(1, 5))
    training = _is_training(node)
    statistics = (mean, variance)
    wanted = any(node.wants(i) for i in (1, 2))
    if (training and wanted) or not all(each.persistable for each in statistics):
        return _composed(node, x, (scale, bias, mean, variance), training)
    flat = len(x.shape) == 1
    block = default_main_program().current_block()
    for statistic in statistics:
        if isinstance(statistic, Parameter):
            statistic.trainable, statistic.stop_gradient = False, True
    names = {
        "Y": block.unique_name("batch_norm"),
        "MeanOut": mean.name,
        "VarianceOut": variance.name,
    }
    inputs = {"X": layers.reshape(x, [-1, 1]) if flat else x, "Scale": scale, "Bias": bias}
    attrs = {
        "is_test": not training,
        "momentum": float(node.attr("momentum")),
        "epsilon": float(node.attr("epsilon")),
    }
    block.append_op("batch_norm", inputs | {"Mean": mean, "Variance": variance}, names, attrs)
    out = block.var(names["Y"])
    return layers.reshape(out, [-1]) if flat else out


def _composed(
    node: Node, x: Variable, given: tuple[Variable, ...], training: bool
) -> list[Variable]:
    """Of statistics that are no parameters, or are results: all of it has a gradient then."""
    scale, bias, mean, variance = given
    momentum, epsilon = float(node.attr("momentum")), float(node.attr("epsilon"))
    others = [i for i in range(len(x.shape)) if i != 1] if len(x.shape) > 1 else []

    def along(each: Variable) -> Variable:
        """[C], to go with X."""
        return reshaped(each, [-1, *[1] * (len(x.shape) - 2)]) if len(x.shape) > 1 else each

    results: list[Variable] = []
    if training:
        now = reduced("reduce_mean", x, others, keep=False)
        away = binary("elementwise_sub", x, along(now))
        spread = reduced("reduce_mean", append("square", {"X": away}), others, keep=False)
        results = [
            binary("elementwise_add", scaled(old, momentum), scaled(new, 1.0 - momentum))
            for old, new in ((mean, now), (variance, spread))
        ]
        mean, variance = now, spread
    shifted = binary("elementwise_add", variance, number_like(variance, epsilon))
    factor = binary("elementwise_div", scale, append("sqrt", {"X": shifted}))
    away = binary("elementwise_sub", x, along(mean))
    out = binary("elementwise_mul", away, along(factor))
    return [binary("elementwise_add", out, along(bias)), *results]


def _is_training(node: Node) -> bool:
    if node.opset >= 14:
        return bool(node.attr("training_mode"))
    if node.opset < 9 and not node.attr("spatial", 1):
        raise node.refuse("attribute spatial must be 1", 0)
    if node.opset < 7 and not node.attr("is_test", 0):
        raise node.refuse("attribute is_test must be 1", 0)
    if any(node.writes(i) for i in range(1, node.num_outputs)):
        raise node.refuse("batch normalization must be in test mode before opset 14", "training")
    return False


def instance_norm(node: Node) -> Result:
    """A normalization of each channel of each example."""
    inputs = {"X": node.var(0), "Scale": node.var(1), "Bias": node.var(2)}
    return append("instance_norm", inputs, {"epsilon": float(node.attr("epsilon"))}, out="Y")


def _rows(node: Node) -> tuple[Variable, dict[str, Variable], int] | None:
    """What normalizes rows: X, the flat scale and bias, the axis; None where they broadcast."""
    x = node.var(0)
    axis = node.axis("axis", len(x.shape))
    row = x.shape[axis:]
    given = {}
    for slot, index in (("Scale", 1), ("Bias", 2)):
        if node.has(index):
            value = node.var(index)
            if not _is_of_row(value.shape, row) or value.dtype != x.dtype:
                return None
            given[slot] = value if len(row) == 1 else reshaped(value, [math.prod(value.shape)])
    return (x, given, axis) if axis else None


def _is_of_row(shape: Sequence[int], row: Sequence[int]) -> bool:
    """Whether there is a factor for each element of a row, open extents of which follow from it."""
    return len(shape) == len(row) and all(
        factors == extent or (extent == -1 and factors > 1)
        for factors, extent in zip(shape, row, strict=True)
    )


def layer_norm(node: Node) -> Result | None:
    """A normalization of rows; with its statistics as results by its definition."""
    found = None if node.wants(1) or node.wants(2) else _rows(node)
    if found is None:
        return None
    x, given, axis = found
    attrs = {"begin_norm_axis": axis, "epsilon": float(node.attr("epsilon"))}
    return append("layer_norm", {"X": x, **given}, attrs, out="Y")


def rms_norm(node: Node) -> Result | None:
    """Rows by the root of their mean square."""
    found = _rows(node)
    if found is None:
        return None
    x, given, axis = found
    attrs = {"begin_norm_axis": axis, "epsilon": float(node.attr("epsilon"))}
    return append("rms_norm", {"X": x, **given}, attrs, out="Y")


def group_norm(node: Node) -> Result | None:
    """A normalization of groups of channels; before opset 21 by its definition."""
    x = node.var(0)
    if node.opset < 21 or node.var(1).dtype != x.dtype:
        return None
    attrs = {"groups": node.attr("num_groups"), "epsilon": float(node.attr("epsilon"))}
    inputs = {"X": x, "Scale": node.var(1), "Bias": node.var(2)}
    return append("group_norm", inputs, attrs, out="Y")


def lrn(node: Node) -> Result:
    """X by a power of the squares of near channels."""
    size = node.attr("size")
    attrs = {
        "n": size,
        "k": float(node.attr("bias")),
        "alpha": float(node.attr("alpha")) / size,
        "beta": float(node.attr("beta")),
    }
    return append("lrn", {"X": node.var(0)}, attrs)


def dropout(node: Node) -> Result:
    """X itself, but in training mode: then some elements are 0, and the others are scaled up."""
    ratio = node.attr("ratio", 0.5)
    if node.opset < 7 and not node.attr("is_test", 0):
        raise node.refuse("attribute is_test must be 1", 0)
    if node.opset >= 12 and node.has(1):
        ratio = node.number(1)
    training = node.opset >= 12 and node.has(2) and bool(node.number(2))
    seed = seed_of(node)
    if not training or ratio == 0:
        if not node.wants(1):
            return node.value(0)
        return [node.value(0), layers.fill_constant(node.known_shape(0), "bool", 1)]
    if not 0 <= ratio < 1:
        raise node.refuse("the ratio must be in [0, 1)", ratio)
    block = default_main_program().current_block()
    names = {slot: block.unique_name("dropout") for slot in ("Out", "Mask")}
    attrs = {"dropout_prob": ratio, "seed": seed, "fix_seed": bool(seed)}
    block.append_op("dropout", {"X": node.var(0)}, names, attrs)
    out, mask = (block.var(name) for name in names.values())
    return [scaled(out, 1.0 / (1.0 - ratio)), layers.cast(mask, "bool")]


RULES: Rules = {
    "BatchNormalization": batch_norm,
    "Dropout": dropout,
    "GroupNormalization": group_norm,
    "InstanceNormalization": instance_norm,
    "LRN": lrn,
    "LayerNormalization": layer_norm,
    "RMSNormalization": rms_norm,
}
