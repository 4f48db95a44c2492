"""cross_entropy and softmax_with_cross_entropy against NumPy."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import Doubles, integers, normal, positive, probabilities
from op_runner import Array, run_op

from fluidcore import core


def pick(log: Doubles, Label: Array, soft_label: bool, ignore_index: int) -> Doubles:
    """The loss of rows of logarithms of probabilities."""
    if soft_label:
        return -(Label * log).sum(axis=-1, keepdims=True)
    label = Label.reshape(*log.shape[:-1], 1)
    ignored = label == ignore_index
    loss = -np.take_along_axis(log, np.where(ignored, 0, label), -1) if log.size else log[..., :1]
    return np.where(ignored, 0.0, loss)


def cross_entropy(
    X: Doubles, Label: Array, soft_label: bool = False, ignore_index: int = -100
) -> dict[str, Doubles]:
    return {"Y": pick(np.log(X), Label, soft_label, ignore_index)}


def softmax_with_cross_entropy(
    Logits: Doubles, Label: Array, soft_label: bool = False, ignore_index: int = -100
) -> dict[str, Doubles]:
    if Logits.size == 0:
        return {"Softmax": Logits, "Loss": Logits[..., :1]}
    shifted = Logits - Logits.max(axis=-1, keepdims=True)
    log = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return {"Softmax": np.exp(log), "Loss": pick(log, Label, soft_label, ignore_index)}


def both(shape: tuple[int, ...], label: Array, note: str = "", **attrs: Any) -> list[OpCase]:
    x = positive(*shape) / 2  # the formula does not mind that rows do not add up to 1
    labels = ["Label"] if attrs.get("soft_label") else []
    return [
        OpCase(
            "cross_entropy",
            {"X": x, "Label": label},
            cross_entropy,
            attrs,
            note,
            grad=["X", *labels],
        ),
        OpCase(
            "softmax_with_cross_entropy",
            {"Logits": normal(*shape), "Label": label},
            softmax_with_cross_entropy,
            attrs,
            note,
            grad=["Logits", *labels],
        ),
    ]


CASES = [
    *both((1, 1), integers(0, 1, 1, 1)),
    *both((5,), integers(0, 5, 1), "one sample"),
    *both((3, 5), integers(0, 5, 3, 1)),
    *both((3, 5), integers(0, 5, 3), "flat labels"),
    *both((3, 5), integers(0, 5, 3, 1).astype(np.int32), "int32"),
    *both((17, 10), integers(0, 10, 17, 1)),
    *both((2, 129), integers(0, 129, 2, 1)),
    *both((2, 3, 5), integers(0, 5, 2, 3, 1)),
    *both((0, 5), integers(0, 5, 0, 1)),
    *both((3, 5), np.array([[4], [-100], [0]]), "one ignored"),
    *both((3, 5), np.array([[2], [1], [2]]), ignore_index=2),
    *both((3, 5), probabilities(3, 5, seed=2), soft_label=True),
    *both((3, 5), positive(3, 5, seed=3), "labels that do not add up to 1", soft_label=True),
    *both((5,), probabilities(1, 5, seed=4)[0], soft_label=True),
    *both((2, 3, 17), positive(2, 3, 17, seed=5), soft_label=True),
    *both((0, 5), positive(0, 5), soft_label=True),
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


def test_a_probability_of_zero_costs_a_finite_loss() -> None:
    x = np.array([[0.0, 1.0]], dtype=np.float32)
    loss = run_op("cross_entropy", {"X": x, "Label": np.array([[0]])})["Y"]
    np.testing.assert_array_equal(loss, np.array([[1e20]], dtype=np.float32))


def test_far_apart_logits_give_the_exact_loss() -> None:
    logits = np.array([[1000.0, 0.0], [0.0, 1000.0]], dtype=np.float32)
    inputs = {"Logits": logits, "Label": np.array([[0], [0]])}
    loss = run_op("softmax_with_cross_entropy", inputs)["Loss"]
    np.testing.assert_array_equal(loss, np.array([[0], [1000]], dtype=np.float32))


def test_the_gradient_of_a_soft_label_is_exact_where_its_probability_is_rounded_to_zero() -> None:
    logits = np.array([[1000.0, 0.0]], dtype=np.float32)
    inputs = {
        "Logits": logits,
        "Label": np.array([[1.0, 0.0]], dtype=np.float32),
        "Softmax": np.array([[1.0, 0.0]], dtype=np.float32),
        "Loss@GRAD": np.array([[2.0]], dtype=np.float32),
    }
    grads = run_op("softmax_with_cross_entropy_grad", inputs, {"soft_label": True})
    np.testing.assert_array_equal(grads["Label@GRAD"], [[0, 2000]])


def test_a_probability_of_zero_gives_its_soft_label_a_finite_gradient() -> None:
    inputs = {
        "X": np.array([[0.0, 1.0]], dtype=np.float32),
        "Label": np.array([[0.0, 1.0]], dtype=np.float32),
        "Y@GRAD": np.array([[1.0]], dtype=np.float32),
    }
    grads = run_op("cross_entropy_grad", inputs, {"soft_label": True})
    np.testing.assert_array_equal(grads["Label@GRAD"], np.array([[1e20, 0]], dtype=np.float32))


@pytest.mark.parametrize("op_type", ["cross_entropy", "softmax_with_cross_entropy"])
def test_a_hard_label_has_no_gradient(op_type: str) -> None:
    case = next(case for case in CASES if case.type == op_type and not case.attrs)
    grads, grad_to_var = core.get_grad_op_desc(case.build("float64")[0].op, set(), [])
    assert "label" not in grad_to_var.values()
    assert all("Label@GRAD" not in grad.outputs() for grad in grads)
    message = f"{op_type}_grad: soft_label must be True for a gradient of Label, got False"
    block = core.ProgramDesc().block(0)
    for name, shape in (("x", [3, 5]), ("loss", [3, 1])):
        block.var(name).set_shape(shape)
        block.var(name).set_dtype("float64")
    block.var("label").set_shape([3, 1])
    block.var("label").set_dtype("int64")
    slots = {"Label": ["label"], "X": ["x"], "Y@GRAD": ["loss"]}
    if op_type.startswith("softmax"):
        slots = {"Label": ["label"], "Softmax": ["x"], "Loss@GRAD": ["loss"]}
    first = "X@GRAD" if "X" in slots else "Logits@GRAD"
    with pytest.raises(ValueError, match=message):
        block.add_op(f"{op_type}_grad", slots, {first: ["dx"], "Label@GRAD": ["dlabel"]}, {})


@pytest.mark.parametrize(
    ("op_type", "slot"), [("cross_entropy", "X"), ("softmax_with_cross_entropy", "Logits")]
)
@pytest.mark.parametrize("bad", [5, -1, 2**40])
def test_a_label_out_of_range_is_an_error_that_names_its_row(
    op_type: str, slot: str, bad: int
) -> None:
    inputs = {slot: positive(3, 5), "Label": np.array([[4], [bad], [0]])}
    message = rf"{op_type}: labels must be in \[0, 5\) or ignore_index -100, got {bad} in row 1"
    with pytest.raises(ValueError, match=message):
        run_op(op_type, inputs)


@pytest.mark.parametrize(
    ("label", "attrs", "message"),
    [
        (integers(0, 5, 4, 1), {}, r"Label must have shape \[3, 1\] for X \[3, 5\], got \[4, 1\]"),
        (positive(3, 5), {}, "Label must be int32 or int64, got float64; write cast"),
        (positive(3, 4), {"soft_label": True}, r"Label must have shape \[3, 5\], got \[3, 4\]"),
        (integers(0, 5, 3, 1), {"soft_label": True}, "Label must be float64, got int64"),
    ],
)
def test_a_label_that_does_not_fit_is_an_error(
    label: Array, attrs: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"cross_entropy: {message}"):
        run_op("cross_entropy", {"X": positive(3, 5), "Label": label}, attrs)


def test_the_gradient_of_a_soft_label_needs_logits_that_fit() -> None:
    inputs = {"Label": positive(3, 5), "Softmax": probabilities(3, 5), "Loss@GRAD": normal(3, 1)}
    for logits, message in (
        (None, "Logits must be given for a gradient of Label, got nothing"),
        (normal(3, 4), r"Logits must have shape \[3, 5\], got \[3, 4\]"),
        (integers(0, 5, 3, 5), "Logits must be float64, got int64"),
    ):
        given = inputs if logits is None else {**inputs, "Logits": logits}
        with pytest.raises(ValueError, match=f"softmax_with_cross_entropy_grad: {message}"):
            run_op("softmax_with_cross_entropy_grad", given, {"soft_label": True})
