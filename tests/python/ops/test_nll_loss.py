"""The negative log-likelihood against NumPy."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import integers, normal, positive
from op_runner import Array, run_op


def nll_loss(
    X: Array,
    Label: Array,
    Weight: Array | None = None,
    ignore_index: int = -100,
    reduction: str = "none",
) -> dict[str, Array]:
    flat = X.reshape(-1, X.shape[-1])
    labels = Label.reshape(-1)
    of_class = np.ones(X.shape[-1]) if Weight is None else Weight
    weights = [0.0 if label == ignore_index else of_class[label] for label in labels]
    losses = [
        -weight * row[label] if weight else 0.0
        for row, label, weight in zip(flat, labels, weights, strict=True)
    ]
    if reduction == "none":
        return {"Out": np.array(losses).reshape(*X.shape[:-1], 1)}
    total = np.array([np.sum(losses)])
    return {"Out": total / np.sum(weights) if reduction == "mean" else total}


LABELS = integers(0, 5, 3, 1)
CASES = [
    OpCase("nll_loss", {"X": normal(*x), "Label": label}, nll_loss, attrs, note, ["X"])
    for x, label, attrs, note in (
        ((3, 5), LABELS, {}, ""),
        ((3, 5), LABELS[:, 0], {}, "flat labels"),
        ((3, 5), LABELS.astype(np.int32), {}, "int32"),
        ((5,), LABELS[0], {}, "one row"),
        ((1, 1), np.zeros((1, 1), np.int64), {}, ""),
        ((2, 3, 5), integers(0, 5, 2, 3), {}, ""),
        ((0, 5), LABELS[:0], {}, ""),
        ((3, 5), np.array([[2], [-100], [4]]), {}, "some ignored"),
        ((3, 5), np.array([[2], [-1], [4]]), {"ignore_index": -1}, ""),
        ((3, 5), LABELS, {"ignore_index": int(LABELS[1, 0])}, ""),
    )
] + [
    OpCase(
        "nll_loss",
        {"X": normal(3, 5), "Label": np.array([[2], [-100], [4]]), "Weight": positive(5)},
        nll_loss,
        {"reduction": reduction},
        grad=["X"],
    )
    for reduction in ("none", "mean", "sum")
]
CASES += [
    OpCase("nll_loss", {"X": x, "Label": label}, nll_loss, {"reduction": reduction}, grad=["X"])
    for x, label in (
        (normal(3, 5), np.array([[2], [-100], [4]])),
        (normal(2, 3, 5), integers(0, 5, 2, 3)),
        (normal(5), np.array([3])),
        (normal(4000, 3), integers(0, 3, 4000)),
    )
    for reduction in ("mean", "sum")
]
CASES += [
    OpCase("nll_loss", {"X": normal(0, 5), "Label": LABELS[:0]}, nll_loss, {"reduction": "sum"})
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


def test_of_log_softmax_it_is_the_cross_entropy_of_logits() -> None:
    logits = normal(3, 5)
    x = run_op("log_softmax", {"X": logits})["Out"]
    got = run_op("nll_loss", {"X": x, "Label": LABELS})["Out"]
    want = run_op("softmax_with_cross_entropy", {"Logits": logits, "Label": LABELS})["Loss"]
    np.testing.assert_allclose(got, want, rtol=1e-13)


def test_a_mean_of_no_row_is_nan() -> None:
    inputs = {"X": normal(2, 5), "Label": np.array([-100, -100])}
    assert np.isnan(run_op("nll_loss", inputs, {"reduction": "mean"})["Out"]).all()


def test_a_reduction_that_there_is_not_is_an_error() -> None:
    inputs = {"X": normal(2, 5), "Label": np.array([1, 2])}
    with pytest.raises(ValueError, match="nll_loss: attribute 'reduction' must be one of"):
        run_op("nll_loss", inputs, {"reduction": "batchmean"})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"X": normal()}, r"X must have rank 1 or more, got \[\]"),
        (
            {"Label": np.array([[0], [5], [1]])},
            r"labels must be in \[0, 5\) or ignore_index -100, ",
        ),
        ({"Label": normal(3, 1)}, "Label must be int32 or int64, got float64"),
        ({"Label": LABELS[:2]}, r"Label must have shape \[3, 1\] for X \[3, 5\], got \[2, 1\]"),
        ({"Weight": positive(4)}, r"Weight must have shape \[5\], got \[4\]"),
        ({"Weight": positive(5).astype(np.float32)}, "X and Weight must have the same dtype, got"),
    ],
)
def test_what_does_not_fit_is_an_error(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"nll_loss: {message}"):
        run_op("nll_loss", {"X": normal(3, 5), "Label": LABELS, **changed})
