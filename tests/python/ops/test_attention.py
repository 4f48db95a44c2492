"""scaled_dot_product_attention against NumPy."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import Doubles, normal
from op_runner import one_op, run_op


def attention(
    Q: Doubles,
    K: Doubles,
    V: Doubles,
    Mask: Doubles | None = None,
    causal: bool = False,
    scale: float = 0.0,
) -> dict[str, Doubles]:
    scores = Q @ K.swapaxes(-1, -2) * (scale or 1 / np.sqrt(Q.shape[-1]))
    scores = scores if Mask is None else scores + Mask
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:])) > 0, scores, -np.inf)
    greatest = scores.max(axis=-1, keepdims=True, initial=-1e300)
    powers = np.exp(scores - greatest)
    sums = powers.sum(axis=-1, keepdims=True)
    seen = sums > 0
    weights = np.divide(powers, sums, out=np.zeros_like(powers), where=seen)
    logsumexp = np.where(seen, greatest + np.log(np.where(seen, sums, 1)), np.inf)
    return {"Out": weights @ V, "LogSumExp": logsumexp[..., 0]}


def case(
    shape: tuple[int, ...],
    keys: int,
    mask: tuple[int, ...] | None = None,
    value_depth: int | None = None,
    note: str = "",
    grad: tuple[str, ...] | None = None,
    **attrs: Any,
) -> OpCase:
    batch, heads, _, depth = shape
    inputs = {
        "Q": normal(*shape),
        "K": normal(batch, heads, keys, depth, seed=1),
        "V": normal(batch, heads, keys, value_depth or depth, seed=2),
    }
    if mask is not None:
        inputs["Mask"] = normal(*mask, seed=3)
        note = f"{note} Mask{list(mask)}".strip()
    return OpCase("scaled_dot_product_attention", inputs, attention, attrs, note, grad)


SMALL = [
    case((1, 1, 1, 1), 1),
    case((2, 3, 4, 3), 5),
    case((2, 3, 4, 3), 5, value_depth=2),
    case((1, 2, 4, 3), 4, causal=True),
    case((1, 2, 5, 3), 3, causal=True, note="more queries than keys"),
    case((1, 1, 3, 2), 5, causal=True, scale=0.25, note="more keys than queries"),
    case((2, 2, 3, 2), 4, mask=(2, 2, 3, 4)),
    case((2, 2, 3, 2), 4, mask=(3, 4), causal=True),
    case((2, 2, 3, 2), 4, mask=(2, 1, 1, 4)),
    case((2, 2, 3, 2), 4, mask=(2, 3, 1)),
    case((2, 2, 3, 2), 4, mask=()),
    case((0, 2, 3, 2), 4),
    case((1, 2, 0, 2), 4),
    case((1, 2, 3, 2), 0, grad=()),
]
# Beyond a tile in both directions.
TILED = [
    case((1, 2, 131, 4), 259, grad=(), note="tiles"),
    case((1, 2, 131, 4), 259, grad=(), causal=True),
    case((1, 2, 259, 4), 131, grad=(), causal=True),
    case((1, 2, 65, 4), 129, mask=(65, 129), grad=(), causal=True),
]
CASES = SMALL + TILED


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


def gradients(inputs: dict[str, Doubles], dout: Doubles, attrs: dict[str, Any]) -> list[Doubles]:
    """Of attention, with whole matrices."""
    q, k, v = (inputs[slot] for slot in "QKV")
    scale = 1 / np.sqrt(q.shape[-1])
    mask = inputs.get("Mask", np.zeros(1))
    weights = attention(q, k, np.eye(k.shape[2]) + 0 * k[..., :1], mask, **attrs)["Out"]
    passed = dout @ v.swapaxes(-1, -2)
    scores = weights * (passed - (weights * passed).sum(axis=-1, keepdims=True))
    grads = [scores @ k * scale, scores.swapaxes(-1, -2) @ q * scale]
    grads.append(weights.swapaxes(-1, -2) @ dout)
    return [*grads, scores.sum(axis=(0, 1))] if "Mask" in inputs else grads


def run_grad(
    given: dict[str, Doubles], attrs: Mapping[str, Any], dtype: str = "float64"
) -> dict[str, Doubles]:
    given = {**given, "LogSumExp@GRAD": 0 * given["Out"][..., 0]}
    given = {slot: value.astype(dtype) for slot, value in given.items()}
    slots = [f"{slot}@GRAD" for slot in ("Q", "K", "V", "Mask") if slot in given]
    one = one_op("scaled_dot_product_attention_grad", given, attrs, dict.fromkeys(slots, 0))
    found = one.run([one.op.output(slot)[0] for slot in slots])
    return dict(zip(slots, found, strict=True))


@pytest.mark.parametrize("tiled", TILED, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_gradient_of_several_tiles_is_that_of_whole_matrices(tiled: OpCase, dtype: str) -> None:
    inputs = {slot: np.asarray(value, np.float64) for slot, value in tiled.inputs.items()}
    outputs = attention(**inputs, **tiled.attrs)
    dout = normal(*outputs["Out"].shape, seed=4)
    found = run_grad({**inputs, **outputs, "Out@GRAD": dout}, tiled.attrs, dtype)
    for slot, expected in zip(inputs, gradients(inputs, dout, dict(tiled.attrs)), strict=True):
        tolerance = 1e-12 if dtype == "float64" else 1e-5
        atol = tolerance * np.abs(expected).max()
        np.testing.assert_allclose(found[f"{slot}@GRAD"], expected, rtol=tolerance, atol=atol)


def test_a_query_that_sees_no_key_gives_zeros_and_takes_no_gradient() -> None:
    inputs = case((1, 1, 3, 2), 4, mask=(3, 4)).inputs
    mask = np.zeros((3, 4))
    mask[1] = -np.inf
    mask[2, 1:] = -np.inf
    given = {**inputs, "Mask": mask}
    out = run_op("scaled_dot_product_attention", given)
    assert np.all(out["Out"][0, 0, 1] == 0)
    np.testing.assert_allclose(out["Out"][0, 0, 2], inputs["V"][0, 0, 0])
    grads = run_grad({**given, **out, "Out@GRAD": np.ones((1, 1, 3, 2))}, {})
    assert all(np.isfinite(grad).all() for grad in grads.values())
    assert np.all(grads["Q@GRAD"][0, 0, 1] == 0)


def test_large_scores_do_not_overflow() -> None:
    inputs = {slot: 100 * value for slot, value in case((1, 1, 3, 2), 140).inputs.items()}
    expected = attention(**inputs)["Out"]
    given = {slot: value.astype(np.float32) for slot, value in inputs.items()}
    np.testing.assert_allclose(
        run_op("scaled_dot_product_attention", given)["Out"], expected, rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize(
    ("shapes", "attrs", "message"),
    [
        (
            {"Q": (2, 3, 4)},
            {},
            r"Q must have rank 4 \[batch, heads, length, depth\], got \[2, 3, 4\]",
        ),
        (
            {"K": (1, 2, 5, 7)},
            {},
            r"Q and K must be alike in batch, heads and depth, got Q \[1, 2, 3, 4\], "
            r"K \[1, 2, 5, 7\]",
        ),
        (
            {"V": (1, 2, 6, 4)},
            {},
            r"K and V must be alike in batch, heads and length, got K \[1, 2, 5, 4\], "
            r"V \[1, 2, 6, 4\]",
        ),
        (
            {"Mask": (3, 4)},
            {},
            r"Mask must broadcast to \[batch, heads, queries, keys\], which is \[1, 2, 3, 5\], "
            r"got \[3, 4\]",
        ),
        (
            {"Q": (1, 2, 3, 0), "K": (1, 2, 5, 0)},
            {},
            r"Q must have a depth of at least 1, got \[1, 2, 3, 0\]",
        ),
        ({}, {"scale": float("inf")}, "scale must be finite, got inf"),
    ],
)
def test_what_does_not_fit_is_an_error(
    shapes: dict[str, tuple[int, ...]], attrs: dict[str, Any], message: str
) -> None:
    shapes = {"Q": (1, 2, 3, 4), "K": (1, 2, 5, 4), "V": (1, 2, 5, 4)} | shapes
    given = {slot: normal(*shape) for slot, shape in shapes.items()}
    with pytest.raises(ValueError, match=f"^scaled_dot_product_attention: {message}$"):
        run_op("scaled_dot_product_attention", given, attrs)
