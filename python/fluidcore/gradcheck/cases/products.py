"""Products of matrices, convolutions and pooling."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from fluidcore.gradcheck.cases.example import Data, OpExample


def _mul(data: Data) -> Iterator[OpExample]:
    a, b, c, d = data.extents(4, 2)

    def case(x: Sequence[int], y: Sequence[int], **attrs: Any) -> OpExample:
        return OpExample("mul", {"X": data.normal(*x), "Y": data.normal(*y)}, attrs)

    yield from (
        case([a, b], [b, c]),
        case([1, 1], [1, 1]),
        case([a, 17], [17, c]),
        case([a, b, c], [b * c, d]),
        case([a, b, c], [c, d], x_num_col_dims=2),
        case([a, b * c], [b, c, d], y_num_col_dims=2),
        case([a, 2, b, 3], [3, b, 2, d], x_num_col_dims=2, y_num_col_dims=2),
        case([0, b], [b, c]),
        case([a, 0], [0, c]),
    )
    x = data.normal(3, 3)
    yield OpExample("mul", {"X": x, "Y": x}, note="one variable twice")


def _matmul(data: Data) -> Iterator[OpExample]:
    a, b, c, n = data.extents(4, 2)

    def case(x: Sequence[int], y: Sequence[int], **attrs: Any) -> OpExample:
        return OpExample("matmul", {"X": data.normal(*x), "Y": data.normal(*y)}, attrs)

    yield from (
        case([a, b], [b, c]),
        case([b, a], [b, c], transpose_X=True),
        case([a, b], [c, b], transpose_Y=True),
        case([b, a], [c, b], transpose_X=True, transpose_Y=True),
        case([b], [b]),
        case([b], [b, c]),
        case([a, b], [b]),
        case([a], [c], transpose_X=True, transpose_Y=True),
        case([n, a, b], [n, b, c]),
        case([n, b, a], [n, c, b], transpose_X=True, transpose_Y=True),
        case([n, a, b], [b, c]),
        case([a, b], [n, b, c]),
        case([n, a, b], [b]),
        case([0, b], [b, c]),
    )
    x = data.normal(3, 3)
    yield OpExample("matmul", {"X": x, "Y": x}, note="one variable twice")


def _attention(data: Data) -> Iterator[OpExample]:
    b, h, queries, keys = data.extents(4, 2)

    def case(mask: Sequence[int] | None = None, width: int = 3, **attrs: Any) -> OpExample:
        inputs = {
            "Q": data.normal(b, h, queries, 2),
            "K": data.normal(b, h, keys, 2),
            "V": data.normal(b, h, keys, width),
        }
        if mask is not None:
            inputs["Mask"] = data.normal(*mask)
        return OpExample("scaled_dot_product_attention", inputs, attrs)

    yield from (
        case(),
        case(causal=True),
        case(scale=0.25, width=2),
        case((queries, keys)),
        case((b, 1, 1, keys), causal=True),
    )
    empty = {slot: data.normal(0, h, keys, 2) for slot in "QKV"}
    yield OpExample("scaled_dot_product_attention", empty)


def _conv2d(data: Data) -> Iterator[OpExample]:
    n, c, m = data.extents(3, 1, 3)
    height, width = data.extents(2, 4, 6)

    def case(image: Sequence[int], filters: Sequence[int], **attrs: Any) -> OpExample:
        inputs = {"Input": data.normal(*image), "Filter": data.normal(*filters)}
        return OpExample("conv2d", inputs, attrs)

    yield from (
        case([n, c, height, width], [m, c, 3, 2]),
        case([1, 1, 1, 1], [1, 1, 1, 1]),
        case([n, c, height, width], [m, c, 3, 3], paddings=[1, 1]),
        case([1, c, height, width], [m, c, 3, 2], strides=[2, 1], paddings=[1, 0]),
        case([1, 2, height + 1, 6], [m, 2, 2, 3], dilations=[2, 2]),
        case([1, 2 * c, height, 4], [2 * m, c, 3, 3], groups=2, paddings=[1, 1]),
        case([1, 3, 5, width], [3, 1, 3, 3], groups=3, strides=[2, 2], paddings=[1, 1]),
        case([0, c, 4, 4], [m, c, 3, 3]),
    )


def _depthwise_conv2d(data: Data) -> Iterator[OpExample]:
    n, c, times = data.extents(3, 1, 3)
    height, width = data.extents(2, 4, 6)

    def case(image: Sequence[int], filters: Sequence[int], **attrs: Any) -> OpExample:
        inputs = {"Input": data.normal(*image), "Filter": data.normal(*filters)}
        return OpExample("depthwise_conv2d", inputs, {"groups": image[1], **attrs})

    yield from (
        case([n, c, height, width], [c * times, 1, 3, 2]),
        case([1, 3, 5, width], [3, 1, 3, 3], strides=[2, 2], paddings=[1, 1]),
        case([1, 1, 1, 1], [1, 1, 1, 1]),
        case([0, c, 4, 4], [c, 1, 3, 3]),
    )


def _conv_of(axes: int) -> Callable[[Data], Iterator[OpExample]]:
    """Over another number of axes than two."""

    def examples(data: Data) -> Iterator[OpExample]:
        n, c, m = data.extents(3, 1, 3)
        extents = data.extents(axes, 3, 5)
        one, two, three = ([number] * axes for number in (1, 2, 3))

        def case(image: Sequence[int], filters: Sequence[int], **attrs: Any) -> OpExample:
            inputs = {"Input": data.normal(*image), "Filter": data.normal(*filters)}
            return OpExample(f"conv{axes}d", inputs, attrs)

        yield from (
            case([n, c, *extents], [m, c, *two]),
            case([1, 1, *one], [1, 1, *one]),
            case([1, c, *extents], [m, c, *three], strides=two, paddings=one),
            case([1, c, *extents], [m, c, *two], dilations=two),
            case([1, 2 * c, *extents], [2 * m, c, *two], groups=2),
            case([0, c, *three], [m, c, *two]),
        )

    return examples


def _conv_transpose_of(axes: int) -> Callable[[Data], Iterator[OpExample]]:
    def examples(data: Data) -> Iterator[OpExample]:
        n, c, m = data.extents(3, 1, 3)
        extents = data.extents(axes, 2, 3)
        one, two, three = ([number] * axes for number in (1, 2, 3))

        def case(image: Sequence[int], filters: Sequence[int], **attrs: Any) -> OpExample:
            inputs = {"Input": data.normal(*image), "Filter": data.normal(*filters)}
            return OpExample(f"conv{axes}d_transpose", inputs, attrs)

        yield from (
            case([n, c, *extents], [c, m, *two]),
            case([1, 1, *one], [1, 1, *one]),
            case([1, c, *extents], [c, m, *three], strides=two, paddings=one),
            case([1, c, *extents], [c, m, *two], dilations=two),
            case([1, 2 * c, *extents], [2 * c, m, *two], groups=2),
            case([0, c, *three], [c, m, *two]),
        )

    return examples


def _pool1d(data: Data) -> Iterator[OpExample]:
    n, c = data.extents(2, 1, 2)
    variants: list[tuple[Sequence[int], dict[str, Any]]] = [
        ([n, c, 6], {"ksize": [2], "strides": [2]}),
        ([1, c, 7], {"ksize": [3], "strides": [2], "paddings": [1], "ceil_mode": True}),
        ([n, c, 7], {"ksize": [3], "adaptive": True}),
        ([n, c, 5], {"ksize": [1], "global_pooling": True}),
        ([0, c, 4], {"ksize": [2]}),
    ]
    for kind in ("max", "avg"):
        for shape, attrs in variants:
            x = data.distinct(*shape)
            yield OpExample("pool1d", {"X": x}, {"pooling_type": kind, **attrs})


def _pool2d(data: Data) -> Iterator[OpExample]:
    n, c = data.extents(2, 1, 2)
    height, width = data.extents(2, 4, 6)
    variants: list[tuple[Sequence[int], dict[str, Any]]] = [
        ([n, c, 4, 6], {"ksize": [2, 2], "strides": [2, 2]}),
        ([1, 1, 1, 1], {"ksize": [1, 1]}),
        ([n, c, height, width], {"ksize": [3, 2]}),
        ([1, c, height, width], {"ksize": [3, 3], "strides": [2, 2], "paddings": [1, 1]}),
        ([1, c, 6, 6], {"ksize": [3, 3], "strides": [2, 2], "ceil_mode": True}),
        ([n, c, height, 3], {"ksize": [1, 1], "global_pooling": True}),
        ([n, c, 7, 5], {"ksize": [3, 2], "adaptive": True}),
        ([0, c, 4, 4], {"ksize": [2, 2]}),
    ]
    for kind in ("max", "avg"):
        for shape, attrs in variants:
            x = data.distinct(*shape)
            yield OpExample("pool2d", {"X": x}, {"pooling_type": kind, **attrs})
    x = data.distinct(1, 1, 4, 4)
    x[0, 0, :2, :2] = 1
    attrs = {"pooling_type": "max", "ksize": [2, 2], "strides": [2, 2]}
    yield OpExample("pool2d", {"X": x}, attrs, note="with ties")


def _pool3d(data: Data) -> Iterator[OpExample]:
    n, c = data.extents(2, 1, 2)
    variants: list[tuple[Sequence[int], dict[str, Any]]] = [
        ([n, c, 2, 4, 3], {"ksize": [2, 2, 2], "strides": [1, 2, 1]}),
        ([1, 1, 1, 1, 1], {"ksize": [1, 1, 1]}),
        ([1, c, 3, 4, 3], {"ksize": [3, 2, 3], "strides": [2, 2, 2], "paddings": [1, 1, 1]}),
        ([1, c, 4, 3, 4], {"ksize": [3, 2, 3], "strides": [2, 2, 2], "ceil_mode": True}),
        ([n, c, 2, 3, 2], {"ksize": [1, 1, 1], "global_pooling": True}),
        ([1, c, 3, 4, 2], {"ksize": [2, 3, 2], "adaptive": True}),
        ([0, c, 2, 2, 2], {"ksize": [2, 2, 2]}),
    ]
    for kind in ("max", "avg"):
        for shape, attrs in variants:
            x = data.distinct(*shape)
            yield OpExample("pool3d", {"X": x}, {"pooling_type": kind, **attrs})


def _max_pool_with_index(axes: int) -> Callable[[Data], Iterator[OpExample]]:
    def examples(data: Data) -> Iterator[OpExample]:
        n, c = data.extents(2, 1, 2)
        extents = data.extents(axes, 3, 4)
        one, two = [1] * axes, [2] * axes

        def case(shape: Sequence[int], ksize: Sequence[int], **attrs: Any) -> OpExample:
            inputs = {"X": data.distinct(*shape)}
            return OpExample(f"max_pool{axes}d_with_index", inputs, {"ksize": ksize, **attrs})

        yield from (
            case([n, c, *extents], two),
            case([1, c, *extents], [3] * axes, strides=two, paddings=one),
            case([n, c, *extents], one, global_pooling=True),
            case([1, c, *[5] * axes], two, adaptive=True),
            case([1, 1, *one], one),
            case([0, c, *two], two),
        )

    return examples


CASES = {
    "mul": _mul,
    "matmul": _matmul,
    "scaled_dot_product_attention": _attention,
    "conv1d": _conv_of(1),
    "conv2d": _conv2d,
    "conv3d": _conv_of(3),
    "depthwise_conv2d": _depthwise_conv2d,
    "conv1d_transpose": _conv_transpose_of(1),
    "conv2d_transpose": _conv_transpose_of(2),
    "conv3d_transpose": _conv_transpose_of(3),
    "pool1d": _pool1d,
    "pool2d": _pool2d,
    "pool3d": _pool3d,
    "max_pool2d_with_index": _max_pool_with_index(2),
    "max_pool3d_with_index": _max_pool_with_index(3),
}
