"""The area under a curve of two classes, of one batch."""

from __future__ import annotations

from fluidcore import core
from fluidcore.layers.helper import LayerHelper, atomic, check_size, check_variable
from fluidcore.layers.tensor import cast
from fluidcore.program import Variable

CURVES = ("ROC", "PR")


@atomic
def auc(
    input: Variable, label: Variable, curve: str = "ROC", num_thresholds: int = 200
) -> Variable:
    """The area under the ROC curve, or under the curve of precision over recall, of a batch.

    Of floor(score * num_thresholds), as `metrics.Auc` calculates it (which see for the formulas):
    of pairs of a one and a zero the share in which the one is in the higher bin, a pair in one bin
    counting half; or the average precision. `metrics.Auc` gathers it over batches.

    Args:
        input: [n, 2], probabilities of both classes, or [n, 1] of class 1; floating.
        label: [n, 1], 0 or 1; int64 or int32.
        curve: "ROC" or "PR".
        num_thresholds: How finely scores are told apart; at least 1.

    Returns:
        [1], float32; 0 where a class is missing. Stops gradients.

    Raises:
        core.InvalidArgument: An argument is not as above.
    """
    check_variable("auc", "input", input)
    check_variable("auc", "label", label)
    check_size("auc", "num_thresholds", num_thresholds)
    if curve not in CURVES:
        raise core.InvalidArgument(f"auc: curve must be 'ROC' or 'PR', got {curve!r}")
    if len(input.shape) != 2 or input.shape[1] not in (1, 2):
        raise core.InvalidArgument(
            f"auc: input must be [n, 2] or [n, 1], got {list(input.shape)} for '{input.name}'"
        )
    if len(label.shape) != 2 or label.shape[1] != 1:
        raise core.InvalidArgument(
            f"auc: label must be [n, 1], got {list(label.shape)} for '{label.name}'"
        )
    helper = LayerHelper("auc")
    scores = cast(input[:, -1:], "float32") * float(num_thresholds)
    bins = helper.append("floor", {"X": scores})
    attrs = {"start": 0.0, "end": num_thresholds + 1.0, "step": 1.0, "dtype": "float32"}
    numbers = helper.append("arange", {}, attrs)
    in_bin = cast(bins == numbers, "float32")  # [n, bins]
    is_one = cast(label, "float32")
    counts = [
        helper.append("matmul", {"X": is_one, "Y": in_bin}, {"transpose_X": True}),
        helper.append("matmul", {"X": 1.0 - is_one, "Y": in_bin}, {"transpose_X": True}),
    ]
    # [1, bins] each, the highest bin first: how many are in the bin, and in it or above.
    ones, zeros = (helper.append("flip", {"X": count}, {"axis": [1]}) for count in counts)
    true, false = (helper.append("cumsum", {"X": each}, {"axis": 1}) for each in (ones, zeros))
    all_ones, all_zeros = true[:, -1:], false[:, -1:]
    nonzero = helper.append("elementwise_max", {"X": all_ones, "Y": _one(helper)})
    if curve == "ROC":
        pairs = (true - ones * 0.5) * zeros
        other = helper.append("elementwise_max", {"X": all_zeros, "Y": _one(helper)})
        terms = pairs / (nonzero * other)
    else:
        found = helper.append("elementwise_max", {"X": true + false, "Y": _one(helper)})
        has_zeros = cast(all_zeros > 0.0, "float32")
        terms = true / found * ones / nonzero * has_zeros
    area = helper.append("reduce_sum", {"X": terms}, {"reduce_all": True})
    area.stop_gradient = True
    return area


def _one(helper: LayerHelper) -> Variable:
    return helper.append("fill_constant", {}, {"shape": [1, 1], "value": 1.0, "dtype": "float32"})
