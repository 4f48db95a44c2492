"""NVIDIA's libraries from their packages on PyPI, where the system has none.

The core opens them by their file names when a GPU first needs them; what is loaded already, it
finds.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
from pathlib import Path

CUBLAS = "libcublasLt.so.13"  # for products
NCCL = "libnccl.so.2"  # for ranks that exchange


@functools.cache
def load(file: str) -> None:
    """Loads a library if one of the packages has it."""
    for folder in map(Path, sys.path):
        for path in folder.glob(f"nvidia/*/lib/{file}"):
            with contextlib.suppress(OSError):  # the core says what is missing, and what to install
                ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
