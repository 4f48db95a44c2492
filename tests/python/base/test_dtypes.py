"""The ways to write an element type."""

from __future__ import annotations

import types
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import eager, layers
from fluidcore.base.dtypes import ALIASES, NAMES, dtype_name, dtype_number

SAME = {
    "bool": ["bool", bool, np.bool_, np.dtype("bool"), 0],
    "int16": ["int16", "short", np.int16, 1],
    "int32": ["int32", np.int32, np.dtype("int32"), "i4", 2],
    "int64": ["int64", "int", "long", int, np.int64, 3],
    "float16": ["float16", "half", "fp16", np.float16, "torch.float16", 4],
    "float32": ["float32", "single", "fp32", np.float32, "torch.float32", "jax.numpy.float32", 5],
    "float64": ["float64", "float", "double", "fp64", float, np.float64, np.dtype("float"), 6],
    "bfloat16": ["bfloat16", "bf16", ml_dtypes.bfloat16, "torch.bfloat16", 22],
}


@pytest.mark.parametrize(("name", "written"), [(n, w) for n, ways in SAME.items() for w in ways])
def test_an_element_type_has_one_name(name: str, written: Any) -> None:
    assert dtype_name(written) == name
    assert dtype_name(dtype_number(written)) == name


def test_every_alias_is_tried() -> None:
    tried = {way for ways in SAME.values() for way in ways if isinstance(way, str)}
    assert tried >= {*ALIASES, *NAMES}


def test_the_type_of_another_framework_is_known_by_its_name() -> None:
    class Other(types.SimpleNamespace):
        def __str__(self) -> str:
            return "torch.float32"

    assert dtype_name(Other()) == "float32"  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", ["torch.float", "FLOAT", "uint8", "complex64", "", None, True, [1]])
def test_what_is_no_element_type_is_an_error(bad: Any) -> None:
    with pytest.raises(
        fluid.InvalidArgument, match=f"dtype must be one of {', '.join(NAMES)}, got"
    ):
        dtype_name(bad)


@pytest.mark.parametrize("written", ["float", float, "double"])
def test_float_is_float64_wherever_an_element_type_is_taken(written: Any) -> None:
    block = fluid.default_main_program().global_block()
    whole = layers.fill_constant([2], "int64", 1)
    block.append_op("cast", {"X": whole}, {"Out": "out"}, {"in_dtype": int, "out_dtype": written})
    made = [
        block.var("out"),
        layers.data("x", [3], dtype=written),
        layers.zeros([2], written),
        layers.cast(whole, written),
        whole.astype(written),
        layers.create_parameter([2, 2], written),
        layers.create_global_var([1], 0.0, written),
        layers.create_array(written, [2]),
        block.create_var(shape=[2], dtype=written),
        eager.Tensor([1, 2], written),
        eager.zeros([2], written),
        eager.Tensor([1, 2]).astype(written),
    ]
    assert [each.dtype for each in made] == ["float64"] * len(made)
