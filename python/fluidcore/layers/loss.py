"""Losses and metrics."""

from __future__ import annotations

from fluidcore.layers.helper import LayerHelper, atomic, check_variable
from fluidcore.program import Variable


def cross_entropy(
    input: Variable,
    label: Variable,
    soft_label: bool = False,
) -> Variable:
    """Minus the logarithm of the probability of the label.

    Args:
        input: [n, classes], probabilities.
        label: [n, 1] or [n], int64; with soft_label [n, classes], probabilities.
        soft_label: Whether labels are probabilities, which gradients then pass too.

    Returns:
        [n, 1].
    """
    check_variable("cross_entropy", "input", input)
    check_variable("cross_entropy", "label", label)
    helper = LayerHelper("cross_entropy")
    inputs = {"X": input, "Label": label}
    return helper.append("cross_entropy", inputs, {"soft_label": soft_label}, "Y")


def softmax_with_cross_entropy(
    logits: Variable, label: Variable, soft_label: bool = False
) -> Variable:
    """Cross entropy of the softmax of `logits`, stable and in one operator.

    Args:
        logits: [n, classes], any numbers.
        label: [n, 1] or [n], int64; with soft_label [n, classes], probabilities.
        soft_label: Whether labels are probabilities, which gradients then pass too.

    Returns:
        [n, 1].
    """
    check_variable("softmax_with_cross_entropy", "logits", logits)
    check_variable("softmax_with_cross_entropy", "label", label)
    helper = LayerHelper("softmax_with_cross_entropy")
    inputs = {"Logits": logits, "Label": label}
    attrs = {"soft_label": soft_label}
    return helper.append("softmax_with_cross_entropy", inputs, attrs, "Loss")


@atomic
def square_error_cost(input: Variable, label: Variable) -> Variable:
    """(input - label) squared, element by element."""
    check_variable("square_error_cost", "input", input)
    check_variable("square_error_cost", "label", label)
    helper = LayerHelper("square_error_cost")
    difference = helper.append("elementwise_sub", {"X": input, "Y": label})
    return helper.append("square", {"X": difference})


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
