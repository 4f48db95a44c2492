"""Python text that repeats a check, as pasted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from fluidcore.base.dtypes import FLOATING
from fluidcore.gradcheck.config import GradCheckConfig

_SAME_RESULT = frozenset({"workers"})  # whatever these are


@dataclass(frozen=True)
class Repro:
    """A program that repeats a check, but for its settings.

    Attributes:
        imports: Its first lines, without what the settings need.
        before: The call up to the settings: "GradientChecker(".
        after: What follows them: ").check_op('tanh', ...)".
        lead: What stands before the settings if there are some: ", config=".
    """

    imports: Sequence[str]
    before: str
    after: str = ")"
    lead: str = ""

    def text(self, config: GradCheckConfig) -> str:
        """The program for some settings."""
        settings = settings_text(config)
        imports = list(self.imports)
        if settings:
            imports.append("from fluidcore.gradcheck import GradCheckConfig")
            settings = self.lead + settings
        return "\n".join([*imports, "", f"print({self.before}{settings}{self.after})"])


def settings_text(config: GradCheckConfig) -> str:
    """Python text of settings that are not the defaults; "" if there are none."""
    given = [
        f"{field.name}={value!r}"
        for field in fields(config)
        if field.name not in _SAME_RESULT
        and (value := getattr(config, field.name)) != field.default
    ]
    return f"GradCheckConfig({', '.join(given)})" if given else ""


def array_text(value: Any) -> str:
    """Python text of an array, with the digits that its dtype has: "np.array([0.1], 'float32')"."""
    array = np.asarray(value)
    dtype = array.dtype.name
    if array.size == 0:
        return f"np.zeros({array.shape}, {dtype!r})"
    return f"np.array({_nested(array)}, {dtype!r})"


def _nested(array: Any) -> str:
    if array.ndim == 0:
        return _number_text(array[()])
    return f"[{', '.join(map(_nested, map(np.asarray, array)))}]"


def _number_text(number: Any) -> str:
    if np.asarray(number).dtype.name not in FLOATING:
        return repr(np.asarray(number).item())
    value = float(number)
    if not math.isfinite(value):
        return f"{'-' if value < 0 else ''}np.{'nan' if math.isnan(value) else 'inf'}"
    shortest = float(str(number))
    return repr(shortest if type(number)(shortest) == number else value)
