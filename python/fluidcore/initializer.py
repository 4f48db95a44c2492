"""The first values of parameters: operators of the startup program."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np

from fluidcore import core
from fluidcore.base.checks import check_number
from fluidcore.base.dtypes import FLOATING, HALF, numpy_dtype
from fluidcore.base.settings import Settings

if TYPE_CHECKING:
    from fluidcore.program import Block, Operator, Variable


def _fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """(fan_in, fan_out) of a weight: [in, out], or [out, in, window...] of a convolution."""
    if len(shape) < 2:
        size = math.prod(shape)
        return size, size
    if len(shape) == 2:
        return shape[0], shape[1]
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window


class Initializer(Settings):
    """Called with a variable of the startup program, appends the operator that fills it."""

    def __call__(self, var: Variable, block: Block) -> Operator:
        """Appends to `block` the operator that writes `var`."""
        raise NotImplementedError


class _Random(Initializer):
    """Random numbers; 16-bit variables get rounded float32 numbers."""

    seed: int

    def _append(self, var: Variable, block: Block, op_type: str, **attrs: Any) -> Operator:
        attrs |= {"shape": var.shape, "seed": self.seed}
        if var.dtype not in HALF:
            return block.append_op(op_type, {}, {"Out": var}, attrs | {"dtype": var.dtype})
        wide = block.append_single(
            op_type, {}, attrs | {"dtype": "float32"}, key=f"{var.name}.wide"
        )
        cast = {"in_dtype": "float32", "out_dtype": var.dtype}
        return block.append_op("cast", {"X": wide}, {"Out": var}, cast)


class ConstantInitializer(Initializer):
    """Every element is `value`."""

    def __init__(self, value: float = 0.0, force_cpu: bool = False) -> None:
        self.value = check_number("Constant: value", value, finite=False)
        self.force_cpu = force_cpu

    def __call__(self, var: Variable, block: Block) -> Operator:
        """Appends fill_constant."""
        attrs = {"shape": var.shape, "value": self.value, "dtype": var.dtype}
        return block.append_op("fill_constant", {}, {"Out": var}, attrs)


class UniformInitializer(_Random):
    """Uniform in [low, high). A seed of 0 means the program's."""

    def __init__(self, low: float = -1.0, high: float = 1.0, seed: int = 0) -> None:
        self.low = check_number("Uniform: low", low)
        self.high = check_number("Uniform: high", high)
        if not low <= high:
            raise ValueError(f"Uniform: low must be at most high, got low {low}, high {high}")
        self.seed = seed

    def __call__(self, var: Variable, block: Block) -> Operator:
        """Appends uniform_random."""
        return self._append(var, block, "uniform_random", min=self.low, max=self.high)


class NormalInitializer(_Random):
    """Normal with mean `loc` and standard deviation `scale`. A seed of 0 means the program's."""

    _kind = "Normal"
    _op_type = "gaussian_random"

    def __init__(self, loc: float = 0.0, scale: float = 1.0, seed: int = 0) -> None:
        if not scale >= 0:
            raise ValueError(f"{self._kind}: scale must be at least 0, got {scale}")
        self.loc = float(loc)
        self.scale = float(scale)
        self.seed = seed

    def __call__(self, var: Variable, block: Block) -> Operator:
        """Appends the operator that draws the numbers."""
        return self._append(var, block, self._op_type, mean=self.loc, std=self.scale)


class TruncatedNormalInitializer(NormalInitializer):
    """As Normal, but drawn again where it is more than two standard deviations from `loc`."""

    _kind = "TruncatedNormal"
    _op_type = "truncated_gaussian_random"


class XavierInitializer(Initializer):
    """Keeps the variance through a layer with a symmetric activation (Glorot).

    Args:
        uniform: Uniform in ±sqrt(6 / (fan_in + fan_out)), else normal with the same variance.
        fan_in: Number of inputs of one output; None takes it from the shape.
        fan_out: Number of outputs of one input; None takes it from the shape.
        seed: 0 means the program's.
    """

    def __init__(
        self,
        uniform: bool = True,
        fan_in: float | None = None,
        fan_out: float | None = None,
        seed: int = 0,
    ) -> None:
        self.uniform = uniform
        self.fan_in = fan_in
        self.fan_out = fan_out
        self.seed = seed

    def __call__(self, var: Variable, block: Block) -> Operator:
        """Appends uniform_random or gaussian_random."""
        fan_in, fan_out = _fans(var.shape)
        fans = (self.fan_in or fan_in) + (self.fan_out or fan_out)
        return _with_variance(2.0 / max(fans, 1), self.uniform, self.seed)(var, block)


