"""What modules check of their inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.base.checks import check_number, is_whole
from fluidcore.eager.state import running
from fluidcore.eager.tensor import Tensor


def check_tensor(who: str, x: Any) -> Tensor:
    """The input as a tensor; an array becomes a constant.

    Raises:
        TypeError: It is something else.
    """
    if isinstance(x, Tensor):
        return x
    if isinstance(x, np.ndarray):
        return Tensor(x)
    raise TypeError(f"{who}: x must be a Tensor or an array, got {type(x).__name__}")


def check_last(who: str, x: Tensor, extents: Sequence[int]) -> Tensor:
    """The input; core.InvalidArgument if these are not its last extents."""
    if list(x.shape[max(x.ndim - len(extents), 0) :]) != list(extents):
        wanted = ", ".join(["...", *map(str, extents)])
        raise core.InvalidArgument(f"{who}: x must be [{wanted}], got {x.dtype} {list(x.shape)}")
    return x


def check_dtype(who: str, x: Tensor, weight: Tensor) -> Tensor:
    """The input; core.InvalidArgument if it has another element type than the weight.

    In `eager.precision` both are converted.
    """
    if x.dtype != weight.dtype and running.get() is None:
        raise core.InvalidArgument(
            f"{who}: x must be {weight.dtype}, as the parameters are, got {x.dtype} "
            f"{list(x.shape)}; write x.astype('{weight.dtype}')"
        )
    return x


def check_pair(who: str, argument: str, value: Any, least: int) -> tuple[int, int]:
    """Height and width of one whole number, or of two."""
    pair = (value, value) if is_whole(value) else value
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise core.InvalidArgument(
            f"{who}: {argument} must be a whole number or two, for height and width, got {value!r}"
        )
    if not all(is_whole(number) and number >= least for number in pair):
        raise core.InvalidArgument(
            f"{who}: {argument} must be whole numbers of at least {least}, got {value!r}"
        )
    return int(pair[0]), int(pair[1])


def check_share(what: str, value: Any) -> float:
    """A number in [0, 1]."""
    number = check_number(what, value)
    if not 0 <= number <= 1:
        raise core.InvalidArgument(f"{what} must be in [0, 1], got {value}")
    return number
