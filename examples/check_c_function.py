"""Checks C functions that are called by pointer: one in float64, one that only float32 has.

A C function becomes a function of NumPy arrays in a few lines of ctypes; nothing else is needed.
"""

import ctypes
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from fluidcore.gradcheck import check

CODE = r"""
#include <math.h>
void swish(const double* x, double* y, long n) {
  for (long i = 0; i < n; ++i) y[i] = x[i] / (1 + exp(-x[i]));
}
void swish_vjp(const double* x, const double* v, double* dx, long n) {
  for (long i = 0; i < n; ++i) {
    double s = 1 / (1 + exp(-x[i]));
    dx[i] = v[i] * (s + x[i] * s * (1 - s));
  }
}
void swishf(const float* x, float* y, long n) {
  for (long i = 0; i < n; ++i) y[i] = x[i] / (1 + expf(-x[i]));
}
void swishf_vjp(const float* x, const float* v, float* dx, long n) {
  for (long i = 0; i + 1 < n; ++i) {  /* forgets the last element */
    float s = 1 / (1 + expf(-x[i]));
    dx[i] = v[i] * (s + x[i] * s * (1 - s));
  }
}
"""


def of_arrays(function: Any, dtype: type[np.floating]) -> Callable[..., npt.NDArray[Any]]:
    """A C function (const T* x, ..., T* result, long n) as a function of arrays of this dtype."""
    pointer = np.ctypeslib.ndpointer(dtype, flags="C_CONTIGUOUS")

    def call(*given: npt.NDArray[Any]) -> npt.NDArray[Any]:
        arrays = [np.ascontiguousarray(array, dtype) for array in given]
        result = np.zeros_like(arrays[0])
        function.argtypes = [pointer] * (len(arrays) + 1) + [ctypes.c_long]
        function.restype = None
        function(*arrays, result, result.size)
        return result

    return call


def main(compiler: str) -> None:
    """Compiles, loads and checks; the library is unloaded with the process."""
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "swish.c").write_text(CODE)
    built = folder / "swish.so"
    subprocess.run(
        [compiler, "-O2", "-shared", "-fPIC", folder / "swish.c", "-o", built, "-lm"], check=True
    )
    library = ctypes.CDLL(str(built))
    shutil.rmtree(folder)

    x = np.linspace(-3, 3, 8)
    double = of_arrays(library.swish, np.float64)
    print(check(double, x, vjp=of_arrays(library.swish_vjp, np.float64), name="swish"))

    # float64 arguments are rounded to float32 here: the check sees it, and judges float32 alone.
    single = of_arrays(library.swishf, np.float32)
    gradient = of_arrays(library.swishf_vjp, np.float32)
    x = x.astype(np.float32)
    print(check(single, x, vjp=gradient, name="swishf", raise_exception=False))


if found := shutil.which("cc") or shutil.which("gcc"):
    main(found)
else:
    print("there is no C compiler")
