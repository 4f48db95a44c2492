"""Losses and similarities that are made of several operators."""

from __future__ import annotations

import math
from typing import SupportsFloat

from fluidcore import core
from fluidcore.base.checks import check_number
from fluidcore.layers.helper import LayerHelper, atomic, check_variable
from fluidcore.program import Variable


@atomic
def bce_with_logits(
    x: Variable,
    label: Variable,
    weight: Variable | None = None,
    pos_weight: Variable | None = None,
    name: str | None = None,
) -> Variable:
    """Binary cross entropy of sigmoid(x), stable, element by element.

    Weight * (-pos_weight * label * log(p) - (1 - label) * log(1 - p)) with p = sigmoid(x).

    Args:
        x: Logits, any shape, floating.
        label: Probabilities, shape of x.
        weight: What each element counts, of a shape that broadcasts to x; None for 1.
        pos_weight: What label 1 counts, of a shape that broadcasts to x, for example [classes];
            None for 1.
        name: Name of the layer; None makes one up.

    Returns:
        Shape of x.
    """
    given = {"x": x, "label": label, "weight": weight, "pos_weight": pos_weight}
    for argument, value in given.items():
        if value is not None or argument in ("x", "label"):
            check_variable("bce_with_logits", argument, value)
    helper = LayerHelper("bce_with_logits", name)
    loss = helper.append("sigmoid_cross_entropy_with_logits", {"X": x, "Label": label})
    if pos_weight is not None:
        more = label * (pos_weight - 1.0)
        loss = loss - more * helper.append("logsigmoid", {"X": x})
    return loss if weight is None else loss * weight


@atomic
def cosine_similarity(
    x: Variable, y: Variable, axis: int = 1, eps: float = 1e-8, name: str | None = None
) -> Variable:
    """The cosine of the angle between vectors along one dimension; 0 where one of them is 0.

    Args:
        x: Rank 1 or more, floating.
        y: A shape that broadcasts with x.
        axis: The dimension of the vectors; negative counts from the end.
        eps: The least length that is divided by; its square must be above 0 in the dtype of x.
        name: Name of the layer; None makes one up.

    Returns:
        The broadcast shape without `axis`.
    """
    check_variable("cosine_similarity", "x", x)
    check_variable("cosine_similarity", "y", y)
    least = _above_zero("cosine_similarity: eps", eps)
    helper = LayerHelper("cosine_similarity", name)
    product = x * y
    rank = max(len(product.shape), 1)
    if not -rank <= axis < rank:
        raise core.InvalidArgument(
            f"cosine_similarity: axis must be in [{-rank}, {rank}) for an input of rank "
            f"{len(product.shape)}, got {axis}"
        )
    # Dimensions that are broadcast in front of x or y are not there yet.
    from_end = axis if axis < 0 else axis - len(product.shape)

    def total(value: Variable) -> Variable:
        return helper.append("reduce_sum", {"X": value}, {"dim": [from_end]})

    def length(value: Variable) -> Variable:
        squares = total(value * value)
        limits = {"min": least * least, "max": math.inf}
        return helper.append("sqrt", {"X": helper.append("clip", {"X": squares}, limits)})

    return total(product) / (length(x) * length(y))


@atomic
def triplet_margin_loss(
    anchor: Variable,
    positive: Variable,
    negative: Variable,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    name: str | None = None,
) -> Variable:
    """Max(d(anchor, positive) - d(anchor, negative) + margin, 0) (Balntas et al. 2016).

    The distance d(a, b) is the p-norm of a - b + eps over the last dimension.

    Args:
        anchor: [..., n], floating.
        positive: Shape of anchor, of the same kind.
        negative: Shape of anchor, of another kind.
        margin: By how much the distances should differ.
        p: Of the norm, at least 1.
        eps: Added to differences, which keeps gradients finite where they are 0.
        swap: Whether d(positive, negative) is taken where it is less than d(anchor, negative).
        name: Name of the layer; None makes one up.

    Returns:
        [...].
    """
    given = {"anchor": anchor, "positive": positive, "negative": negative}
    for argument, value in given.items():
        check_variable("triplet_margin_loss", argument, value)
    if check_number("triplet_margin_loss: p", p) < 1:
        raise core.InvalidArgument(f"triplet_margin_loss: p must be at least 1, got {p}")
    helper = LayerHelper("triplet_margin_loss", name)

    def distance(a: Variable, b: Variable) -> Variable:
        sizes = helper.append("abs", {"X": a - b + eps})
        powers = sizes if p == 1 else helper.append("pow", {"X": sizes}, {"factor": float(p)})
        total = helper.append("reduce_sum", {"X": powers}, {"dim": [-1]})
        return total if p == 1 else helper.append("pow", {"X": total}, {"factor": 1.0 / p})

    far = distance(anchor, negative)
    if swap:
        inputs = {"X": far, "Y": distance(positive, negative)}
        far = helper.append("elementwise_min", inputs)
    return helper.append("relu", {"X": distance(anchor, positive) - far + margin})


def _above_zero(what: str, value: SupportsFloat) -> float:
    number = check_number(what, value)
    if number <= 0:
        raise core.InvalidArgument(f"{what} must be above 0, got {value}")
    return number
