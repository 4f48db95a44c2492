"""What layers that move a window over an image or a volume check."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.base.checks import is_whole
from fluidcore.layers.helper import check_size
from fluidcore.program import Variable

_COUNTS = {2: "one or two", 3: "one or three"}
_FORMATS = {2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}
_AXES = {2: "height, width", 3: "depth, height, width"}


def numbers(
    layer: str, argument: str, value: int | Sequence[int] | None, axes: int, default: int = 0
) -> list[int]:
    """One number for each of `axes` axes; `default` for None."""
    value = default if value is None else value
    numbers: list[Any] = (
        list(value) if isinstance(value, (list, tuple, np.ndarray)) else [value] * axes
    )
    if len(numbers) != axes or not all(is_whole(item) for item in numbers):
        raise core.InvalidArgument(
            f"{layer}: {argument} must be {_COUNTS[axes]} whole numbers, got {value!r}"
        )
    return [int(item) for item in numbers]


def has_channels_last(layer: str, data_format: str, axes: int) -> bool:
    """Whether the channels of images are their last dimension; InvalidArgument for no format."""
    first, last = _FORMATS[axes]
    if data_format not in (first, last):
        raise core.InvalidArgument(
            f"{layer}: data_format must be '{first}' or '{last}', got {data_format!r}"
        )
    return data_format == last


def checked_channels(
    layer: str, input: Variable, groups: int, axes: int, is_last: bool = False
) -> int:
    """The channels of `input`; InvalidArgument unless they are known and a multiple of groups."""
    check_size(layer, "groups", groups)
    position = axes + 1 if is_last else 1
    channels = input.shape[position] if len(input.shape) == axes + 2 else -1
    if channels < 1 or channels % groups != 0:
        dims = f"{_AXES[axes]}, channels" if is_last else f"channels, {_AXES[axes]}"
        raise core.InvalidArgument(
            f"{layer}: input must be [batch, {dims}] with known channels that are "
            f"a multiple of groups, got {list(input.shape)} with groups {groups}"
        )
    return channels
