"""Values of operators without a gradient agree with those of PyTorch's."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fluidcore as fc
from fluidcore import core
from fluidcore.gradcheck.cases import Array

torch = pytest.importorskip("torch")
from torch_functions import (  # noqa: E402
    OF_NOTHING,
    OF_ONE,
    OF_TRUTHS,
    OF_TWO,
    OF_TWO_TRUTHS,
)

from bench.torch_operators import slots  # noqa: E402

CONFIGURATIONS = 20
DTYPES = ("float64", "float32", "int64", "int32")
RNG = np.random.Generator


def run(op_type: str, inputs: Mapping[str, Array], attrs: Mapping[str, Any]) -> Array:
    program = fc.Program()
    block = program.global_block()
    for name, array in inputs.items():
        block.create_var(name=name, shape=array.shape, dtype=array.dtype.name)
    out = block.create_var(name="out")
    block.append_op(op_type, {name: name for name in inputs}, {"Out": out}, dict(attrs))
    (found,) = fc.Executor().run(program, feed=dict(inputs), fetch_list=[out])
    return np.asarray(found)


def attributes(op_type: str, given: Mapping[str, Any]) -> SimpleNamespace:
    made = SimpleNamespace(**{a.name: a.default for a in core.op_def(op_type).attrs})
    vars(made).update(given)
    return made


def shape_of(rng: RNG, rank: int | None = None) -> list[int]:
    rank = int(rng.integers(0, 5)) if rank is None else rank
    return [int(n) for n in rng.integers(1, 6, rank)]


def numbers(rng: RNG, shape: list[int], dtype: str) -> Array:
    """With ties and, if floating, with what is not finite."""
    array = rng.integers(-3, 4, shape).astype(dtype)
    if dtype.startswith("float"):
        array = np.where(rng.random(shape) < 0.1, np.inf, array).astype(array.dtype)
    return array


def assert_same(found: Array, expected: Any, message: str) -> None:
    wanted = expected.numpy()
    assert found.dtype == wanted.dtype, message
    np.testing.assert_array_equal(found, wanted, err_msg=message)


@pytest.mark.parametrize("op_type", OF_ONE)
def test_of_one_tensor(op_type: str) -> None:
    rng = np.random.default_rng(0)
    names = {attr.name for attr in core.op_def(op_type).attrs}
    for _ in range(CONFIGURATIONS):
        shape = shape_of(rng, 1 + int(rng.integers(4)) if "axis" in names else None)
        x = numbers(rng, shape, rng.choice(DTYPES))
        if op_type.startswith("is"):
            x = x.astype("float64") * rng.choice([1.0, np.nan])
        attrs: dict[str, Any] = {}
        if "axis" in names:
            attrs = {"axis": int(rng.integers(-len(shape), len(shape)))}
            attrs["keepdims"] = bool(rng.integers(2))
            # Of ties, PyTorch gives any.
            x = rng.permutation(x.size).reshape(shape).astype(x.dtype)
        if "value" in names:
            attrs = {"value": float(rng.integers(-5, 5))}
        inputs = slots({"X": torch.tensor(x)}, ["X"])
        expected = OF_ONE[op_type](inputs, attributes(op_type, attrs))
        assert_same(run(op_type, {"X": x}, attrs), expected, f"{x} {attrs}")


@pytest.mark.parametrize("op_type", [*OF_TWO, *OF_TWO_TRUTHS])
def test_of_two_tensors(op_type: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(CONFIGURATIONS):
        shape, dtype = shape_of(rng), rng.choice(DTYPES)
        x, y = numbers(rng, shape, dtype), numbers(rng, shape, dtype)
        for axis in range(len(shape)):
            if rng.random() < 0.3:
                y = y.take([0], axis)
        if op_type in OF_TWO_TRUTHS:
            x, y = x > 0, y > 0
        function = (OF_TWO | OF_TWO_TRUTHS)[op_type]
        expected = function(torch.tensor(x), torch.tensor(y))
        assert_same(run(op_type, {"X": x, "Y": y}, {}), expected, f"{x} {y}")


@pytest.mark.parametrize("op_type", OF_TRUTHS)
def test_of_truths(op_type: str) -> None:
    rng = np.random.default_rng(2)
    for _ in range(CONFIGURATIONS):
        x = rng.random(shape_of(rng, 1 + int(rng.integers(4)))) < rng.random()
        attrs: dict[str, Any] = {}
        if op_type.startswith("reduce"):
            dims = rng.permutation(x.ndim)[: 1 + int(rng.integers(x.ndim))]
            attrs = {"dim": [int(d) - x.ndim * int(rng.integers(2)) for d in dims]}
            attrs["keep_dim"] = bool(rng.integers(2))
            attrs["reduce_all"] = not attrs["keep_dim"] and bool(rng.integers(2))
        inputs = slots({"X": torch.tensor(x)}, ["X"])
        expected = OF_TRUTHS[op_type](inputs, attributes(op_type, attrs))
        assert_same(run(op_type, {"X": x}, attrs), expected, f"{x} {attrs}")


def drawn_attributes(op_type: str, rng: RNG) -> dict[str, Any]:
    attrs: dict[str, Any] = {"dtype": "float64"}
    if op_type == "arange":
        step = float(rng.choice([-2.0, -0.5, 0.25, 1.0, 3.0]))
        start = float(rng.integers(-3, 4))
        return attrs | {"start": start, "end": start + step * int(rng.integers(0, 9)), "step": step}
    if op_type == "eye":
        return attrs | {
            "num_rows": int(rng.integers(0, 6)),
            "num_columns": int(rng.integers(-1, 6)),
        }
    if op_type == "linspace":
        start, stop = (float(n) for n in rng.integers(-8, 9, 2))
        return attrs | {"start": start, "stop": stop, "num": int(rng.choice([1, 2, 3, 5, 9]))}
    return attrs | {"shape": shape_of(rng), "value": float(rng.standard_normal())}


@pytest.mark.parametrize("op_type", OF_NOTHING)
def test_of_nothing(op_type: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(CONFIGURATIONS):
        attrs = drawn_attributes(op_type, rng)
        expected = OF_NOTHING[op_type](slots({}, []), attributes(op_type, attrs))
        found = run(op_type, {}, attrs)
        assert found.dtype == expected.numpy().dtype
        np.testing.assert_allclose(found, expected.numpy(), rtol=1e-15, err_msg=f"{attrs}")


def test_one_hot() -> None:
    rng = np.random.default_rng(4)
    for _ in range(CONFIGURATIONS):
        depth = int(rng.integers(1, 7))
        x = rng.integers(0, depth, [*shape_of(rng), 1]).astype(rng.choice(["int32", "int64"]))
        expected = torch.nn.functional.one_hot(torch.tensor(x).long()[..., 0], depth)
        found = run("one_hot", {"X": x}, {"depth": depth})
        np.testing.assert_array_equal(found.reshape(expected.shape), expected.numpy())
