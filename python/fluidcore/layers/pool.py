"""Layers of pooling over images and volumes."""

from __future__ import annotations

from collections.abc import Sequence

from fluidcore import core
from fluidcore.layers.helper import LayerHelper, check_variable
from fluidcore.layers.windows import has_channels_last, numbers
from fluidcore.program import Variable


def _pool(
    layer: str,
    axes: int,
    input: Variable,
    pool_size: int | Sequence[int],
    pool_type: str,
    pool_stride: int | Sequence[int] | None,
    pool_padding: int | Sequence[int] | None,
    global_pooling: bool,
    ceil_mode: bool,
    name: str | None,
    data_format: str,
) -> Variable:
    check_variable(layer, "input", input)
    is_last = has_channels_last(layer, data_format, axes)
    window = numbers(layer, "pool_size", pool_size, axes)
    if not global_pooling and min(window) < 1:
        raise core.InvalidArgument(
            f"{layer}: pool_size must be at least 1 without global_pooling, got {pool_size}"
        )
    attrs = {
        "pooling_type": pool_type,
        "ksize": [max(extent, 1) for extent in window],
        "strides": numbers(layer, "pool_stride", pool_stride, axes, default=1),
        "paddings": numbers(layer, "pool_padding", pool_padding, axes),
        "global_pooling": global_pooling,
        "ceil_mode": ceil_mode,
        **({"data_format": data_format} if is_last else {}),
    }
    return LayerHelper(layer, name).append(layer, {"X": input}, attrs)


def pool2d(
    input: Variable,
    pool_size: int | Sequence[int] = -1,
    pool_type: str = "max",
    pool_stride: int | Sequence[int] | None = 1,
    pool_padding: int | Sequence[int] | None = 0,
    global_pooling: bool = False,
    use_cudnn: bool = True,
    ceil_mode: bool = False,
    name: str | None = None,
    data_format: str = "NCHW",
    use_mkldnn: bool = False,
) -> Variable:
    """Pooling: the largest element or the mean of each window.

    Args:
        input: [batch, channels, height, width], floating.
        pool_size: Height and width of the window, or one number for both.
        pool_type: "max" or "avg".
        pool_stride: Steps of the window; None is 1.
        pool_padding: Elements added on each side, which take no part in a mean; None is 0.
        global_pooling: Whether the window is the whole image.
        use_cudnn: Accepted; it changes nothing.
        ceil_mode: Whether a window that is partly outside counts.
        name: Name of the layer; None makes one up.
        data_format: "NCHW", or "NHWC": input and result have their channels last.
        use_mkldnn: Accepted; it changes nothing.

    Returns:
        [batch, channels, height', width'].
    """
    return _pool(
        "pool2d",
        2,
        input,
        pool_size,
        pool_type,
        pool_stride,
        pool_padding,
        global_pooling,
        ceil_mode,
        name,
        data_format,
    )


def pool3d(
    input: Variable,
    pool_size: int | Sequence[int] = -1,
    pool_type: str = "max",
    pool_stride: int | Sequence[int] | None = 1,
    pool_padding: int | Sequence[int] | None = 0,
    global_pooling: bool = False,
    use_cudnn: bool = True,
    ceil_mode: bool = False,
    name: str | None = None,
    data_format: str = "NCDHW",
    use_mkldnn: bool = False,
) -> Variable:
    """Pooling: the largest element or the mean of each window.

    Args:
        input: [batch, channels, depth, height, width], floating.
        pool_size: Depth, height and width of the window, or one number for all.
        pool_type: "max" or "avg".
        pool_stride: Steps of the window; None is 1.
        pool_padding: Elements added on each side, which take no part in a mean; None is 0.
        global_pooling: Whether the window is the whole volume.
        use_cudnn: Accepted; it changes nothing.
        ceil_mode: Whether a window that is partly outside counts.
        name: Name of the layer; None makes one up.
        data_format: "NCDHW", or "NDHWC": input and result have their channels last.
        use_mkldnn: Accepted; it changes nothing.

    Returns:
        [batch, channels, depth', height', width'].
    """
    return _pool(
        "pool3d",
        3,
        input,
        pool_size,
        pool_type,
        pool_stride,
        pool_padding,
        global_pooling,
        ceil_mode,
        name,
        data_format,
    )


def adaptive_pool2d(
    input: Variable,
    pool_size: int | Sequence[int],
    pool_type: str = "max",
    name: str | None = None,
) -> Variable:
    """Pooling to an image of a given size.

    Args:
        input: [batch, channels, height, width], floating.
        pool_size: Height and width of the result, or one number for both.
        pool_type: "max" or "avg".
        name: Name of the layer; None makes one up.

    Returns:
        [batch, channels, *pool_size].
    """
    return _adaptive_pool("adaptive_pool2d", 2, input, pool_size, pool_type, name)


def adaptive_pool3d(
    input: Variable,
    pool_size: int | Sequence[int],
    pool_type: str = "max",
    name: str | None = None,
) -> Variable:
    """Pooling to a volume of a given size.

    Args:
        input: [batch, channels, depth, height, width], floating.
        pool_size: Depth, height and width of the result, or one number for all.
        pool_type: "max" or "avg".
        name: Name of the layer; None makes one up.

    Returns:
        [batch, channels, *pool_size].
    """
    return _adaptive_pool("adaptive_pool3d", 3, input, pool_size, pool_type, name)


def _adaptive_pool(
    layer: str,
    axes: int,
    input: Variable,
    pool_size: int | Sequence[int],
    pool_type: str,
    name: str | None,
) -> Variable:
    check_variable(layer, "input", input)
    size = numbers(layer, "pool_size", pool_size, axes)
    if min(size) < 1:
        raise core.InvalidArgument(f"{layer}: pool_size must be at least 1, got {pool_size}")
    attrs = {"pooling_type": pool_type, "ksize": size, "adaptive": True}
    return LayerHelper(layer, name).append(f"pool{axes}d", {"X": input}, attrs)
