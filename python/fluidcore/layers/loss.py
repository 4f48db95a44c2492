"""Losses and metrics."""

from __future__ import annotations

from fluidcore.base.dtypes import DTypeLike, dtype_name
from fluidcore.layers.helper import LayerHelper, atomic, check_variable
from fluidcore.layers.tensor import cast
from fluidcore.program import Variable


def cross_entropy(
    input: Variable,
    label: Variable,
    soft_label: bool = False,
    ignore_index: int = -100,
) -> Variable:
    """Minus the logarithm of the probability of the label.

    Args:
        input: [n, classes], probabilities.
        label: [n, 1] or [n], int64; with soft_label [n, classes], probabilities.
        soft_label: Whether labels are probabilities, which gradients then pass too.
        ignore_index: A label, no probabilities, whose loss and gradient are 0.

    Returns:
        [n, 1]. For weights of classes and their mean: `nll_loss` of log(input).
    """
    check_variable("cross_entropy", "input", input)
    check_variable("cross_entropy", "label", label)
    helper = LayerHelper("cross_entropy")
    inputs = {"X": input, "Label": label}
    attrs = {"soft_label": soft_label, "ignore_index": ignore_index}
    return helper.append("cross_entropy", inputs, attrs, "Y")


def softmax_with_cross_entropy(
    logits: Variable, label: Variable, soft_label: bool = False, ignore_index: int = -100
) -> Variable:
    """Cross entropy of the softmax of `logits`, stable and in one operator.

    Args:
        logits: [n, classes], any numbers.
        label: [n, 1] or [n], int64; with soft_label [n, classes], probabilities.
        soft_label: Whether labels are probabilities, which gradients then pass too.
        ignore_index: A label, no probabilities, whose loss and gradient are 0.

    Returns:
        [n, 1]. For weights of classes and their mean:
        nll_loss(log_softmax(logits), label, weight, reduction="mean").
    """
    check_variable("softmax_with_cross_entropy", "logits", logits)
    check_variable("softmax_with_cross_entropy", "label", label)
    helper = LayerHelper("softmax_with_cross_entropy")
    inputs = {"Logits": logits, "Label": label}
    attrs = {"soft_label": soft_label, "ignore_index": ignore_index}
    return helper.append("softmax_with_cross_entropy", inputs, attrs, "Loss")


def log_loss(
    input: Variable, label: Variable, epsilon: float = 1e-4, name: str | None = None
) -> Variable:
    """-label log(input + epsilon) - (1 - label) log(1 - input + epsilon), element by element.

    Args:
        input: Probabilities, any shape, floating.
        label: 0 or 1, shape and dtype of input.
        epsilon: Keeps the logarithms finite.
        name: Name of the layer; None makes one up.

    Returns:
        Shape of input.
    """
    check_variable("log_loss", "input", input)
    check_variable("log_loss", "label", label)
    inputs = {"Predicted": input, "Labels": label}
    return LayerHelper("log_loss", name).append("log_loss", inputs, {"epsilon": epsilon}, "Loss")


def ctc_loss(
    logits: Variable,
    label: Variable,
    logits_length: Variable | None = None,
    label_length: Variable | None = None,
    blank: int = 0,
) -> Variable:
    """Connectionist temporal classification (Graves et al. 2006): of sequences without alignment.

    Minus the logarithm of the probability that symbols, drawn at each step from the softmax of the
    logits, read as the labels once repetitions are merged and then blanks are left out.

    Args:
        logits: [steps, batch, classes], any numbers.
        label: [batch, labels], int32 or int64: classes, but not `blank`; padded with anything.
        logits_length: [batch], int32 or int64: the steps of each sample; None for all.
        label_length: [batch], int32 or int64: the labels of each sample; None for all.
        blank: The class that is no label.

    Returns:
        [batch, 1]; infinity, with a gradient of 0, where there are too few steps.
    """
    check_variable("ctc_loss", "logits", logits)
    check_variable("ctc_loss", "label", label)
    for argument, value in (("logits_length", logits_length), ("label_length", label_length)):
        if value is not None:
            check_variable("ctc_loss", argument, value)
    lengths = {"LogitsLength": logits_length, "LabelLength": label_length}
    inputs = {"Logits": logits, "Label": label, **lengths}
    return LayerHelper("ctc_loss").append("ctc_loss", inputs, {"blank": blank}, "Loss")