class MSRAInitializer(Initializer):
    """Keeps the variance through a layer with ReLU (He).

    Args:
        uniform: Uniform in ±sqrt(6 / fan_in), else normal with the same variance.
        fan_in: Number of inputs of one output; None takes it from the shape.
        seed: 0 means the program's.
    """

    def __init__(self, uniform: bool = True, fan_in: float | None = None, seed: int = 0) -> None:
        self.uniform = uniform
        self.fan_in = fan_in
        self.seed = seed

    def __call__(self, var: Variable, block: Block) -> Operator:
        """Appends uniform_random or gaussian_random."""
        fan_in = self.fan_in or _fans(var.shape)[0]
        return _with_variance(2.0 / max(fan_in, 1), self.uniform, self.seed)(var, block)


class NumpyArrayInitializer(Initializer):
    """The elements of an array, which the program holds: for small parameters.

    Args:
        value: Array or nested list of the variable's shape; it is converted to its element type,
            floating numbers being rounded.
    """

    def __init__(self, value: Any) -> None:
        self.value = np.array(value)
        if self.value.dtype.kind not in "biuf" and self.value.dtype.name not in FLOATING:
            raise TypeError(f"NumpyArray: value must be an array of numbers, got {value!r}")

    def __call__(self, var: Variable, block: Block) -> Operator:
        """Appends assign_value."""
        if self.value.shape != var.shape:
            raise core.InvalidArgument(
                f"NumpyArray: the value must have the shape of '{var.name}', {list(var.shape)}, "
                f"got {list(self.value.shape)}"
            )
        is_floating = var.dtype in FLOATING
        with np.errstate(over="ignore", invalid="ignore"):
            held = self.value.astype(numpy_dtype(var.dtype))
            back = held.astype(self.value.dtype)
        fits = np.isinf(held) == np.isinf(self.value) if is_floating else back == self.value
        if not np.all(fits):
            raise core.InvalidArgument(
                f"NumpyArray: the value must hold numbers that {var.dtype} can hold, as "
                f"'{var.name}' is, got {self.value[~fits][0]}"
            )
        wide = held.astype(np.float64 if is_floating else np.int64)
        name = "fp32_values" if is_floating else "int32_values"
        attrs = {"shape": var.shape, "dtype": var.dtype, name: wide.ravel().tolist()}
        return block.append_op("assign_value", {}, {"Out": var}, attrs)


class BilinearInitializer(Initializer):
    """Makes a transposed convolution enlarge images by bilinear interpolation.

    For a weight [out, in, k, k]. With an enlargement of f, stride f, padding ceil((f - 1) / 2) and
    k = 2 f - f % 2 give it.
    """

    def __call__(self, var: Variable, block: Block) -> Operator:
        """Appends assign_value."""
        if len(var.shape) != 4 or var.shape[2] != var.shape[3]:
            raise core.InvalidArgument(
                f"Bilinear: '{var.name}' must have the shape [out, in, k, k], got {list(var.shape)}"
            )
        size = var.shape[3]
        factor = math.ceil(size / 2)
        center = (2 * factor - 1 - factor % 2) / (2 * factor)
        row = 1 - np.abs(np.arange(size) / factor - center)
        window = np.broadcast_to(np.outer(row, row), var.shape)
        return NumpyArrayInitializer(window)(var, block)


def _with_variance(variance: float, uniform: bool, seed: int) -> Initializer:
    if uniform:
        limit = math.sqrt(3.0 * variance)
        return UniformInitializer(-limit, limit, seed)
    return NormalInitializer(0.0, math.sqrt(variance), seed)


Constant = ConstantInitializer
Uniform = UniformInitializer
Normal = NormalInitializer
Xavier = XavierInitializer
MSRA = MSRAInitializer
TruncatedNormal = TruncatedNormalInitializer
NumpyArray = NumpyArrayInitializer
Bilinear = BilinearInitializer


_on_cpu: ContextVar[bool] = ContextVar("fluidcore_init_on_cpu", default=False)


def force_init_on_cpu() -> bool:
    """Whether this is within `init_on_cpu()`."""
    return _on_cpu.get()


@contextmanager
def init_on_cpu() -> Iterator[None]:
    """Variables of the `with` block are initialized on the CPU, as all others are."""
    token = _on_cpu.set(True)
    try:
        yield
    finally:
        _on_cpu.reset(token)
