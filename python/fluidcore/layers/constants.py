"""Python numbers where layers of functions want tensors."""

from __future__ import annotations

import math
from typing import Any

from fluidcore import core
from fluidcore.base.dtypes import FLOATING
from fluidcore.layers.nested import Row
from fluidcore.program import Block, Variable


def number_dtype(layer: str, row: Row) -> str:
    """The element type for numbers that nothing else says the type of.

    Returns:
        "bool", "int64", or "float32" where one of the numbers is not whole by type.

    Raises:
        core.InvalidArgument: Some are bool, and some are not.
    """
    kinds = {_kind(number) for number in row.leaves}
    if kinds == {"bool"}:
        return "bool"
    if "bool" in kinds:
        numbers = ", ".join(map(str, row.leaves))
        raise core.InvalidArgument(
            f"{layer}: {row.path} must be bool everywhere or nowhere, got {numbers}"
        )
    return "int64" if kinds == {"int"} else "float32"


def _kind(number: Any) -> str:
    dtype = getattr(number, "dtype", None)  # of a NumPy scalar
    kind = type(number).__name__ if dtype is None else dtype.name
    return next((known for known in ("bool", "int") if kind.lstrip("u").startswith(known)), "float")


def fill_number(layer: str, path: str, number: Any, out: Variable, block: Block) -> None:
    """Appends the operator that fills `out` with a number.

    Raises:
        core.InvalidArgument: The element type cannot hold the number, or the shape is not known.
    """
    dtype = out.dtype
    value = float(number)
    fits = _kind(number) == "bool" if dtype == "bool" else _kind(number) != "bool"
    if dtype not in FLOATING and (not math.isfinite(value) or value != number):
        fits = False
    if dtype in ("int16", "int32", "int64") and not value.is_integer():
        fits = False
    if not fits:
        raise core.InvalidArgument(
            f"{layer}: {path} must be a number that {dtype} holds, got {number}"
        )
    if -1 in out.shape:
        raise core.InvalidArgument(
            f"{layer}: {path} must not be a number where the shape is known only at run time, got "
            f"{number} for {dtype} {list(out.shape)}; calculate a Variable of that shape"
        )
    attrs = {"shape": list(out.shape), "value": value, "dtype": dtype}
    block.append_op("fill_constant", {}, {"Out": out}, attrs)
