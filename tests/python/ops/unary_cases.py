"""What operators of one argument have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from op_data import Doubles
from op_runner import run_op


def of(formula: Callable[..., Any]) -> Callable[..., dict[str, Doubles]]:
    """The NumPy function of an OpCase; `formula` takes X and then the attributes in their order."""
    return lambda X, **attrs: {"Out": np.asarray(formula(X, *attrs.values()))}


def reaches_its_limits(*rows: tuple[str, list[float], list[float]]) -> pytest.MarkDecorator:
    """Parametrizes a test with operators, inputs and their exact outputs, in two dtypes."""
    cases = [(*row, dtype) for row in rows for dtype in ("float32", "float64")]
    ids = [f"{name}-{dtype}" for name, _, _, dtype in cases]
    return pytest.mark.parametrize(("name", "x", "expected", "dtype"), cases, ids=ids)


def keeps_nan(name: str) -> None:
    """Fails if an operator makes a number of NaN, in any of several lengths."""
    for size in (1, 8, 33):
        out = run_op(name, {"X": np.full(size, np.nan, dtype=np.float32)})["Out"]
        assert np.isnan(out).all()