@atomic
def square_error_cost(input: Variable, label: Variable) -> Variable:
    """(input - label) squared, element by element."""
    check_variable("square_error_cost", "input", input)
    check_variable("square_error_cost", "label", label)
    helper = LayerHelper("square_error_cost")
    difference = helper.append("elementwise_sub", {"X": input, "Y": label})
    return helper.append("square", {"X": difference})


def smooth_l1(
    x: Variable,
    y: Variable,
    inside_weight: Variable | None = None,
    outside_weight: Variable | None = None,
    sigma: float | None = None,
) -> Variable:
    """The sum over each row of a parabola of x - y near 0 and a line elsewhere (Girshick 2015).

    Args:
        x: [n, ...], floating.
        y: Shape of x.
        inside_weight: Factors of x - y, shape of x.
        outside_weight: Factors of the terms of the sum, shape of x.
        sigma: The parabola ends at 1 / sigma squared; None for 1.

    Returns:
        [n, 1].
    """
    weights = {"inside_weight": inside_weight, "outside_weight": outside_weight}
    for argument, value in {"x": x, "y": y, **weights}.items():
        if value is not None or argument in ("x", "y"):
            check_variable("smooth_l1", argument, value)
    inputs = {"X": x, "Y": y, "InsideWeight": inside_weight, "OutsideWeight": outside_weight}
    attrs = {"sigma": 1.0 if sigma is None else sigma}
    return LayerHelper("smooth_l1_loss").append("smooth_l1_loss", inputs, attrs)


def cos_sim(X: Variable, Y: Variable) -> Variable:  # noqa: N803 - Fluid's names
    """The cosine of the angle between each row of X and that of Y.

    Args:
        X: [n, ...], floating.
        Y: Shape of X, or one row for all.

    Returns:
        [n, 1].
    """
    check_variable("cos_sim", "X", X)
    check_variable("cos_sim", "Y", Y)
    return LayerHelper("cos_sim").append("cos_sim", {"X": X, "Y": Y})


@atomic
def label_smooth(
    label: Variable,
    prior_dist: Variable | None = None,
    epsilon: float = 0.1,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Variable:
    """Labels that are less sure: (1 - epsilon) label + epsilon prior_dist (Szegedy et al. 2016).

    Args:
        label: [..., classes], distributions over the classes, of any dtype.
        prior_dist: [1, classes]; None for the same probability of all classes.
        epsilon: How much of the prior is mixed in, in [0, 1].
        dtype: Of the result.
        name: Name of the layer; None makes one up.

    Returns:
        Shape of label.
    """
    check_variable("label_smooth", "label", label)
    if prior_dist is not None:
        check_variable("label_smooth", "prior_dist", prior_dist)
    soft = label if label.dtype == dtype_name(dtype) else cast(label, dtype)
    inputs = {"X": soft, "PriorDist": prior_dist}
    return LayerHelper("label_smooth", name).append("label_smooth", inputs, {"epsilon": epsilon})


def topk(
    input: Variable,
    k: int,
    name: str | None = None,
) -> tuple[Variable, Variable]:
    """The k largest elements of each row.

    Args:
        input: [..., n].
        k: How many.
        name: Name of the layer; None makes one up.

    Returns:
        Values [..., k], largest first, and their positions [..., k], int64. The gradient of the
        values goes to the elements at these positions.
    """
    check_variable("topk", "input", input)
    helper = LayerHelper("top_k", name)
    values, indices = helper.temporary(), helper.temporary()
    outputs = {"Out": values, "Indices": indices}
    helper.block.append_op("top_k", {"X": input}, outputs, {"k": k})
    return helper.block.var(values), helper.block.var(indices)


@atomic
def accuracy(
    input: Variable,
    label: Variable,
    k: int = 1,
    correct: Variable | None = None,
    total: Variable | None = None,
) -> Variable:
    """The share of rows whose label is among the k largest elements.

    Args:
        input: [n, classes], scores.
        label: [n, 1] or [n], int64.
        k: How many of the largest elements count.
        correct: Receives the number of correct rows, int32 [1].
        total: Receives n, int32 [1].

    Returns:
        [1], float32.
    """
    check_variable("accuracy", "label", label)
    values, indices = topk(input, k)
    helper = LayerHelper("accuracy")
    out = helper.temporary()
    helper.block.append_op(
        "accuracy",
        {"Out": values, "Indices": indices, "Label": label},
        {
            "Accuracy": out,
            "Correct": helper.temporary() if correct is None else correct,
            "Total": helper.temporary() if total is None else total,
        },
    )
    return helper.block.var(out)
