"""Losses over many classes, of which a few are looked at."""

from __future__ import annotations

import math

from fluidcore import core
from fluidcore.base.dtypes import FLOATING
from fluidcore.initializer import Constant
from fluidcore.layers.helper import LayerHelper, atomic, check_size, check_variable
from fluidcore.param_attr import ParamAttrLike
from fluidcore.program import Variable


@atomic
def nce(
    input: Variable,
    label: Variable,
    num_total_classes: int,
    sample_weight: Variable | None = None,
    param_attr: ParamAttrLike = None,
    bias_attr: ParamAttrLike = None,
    num_neg_samples: int | None = None,
    name: str | None = None,
) -> Variable:
    """Noise-contrastive estimation: the true class against classes drawn at random.

    With p = sigmoid(w input + b) of a class and q = num_neg_samples / num_total_classes, the sum of
    -log(p / (p + q)) over the true classes, and of -log(q / (p + q)) over the drawn ones, as Fluid
    had it (after Gutmann and Hyvaerinen 2010). Each run draws others, every class equally likely.

    Args:
        input: [n, width], floating.
        label: [n, true classes], int64 or int32, each in [0, num_total_classes).
        num_total_classes: How many classes there are.
        sample_weight: [n, 1], what each cost counts; None for 1.
        param_attr: Of the weight [num_total_classes, width].
        bias_attr: Of the bias [num_total_classes, 1]; False for none.
        num_neg_samples: How many classes are drawn for each row; None for 10.
        name: Name of the layer; None makes one up.

    Returns:
        [n, 1], dtype of `input`.

    Raises:
        core.InvalidArgument: A shape or a number is not as above.
    """
    check_variable("nce", "input", input)
    check_variable("nce", "label", label)
    if len(input.shape) != 2 or input.shape[1] < 1 or input.dtype not in FLOATING:
        raise core.InvalidArgument(f"nce: input must be floating [n, width], got {input!r}")
    if len(label.shape) != 2 or label.shape[1] < 1:
        raise core.InvalidArgument(f"nce: label must be [n, true classes], got {label!r}")
    check_size("nce", "num_total_classes", num_total_classes)
    drawn = 10 if num_neg_samples is None else num_neg_samples
    check_size("nce", "num_neg_samples", drawn)

    helper = LayerHelper("nce", name)
    trues = label.shape[1]
    attrs = {"low": 0, "high": num_total_classes, "shape": [1, drawn], "dtype": label.dtype}
    noise = helper.append("randint_batch_size_like", {"Input": label}, attrs)
    classes = helper.append("concat", {"X": [label, noise]}, {"axis": 1})
    weight = helper.weight(param_attr, [num_total_classes, input.shape[1]], input.dtype)
    rows = helper.append("lookup_table_v2", {"W": weight, "Ids": classes})
    logits = (rows * helper.append("unsqueeze", {"X": input}, {"axes": [1]})).sum(2)
    bias = helper.create_parameter(
        bias_attr, [num_total_classes, 1], input.dtype, "b", Constant(0.0)
    )
    if bias is not None:
        logits = logits + helper.append("lookup_table_v2", {"W": bias, "Ids": classes}).sum(2)
    share = drawn / num_total_classes
    chosen = helper.append("log", {"X": helper.append("sigmoid", {"X": logits}) + share})
    true = helper.append("logsigmoid", {"X": logits[:, :trues]})
    cost: Variable = (
        chosen.sum(1, keepdims=True) - true.sum(1, keepdims=True) - drawn * math.log(share)
    )
    if sample_weight is not None:
        check_variable("nce", "sample_weight", sample_weight)
        cost = cost * sample_weight
    return cost
