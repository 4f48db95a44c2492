"""What objects that hold settings print: their class, and the settings that matter."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

_MISSING = object()
_LONGEST = 60  # characters of a setting


class Settings:
    """Prints as the call that makes an equal object: "AdamOptimizer(learning_rate=0.01)".

    A class says its parameters in `__init__` and keeps each in the attribute of the same name, or
    of the name that `_kept_as` gives; what it does not keep is not printed. Defaults are printed
    only where they are floats or whole numbers other than 0: what decides how a network learns.
    """

    _kept_as: ClassVar[dict[str, str]] = {}

    def __repr__(self) -> str:
        import inspect

        given = []
        for name, parameter in inspect.signature(type(self)).parameters.items():
            value = getattr(self, self._kept_as.get(name, name), _MISSING)
            if value is not _MISSING and _matters(value, parameter.default):
                given.append(f"{name}={_text(value)}")
        return f"{type(self).__name__}({', '.join(given)})"


def _matters(value: Any, default: Any) -> bool:
    if isinstance(value, np.ndarray) or type(value) is not type(default):
        return value is not default
    is_rate = isinstance(value, float) or (type(value) is int and value != 0)  # 0: no seed
    return is_rate or bool(value != default)


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"<{value.dtype.name} {list(value.shape)}>"
    text = f"{value:g}" if isinstance(value, float) else repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
