"""NVIDIA's cuBLASLt from its package on PyPI, where the system has none.

The core opens it by its file name when a GPU first multiplies; what is loaded already, it finds.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
from pathlib import Path

_FILE = "libcublasLt.so.13"


@functools.cache
def load() -> None:
    """Loads the library if one of the packages has it."""
    for folder in map(Path, sys.path):
        for path in folder.glob(f"nvidia/*/lib/{_FILE}"):
            with contextlib.suppress(OSError):  # the core says what is missing, and what to install
                ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
