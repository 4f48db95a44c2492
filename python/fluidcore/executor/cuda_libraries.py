"""NVIDIA's libraries from their packages on PyPI, where the system has none.

The core opens them by their file names when a GPU is first used; what is loaded already, it finds.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from pathlib import Path

_FILES = ("libcublasLt.so.13", "libcudnn.so.9")


@functools.cache
def load() -> None:
    """Loads each library that one of the packages has."""
    for folder in map(Path, sys.path):
        for name in _FILES:
            for path in folder.glob(f"nvidia/*/lib/{name}"):
                try:
                    ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
                except OSError:  # the core says what is missing, and what to install
                    continue
