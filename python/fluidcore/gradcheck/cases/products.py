"""Products of matrices, convolutions and pooling."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fluidcore.gradcheck.cases.example import Data, OpExample
from fluidcore.gradcheck.cases.table import Cases, Row, row, table


def _with_square(factors: Callable[..., list[Row]]) -> Cases:
    """Of the product of X and Y, and of a matrix with itself."""
    cases = table("X Y", factors)

    def examples(op_type: str, data: Data) -> Iterator[OpExample]:
        yield from cases(op_type, data)
        x = data.normal(3, 3)
        yield OpExample(op_type, {"X": x, "Y": x}, note="one variable twice")

    return examples


def _conv2d(op_type: str, data: Data) -> Iterator[OpExample]:
    n, c, m = data.extents(3, 1, 3)
    h, w = data.extents(2, 4, 6)
    if op_type == "conv2d":
        rows = [
            row((n, c, h, w), (m, c, 3, 2)),
            row((1, 1, 1, 1), (1, 1, 1, 1)),
            row((n, c, h, w), (m, c, 3, 3), paddings=[1, 1]),
            row((1, c, h, w), (m, c, 3, 2), strides=[2, 1], paddings=[1, 0]),
            row((1, 2, h + 1, 6), (m, 2, 2, 3), dilations=[2, 2]),
            row((1, 2 * c, h, 4), (2 * m, c, 3, 3), groups=2, paddings=[1, 1]),
            row((1, 3, 5, w), (3, 1, 3, 3), groups=3, strides=[2, 2], paddings=[1, 1]),
            row((0, c, 4, 4), (m, c, 3, 3)),
        ]
    else:  # depthwise, with m filters of each channel
        rows = [
            row((n, c, h, w), (c * m, 1, 3, 2), groups=c),
            row((1, 3, 5, w), (3, 1, 3, 3), groups=3, strides=[2, 2], paddings=[1, 1]),
            row((1, 1, 1, 1), (1, 1, 1, 1), groups=1),
            row((0, c, 4, 4), (c, 1, 3, 3), groups=c),
        ]
    return table("Input Filter", lambda: rows)(op_type, data)


def _conv(axes: int, *, transpose: bool = False) -> Cases:
    """Over any number of axes; a transposed one has the channels of its result behind."""
    one, two, three = ((number,) * axes for number in (1, 2, 3))

    def examples(op_type: str, data: Data) -> Iterator[OpExample]:
        n, c, m = data.extents(3, 1, 3)
        extents = data.extents(axes, 2, 3) if transpose else data.extents(axes, 3, 5)
        a, b = (c, m) if transpose else (m, c)
        grouped = (2 * c, m) if transpose else (2 * m, c)
        rows = [
            row((n, c, *extents), (a, b, *two)),
            row((1, 1, *one), (1, 1, *one)),
            row((1, c, *extents), (a, b, *three), strides=[*two], paddings=[*one]),
            row((1, c, *extents), (a, b, *two), dilations=[*two]),
            row((1, 2 * c, *extents), (*grouped, *two), groups=2),
            row((0, c, *three), (a, b, *two)),
        ]
        return table("Input Filter", lambda: rows)(op_type, data)

    return examples


def _pool(rows: Callable[..., list[Row]]) -> Cases:
    """The greatest and the mean of windows."""

    def examples(op_type: str, data: Data) -> Iterator[OpExample]:
        n, c = data.extents(2, 1, 2)
        extents = data.extents(2, 4, 6) if op_type == "pool2d" else ()
        variants = rows(n, c, *extents)
        for kind in ("max", "avg"):
            for (shape,), attrs, *_ in variants:
                x = data.distinct(*(shape or ()))
                yield OpExample(op_type, {"X": x}, {"pooling_type": kind, **attrs})
        if op_type == "pool2d":
            x = data.distinct(1, 1, 4, 4)
            x[0, 0, :2, :2] = 1
            attrs = {"pooling_type": "max", "ksize": [2, 2], "strides": [2, 2]}
            yield OpExample(op_type, {"X": x}, attrs, note="with ties")

    return examples


def _max_pool_with_index(axes: int) -> Cases:
    one, two = [1] * axes, [2] * axes

    def examples(op_type: str, data: Data) -> Iterator[OpExample]:
        n, c = data.extents(2, 1, 2)
        extents = data.extents(axes, 3, 4)
        rows = [
            row((n, c, *extents), ksize=two),
            row((1, c, *extents), ksize=[3] * axes, strides=two, paddings=one),
            row((n, c, *extents), ksize=one, global_pooling=True),
            row((1, c, *[5] * axes), ksize=two, adaptive=True),
            row((1, 1, *one), ksize=one),
            row((0, c, *two), ksize=two),
        ]
        return table("X:distinct", lambda: rows)(op_type, data)

    return examples


CASES: dict[str, Cases] = {
    "mul": _with_square(
        lambda a, b, c, d: [
            row((a, b), (b, c)),
            row((1, 1), (1, 1)),
            row((a, 17), (17, c)),
            row((a, b, c), (b * c, d)),
            row((a, b, c), (c, d), x_num_col_dims=2),
            row((a, b * c), (b, c, d), y_num_col_dims=2),
            row((a, 2, b, 3), (3, b, 2, d), x_num_col_dims=2, y_num_col_dims=2),
            row((0, b), (b, c)),
            row((a, 0), (0, c)),
        ]
    ),
    "matmul": _with_square(
        lambda a, b, c, n: [
            row((a, b), (b, c)),
            row((b, a), (b, c), transpose_X=True),
            row((a, b), (c, b), transpose_Y=True),
            row((b, a), (c, b), transpose_X=True, transpose_Y=True),
            row((b,), (b,)),
            row((b,), (b, c)),
            row((a, b), (b,)),
            row((a,), (c,), transpose_X=True, transpose_Y=True),
            row((n, a, b), (n, b, c)),
            row((n, b, a), (n, c, b), transpose_X=True, transpose_Y=True),
            row((n, a, b), (b, c)),
            row((a, b), (n, b, c)),
            row((n, a, b), (b,)),
            row((0, b), (b, c)),
        ]
    ),
    "scaled_dot_product_attention": table(
        "Q K V Mask",
        lambda b, h, q, k: [
            row((b, h, q, 2), (b, h, k, 2), (b, h, k, 3), None),
            row((b, h, q, 2), (b, h, k, 2), (b, h, k, 3), None, causal=True),
            row((b, h, q, 2), (b, h, k, 2), (b, h, k, 2), None, scale=0.25),
            row((b, h, q, 2), (b, h, k, 2), (b, h, k, 3), (q, k)),
            row((b, h, q, 2), (b, h, k, 2), (b, h, k, 3), (b, 1, 1, k), causal=True),
            row((0, h, k, 2), (0, h, k, 2), (0, h, k, 2), None),
        ],
    ),
    "conv1d": _conv(1),
    "conv2d": _conv2d,
    "conv3d": _conv(3),
    "depthwise_conv2d": _conv2d,
    **{f"conv{axes}d_transpose": _conv(axes, transpose=True) for axes in (1, 2, 3)},
    "pool1d": _pool(
        lambda n, c: [
            row((n, c, 6), ksize=[2], strides=[2]),
            row((1, c, 7), ksize=[3], strides=[2], paddings=[1], ceil_mode=True),
            row((n, c, 7), ksize=[3], adaptive=True),
            row((n, c, 5), ksize=[1], global_pooling=True),
            row((0, c, 4), ksize=[2]),
        ]
    ),
    "pool2d": _pool(
        lambda n, c, height, width: [
            row((n, c, 4, 6), ksize=[2, 2], strides=[2, 2]),
            row((1, 1, 1, 1), ksize=[1, 1]),
            row((n, c, height, width), ksize=[3, 2]),
            row((1, c, height, width), ksize=[3, 3], strides=[2, 2], paddings=[1, 1]),
            row((1, c, 6, 6), ksize=[3, 3], strides=[2, 2], ceil_mode=True),
            row((n, c, height, 3), ksize=[1, 1], global_pooling=True),
            row((n, c, 7, 5), ksize=[3, 2], adaptive=True),
            row((0, c, 4, 4), ksize=[2, 2]),
        ]
    ),
    "pool3d": _pool(
        lambda n, c: [
            row((n, c, 2, 4, 3), ksize=[2, 2, 2], strides=[1, 2, 1]),
            row((1, 1, 1, 1, 1), ksize=[1, 1, 1]),
            row((1, c, 3, 4, 3), ksize=[3, 2, 3], strides=[2, 2, 2], paddings=[1, 1, 1]),
            row((1, c, 4, 3, 4), ksize=[3, 2, 3], strides=[2, 2, 2], ceil_mode=True),
            row((n, c, 2, 3, 2), ksize=[1, 1, 1], global_pooling=True),
            row((1, c, 3, 4, 2), ksize=[2, 3, 2], adaptive=True),
            row((0, c, 2, 2, 2), ksize=[2, 2, 2]),
        ]
    ),
    **{f"max_pool{axes}d_with_index": _max_pool_with_index(axes) for axes in (2, 3)},
}
