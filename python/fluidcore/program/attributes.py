"""Attributes as users write them, turned into what an operator stores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.base.checks import check_name
from fluidcore.base.dtypes import dtype_number

_PLAIN = frozenset({bool, int, float, core.BlockIndex})
_DTYPES = frozenset({"dtype", "in_dtype", "out_dtype"})


def _plain_value(op_type: str, name: str, value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    if isinstance(value, str):
        return str(check_name(f"{op_type}: attribute '{name}'", value))
    if isinstance(value, (list, tuple)):
        return [_plain_value(op_type, name, item) for item in value]
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    for kind in (int, float):
        if isinstance(value, kind):
            return kind(value)
    if value is None:
        raise core.InvalidArgument(
            f"{op_type}: attribute '{name}' must have a value, got None; "
            "leave it out if it has a default"
        )
    raise core.InvalidArgument(
        f"{op_type}: attribute '{name}' must be a bool, int, float, str, block or a list of these, "
        f"got {type(value).__name__} {value!r}"
    )


def plain_attributes(op_type: str, attrs: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes as Python values of the same kind.

    NumPy scalars and arrays become Python numbers and lists, tuples become lists, and the
    attributes that name an element type become Fluid's numbers.

    Raises:
        core.InvalidArgument: An attribute is None or of a type that no attribute has.
    """
    return {
        name: dtype_number(value) if name in _DTYPES else _plain_value(op_type, name, value)
        for name, value in attrs.items()
    }
