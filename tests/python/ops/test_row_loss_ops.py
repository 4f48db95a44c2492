"""Losses and similarities of rows, against NumPy."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import Doubles, distinct, normal, positive, probabilities
from op_runner import run_op


def row_sums(x: Doubles) -> Doubles:
    rows = np.atleast_1d(x)
    return rows.sum(axis=tuple(range(1, rows.ndim))).reshape(len(rows), 1)


def smooth_l1_loss(
    X: Doubles,
    Y: Doubles,
    InsideWeight: Doubles | float = 1.0,
    OutsideWeight: Doubles | float = 1.0,
    sigma: float = 1.0,
) -> dict[str, Doubles]:
    diff = (X - Y) * InsideWeight
    size, limit = np.abs(diff), sigma**2
    loss = np.where(size < 1 / limit, limit * size**2 / 2, size - 0.5 / limit)
    return {"Out": row_sums(loss * OutsideWeight), "Diff": diff}


def squared_l2_distance(X: Doubles, Y: Doubles) -> dict[str, Doubles]:
    flat = (X - Y).reshape(len(np.atleast_1d(X)), int(np.prod(X.shape[1:])))
    return {"Out": row_sums((X - Y) ** 2), "sub_result": flat}


def cos_sim(X: Doubles, Y: Doubles) -> dict[str, Doubles]:
    x_norm, y_norm = np.sqrt(row_sums(X**2)), np.sqrt(row_sums(Y**2))
    return {"Out": row_sums(X * Y) / (x_norm * y_norm), "XNorm": x_norm, "YNorm": y_norm}


def label_smooth(
    X: Doubles, PriorDist: Doubles | None = None, epsilon: float = 0.0
) -> dict[str, Doubles]:
    prior = 1 / X.shape[-1] if PriorDist is None else PriorDist.reshape(-1)
    return {"Out": (1 - epsilon) * X + epsilon * prior}


def pair(*shape: int) -> dict[str, Doubles]:
    """Differences that are odd multiples of 1/40, so that none is at a kink."""
    return {"X": distinct(*shape, seed=1), "Y": distinct(*shape, seed=2) + 0.025}


SHAPES: list[tuple[int, ...]] = [
    *((), (3,), (1, 1), (3, 5), (17, 4), (2, 3, 7), (2, 65), (0, 4)),
]
CASES = [
    OpCase("smooth_l1_loss", pair(*shape), smooth_l1_loss, attrs)
    for shape in SHAPES
    for attrs in ({}, {"sigma": 2.0})
]
CASES += [
    OpCase(
        "smooth_l1_loss",
        pair(3, 5) | {slot: positive(3, 5, seed=len(slot)) for slot in slots},
        smooth_l1_loss,
        {"sigma": 1.5},
        note=" ".join(slots),
    )
    for slots in (["InsideWeight"], ["OutsideWeight"], ["InsideWeight", "OutsideWeight"])
]
CASES += [
    # The cosine of two single numbers is 1 or -1, with the gradient 0.
    OpCase(
        name,
        {"X": normal(*shape, seed=1), "Y": normal(*rows, seed=2)},
        formula,
        grad=[] if name == "cos_sim" and len(shape) < 2 else None,
    )
    for name, formula in (("squared_l2_distance", squared_l2_distance), ("cos_sim", cos_sim))
    for shape in SHAPES
    for rows in {shape, (1, *shape[1:])[: len(shape)]}
    if (name, shape) != ("cos_sim", (1, 1))
]
CASES += [
    OpCase("label_smooth", {"X": normal(*shape)}, label_smooth, {"epsilon": 0.1})
    for shape in SHAPES
    if shape
]
CASES += [
    OpCase("label_smooth", {"X": normal(3, 5)}, label_smooth),
    OpCase(
        "label_smooth",
        {"X": normal(2, 3, 5), "PriorDist": probabilities(1, 5)},
        label_smooth,
        {"epsilon": 0.25},
    ),
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


def test_the_cosine_with_a_row_of_zeros_is_nan() -> None:
    out = run_op("cos_sim", {"X": np.zeros((1, 3)), "Y": normal(1, 3)})["Out"]
    assert np.isnan(out).all()


@pytest.mark.parametrize(
    ("name", "inputs", "attrs", "message"),
    [
        ("smooth_l1_loss", {"X": (), "Y": (1,)}, {}, r"Y must have shape \[\], got \[1\]"),
        (
            "smooth_l1_loss",
            {"X": (3, 2), "Y": (2, 3)},
            {},
            r"Y must have shape \[3, 2\], got \[2, 3\]",
        ),
        (
            "smooth_l1_loss",
            {"X": (3, 2), "Y": (3, 2), "InsideWeight": (3, 1)},
            {},
            r"InsideWeight must have shape \[3, 2\], got \[3, 1\]",
        ),
        (
            "smooth_l1_loss",
            {"X": (3, 2), "Y": (3, 2)},
            {"sigma": 0.0},
            "sigma must be above 0, got 0.0",
        ),
        (
            "squared_l2_distance",
            {"X": (3, 2), "Y": (2, 2)},
            {},
            r"Y must have shape \[3, 2\] or \[1, 2\], got \[2, 2\]",
        ),
        (
            "cos_sim",
            {"X": (3, 2), "Y": (3,)},
            {},
            r"Y must have shape \[3, 2\] or \[1, 2\], got \[3\]",
        ),
        ("cos_sim", {"X": (3,), "Y": (2,)}, {}, r"Y must have shape \[3\] or \[1\], got \[2\]"),
        ("label_smooth", {"X": (3, 2)}, {"epsilon": 1.5}, r"epsilon must be in \[0, 1\], got 1.5"),
        (
            "label_smooth",
            {"X": (3, 2), "PriorDist": (2,)},
            {},
            r"PriorDist must have shape \[1, 2\], got \[2\]",
        ),
        ("label_smooth", {"X": ()}, {}, r"X must have rank 1 or more, got \[\]"),
    ],
)
def test_what_does_not_fit_is_an_error(
    name: str, inputs: dict[str, tuple[int, ...]], attrs: dict[str, Any], message: str
) -> None:
    given = {slot: normal(*shape) for slot, shape in inputs.items()}
    with pytest.raises(ValueError, match=f"^{name}: {message}$"):
        run_op(name, given, attrs)
