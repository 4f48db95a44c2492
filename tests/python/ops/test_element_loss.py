"""Losses of tensors of one shape, element by element, against NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import SHAPES, Doubles, distinct, integers, normal, positive
from op_runner import run_op

from fluidcore import core


def hinge_loss(Logits: Doubles, Labels: Doubles) -> dict[str, Doubles]:
    return {"Loss": np.maximum(1 - (2 * Labels - 1) * Logits, 0)}


def huber_loss(X: Doubles, Y: Doubles, delta: float) -> dict[str, Doubles]:
    size = np.abs(Y - X)
    loss = np.where(size <= delta, size**2 / 2, delta * (size - delta / 2))
    return {"Out": loss, "Residual": Y - X}


def log_loss(Predicted: Doubles, Labels: Doubles, epsilon: float) -> dict[str, Doubles]:
    loss = -Labels * np.log(Predicted + epsilon) - (1 - Labels) * np.log(1 - Predicted + epsilon)
    return {"Loss": loss}


def margin_rank_loss(
    X1: Doubles, X2: Doubles, Label: Doubles, margin: float = 0.0
) -> dict[str, Doubles]:
    before_limit = margin - Label * (X1 - X2)
    activated = (before_limit > 0).astype(np.float64)
    return {"Out": np.maximum(before_limit, 0), "Activated": activated}


def modified_huber_loss(X: Doubles, Y: Doubles) -> dict[str, Doubles]:
    z = (2 * Y - 1) * X
    loss = np.where(z < -1, -4 * z, np.where(z < 1, (1 - z) ** 2, 0.0))
    return {"Out": loss, "IntermediateVal": z}


def rank_loss(Label: Doubles, Left: Doubles, Right: Doubles) -> dict[str, Doubles]:
    return {"Out": np.logaddexp(0, Left - Right) - Label * (Left - Right)}


def sigmoid_cross_entropy_with_logits(X: Doubles, Label: Doubles) -> dict[str, Doubles]:
    return {"Out": np.logaddexp(0, X) - X * Label}


def kl_div(X: Doubles, Target: Doubles) -> dict[str, Doubles]:
    return {"Loss": np.where(Target > 0, Target * (np.log(np.where(Target > 0, Target, 1)) - X), 0)}


def binary(*shape: int, seed: int = 0) -> Doubles:
    return integers(0, 2, *shape, seed=seed).astype(np.float64)


def inputs(op_type: str, shape: tuple[int, ...]) -> dict[str, Any]:
    """Inputs away from the kinks of the loss."""
    steps = distinct(*shape)  # odd multiples of 1/80, none near 1/4 or 1
    share = 0.1 + 0.3 * (positive(*shape, seed=1) - 0.5)
    label = binary(*shape, seed=2)
    return {
        "hinge_loss": {"Logits": steps, "Labels": label},
        "huber_loss": {"X": distinct(*shape, seed=1), "Y": distinct(*shape, seed=2) + 0.025},
        "log_loss": {"Predicted": share, "Labels": label},
        "margin_rank_loss": {
            "X1": distinct(*shape, seed=1),
            "X2": distinct(*shape, seed=2) + 0.025,
            "Label": 2 * label - 1,
        },
        "modified_huber_loss": {"X": steps, "Y": label},
        "rank_loss": {"Label": share, "Left": normal(*shape, seed=3), "Right": normal(*shape)},
        "sigmoid_cross_entropy_with_logits": {"X": 3 * normal(*shape), "Label": share},
        "kl_div": {"X": -positive(*shape), "Target": share},
    }[op_type]


FORMULAS: dict[str, Callable[..., Any]] = {
    "hinge_loss": hinge_loss,
    "huber_loss": huber_loss,
    "log_loss": log_loss,
    "margin_rank_loss": margin_rank_loss,
    "modified_huber_loss": modified_huber_loss,
    "rank_loss": rank_loss,
    "sigmoid_cross_entropy_with_logits": sigmoid_cross_entropy_with_logits,
    "kl_div": kl_div,
}
ATTRS: dict[str, list[dict[str, float]]] = {
    "huber_loss": [{"delta": 0.5}, {"delta": 0.0}],
    "log_loss": [{"epsilon": 1e-4}, {"epsilon": 0.1}],
    "margin_rank_loss": [{}, {"margin": 0.2}],
}
CASES = [
    OpCase(name, inputs(name, shape), formula, attrs)
    for name, formula in FORMULAS.items()
    for shape in SHAPES
    for attrs in ATTRS.get(name, [{}])
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_far_apart_logits_give_the_exact_loss_and_gradient(dtype: str) -> None:
    x = np.array([1000.0, -1000.0, 1000.0, -1000.0], dtype)
    label = np.array([0.0, 0.0, 1.0, 1.0], dtype)
    zeros, ones = np.zeros(4, dtype), np.ones(4, dtype)
    loss, slope = [1000, 0, 0, 1000], [1, 0, 0, -1]
    given = {"X": x, "Label": label}
    name = "sigmoid_cross_entropy_with_logits"
    np.testing.assert_array_equal(run_op(name, given)["Out"], loss)
    grads = run_op(f"{name}_grad", given | {"Out@GRAD": ones})
    np.testing.assert_array_equal(grads["X@GRAD"], slope)
    given = {"Label": label, "Left": zeros, "Right": -x}
    np.testing.assert_array_equal(run_op("rank_loss", given)["Out"], loss)
    grads = run_op("rank_loss_grad", given | {"Out@GRAD": ones})
    np.testing.assert_array_equal(grads["Right@GRAD"], [-s for s in slope])


def test_a_right_sure_prediction_keeps_all_digits_of_its_small_gradient() -> None:
    given = {"X": np.array([20.0], np.float32), "Label": np.ones(1, np.float32)}
    given["Out@GRAD"] = np.ones(1, np.float32)
    grad = run_op("sigmoid_cross_entropy_with_logits_grad", given)["X@GRAD"]
    np.testing.assert_allclose(grad, -1 / (1 + np.exp(20.0)), rtol=1e-6)


def test_a_target_of_zero_has_no_divergence_and_no_gradient() -> None:
    given = {"X": np.array([-1.0, -np.inf]), "Target": np.zeros(2)}
    np.testing.assert_array_equal(run_op("kl_div", given)["Loss"], [0, 0])
    grads = run_op("kl_div_grad", given | {"Loss@GRAD": np.ones(2)})
    for grad in grads.values():
        np.testing.assert_array_equal(grad, [0, 0])


@pytest.mark.parametrize("name", FORMULAS)
def test_inputs_of_different_shapes_are_an_error(name: str) -> None:
    given = inputs(name, (3, 5))
    last = list(given)[-1]
    attrs = ATTRS.get(name, [{}])[0]
    message = rf"^{name}: {last} must have shape \[3, 5\], got \[3, 1\]"
    with pytest.raises(ValueError, match=message):
        run_op(name, given | {last: normal(3, 1)}, attrs)
    message = f"^{name}: {last} must be float64, got int64; write cast"
    with pytest.raises(ValueError, match=message):
        run_op(name, given | {last: integers(0, 2, 3, 5)}, attrs)


@pytest.mark.parametrize(("name", "attr"), [("huber_loss", "delta"), ("log_loss", "epsilon")])
def test_a_negative_attribute_is_an_error(name: str, attr: str) -> None:
    message = f"^{name}: {attr} must be at least 0, got -0.5$"
    with pytest.raises(ValueError, match=message):
        run_op(name, inputs(name, (3,)), {attr: -0.5})


@pytest.mark.parametrize("name", FORMULAS)
def test_an_extent_that_one_input_knows_is_known_of_the_loss(name: str) -> None:
    block = core.ProgramDesc().block(0)
    slots = list(inputs(name, (1,)))
    for slot, shape in zip(slots, [[-1, 3], [2, -1], [-1, -1]], strict=False):
        block.var(slot).set_shape(shape)
        block.var(slot).set_dtype("float32")
    out = core.op_def(name).outputs[0].name
    given = {slot: [slot] for slot in slots}
    block.add_op(name, given, {out: ["loss"]}, ATTRS.get(name, [{}])[0])
    assert block.var("loss").shape() == [2, 3]
