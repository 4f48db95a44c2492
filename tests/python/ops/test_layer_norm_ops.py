"""layer_norm and rms_norm against NumPy."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import Doubles, normal, positive
from op_runner import run_op


def layer_norm(
    X: Doubles,
    Scale: Doubles | None = None,
    Bias: Doubles | None = None,
    epsilon: float = 1e-5,
    begin_norm_axis: int = 1,
) -> dict[str, Doubles]:
    left = int(np.prod(X.shape[:begin_norm_axis]))
    x = X.reshape(left, int(np.prod(X.shape[begin_norm_axis:])))
    mean, variance = x.mean(axis=1), x.var(axis=1)
    y = (x - mean[:, None]) / np.sqrt(variance[:, None] + epsilon)
    y = y if Scale is None else y * Scale
    y = y if Bias is None else y + Bias
    return {"Y": y.reshape(X.shape), "Mean": mean, "Variance": variance}


def rms_norm(
    X: Doubles,
    Scale: Doubles | None = None,
    Bias: Doubles | None = None,
    epsilon: float = 1e-5,
    begin_norm_axis: int = 1,
) -> dict[str, Doubles]:
    left = int(np.prod(X.shape[:begin_norm_axis]))
    x = X.reshape(left, int(np.prod(X.shape[begin_norm_axis:])))
    y = x / np.sqrt((x * x).mean(axis=1)[:, None] + epsilon)
    y = y if Scale is None else y * Scale
    y = y if Bias is None else y + Bias
    return {"Y": y.reshape(X.shape)}


def case(shape: tuple[int, ...], slots: str = "Scale Bias", note: str = "", **attrs: Any) -> OpCase:
    columns = int(np.prod(shape[attrs.get("begin_norm_axis", 1) :]))
    factors = {"Scale": positive(columns), "Bias": normal(columns, seed=1)}
    inputs = {"X": 2 * normal(*shape) + 1} | {slot: factors[slot] for slot in slots.split()}
    return OpCase("layer_norm", inputs, layer_norm, attrs, note)


CASES = [
    case((3, 5)),
    case((3, 5), "", "no factors"),
    case((3, 5), "Scale", "scale only"),
    case((3, 5), "Bias", "bias only"),
    case((2, 257)),
    case((17, 3)),
    case((0, 4)),
    case((2, 3, 7)),
    case((2, 3, 7), begin_norm_axis=2),
    case((2, 3, 4, 5), begin_norm_axis=2, epsilon=0.25),
    case((3, 5), begin_norm_axis=0),
    case((70,), begin_norm_axis=0),
]
CASES += [OpCase("rms_norm", c.inputs, rms_norm, c.attrs, c.note) for c in CASES]
CASES += [case((130, 3), note="more rows than are summed at a time")]
CASES += [
    OpCase(
        "layer_norm", CASES[0].inputs, layer_norm, note="in place", in_place={"Y": "X"}, grad=()
    ),
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_large_mean_does_not_spoil_the_row(dtype: str) -> None:
    x = (normal(5, 129) + 1000).astype(dtype)
    expected = layer_norm(x.astype(np.float64))["Y"]
    np.testing.assert_allclose(run_op("layer_norm", {"X": x})["Y"], expected, atol=1e-6)


@pytest.mark.parametrize(
    ("inputs", "attrs", "message"),
    [
        (
            {"X": (2, 3)},
            {"begin_norm_axis": 2},
            r"begin_norm_axis must be in \[0, 2\) for X \[2, 3\], got 2",
        ),
        (
            {"X": (2, 3)},
            {"begin_norm_axis": -1},
            r"begin_norm_axis must be in \[0, 2\) for X \[2, 3\], got -1",
        ),
        ({"X": ()}, {}, r"begin_norm_axis must be in \[0, 0\) for X \[\], got 1"),
        ({"X": (2, 3)}, {"epsilon": -1.0}, "epsilon must be at least 0, got -1.0"),
        ({"X": (2, 3), "Scale": (2,)}, {}, r"Scale must have shape \[3\], got \[2\]"),
        ({"X": (2, 3, 4), "Bias": (3, 4)}, {}, r"Bias must have shape \[12\], got \[3, 4\]"),
    ],
)
def test_what_does_not_fit_is_an_error(
    inputs: dict[str, tuple[int, ...]], attrs: dict[str, Any], message: str
) -> None:
    given = {slot: normal(*shape) for slot, shape in inputs.items()}
    for op_type in ("layer_norm", "rms_norm"):
        with pytest.raises(ValueError, match=f"^{op_type}: {message}$"):
            run_op(op_type, given, attrs)
