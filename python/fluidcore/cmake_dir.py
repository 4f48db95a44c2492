"""Where CMake finds the C++ library: `cmake -D fluidcore_DIR=$(python -m fluidcore.cmake_dir)`."""

from __future__ import annotations

from pathlib import Path

from fluidcore import _core


def cmake_dir() -> Path:
    """The folder of fluidcore-config.cmake, beside the headers and the library of this package."""
    return Path(_core.__file__).parent / "lib" / "cmake" / "fluidcore"


if __name__ == "__main__":
    print(cmake_dir())
