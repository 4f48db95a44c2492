"""Where a check has run."""

from __future__ import annotations

import functools
import platform

import numpy as np

from fluidcore import core


def environment() -> dict[str, str]:
    """Versions, processor and system, for a report."""
    return dict(_facts())


@functools.cache
def _facts() -> dict[str, str]:
    return {
        "fluidcore": core.version(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "processor": core.cpu_isa(),
        "system": platform.system(),
    }
