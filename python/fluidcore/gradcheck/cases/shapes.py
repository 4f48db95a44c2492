"""What moves numbers without changing them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from fluidcore.gradcheck.cases.example import Data, OpExample


def _reshape(data: Data) -> Iterator[OpExample]:
    a, b, c = data.extents(3, 2)
    variants: list[tuple[Sequence[int], list[int]]] = [
        ([a * b], [a, b]),
        ([a, b, c], [-1, c]),
        ([a, b], [1, -1, 1]),
        ([1], []),
        ([], [1, 1]),
        ([0, a], [2, 0]),
    ]
    for source, shape in variants:
        yield OpExample("reshape", {"X": data.normal(*source)}, {"shape": shape})
    inputs = {"X": data.normal(a, b, c), "Shape": np.array([c, b, a])}
    yield OpExample("reshape", inputs, {"shape": [-1, -1, -1]}, note="by data")


def _flatten(data: Data) -> Iterator[OpExample]:
    a, b, c = data.extents(3, 2)
    for shape, axis in (([], 0), ([a], 1), ([a, b, c], 1), ([a, b, c], 2), ([0, a], 1)):
        yield OpExample("flatten", {"X": data.normal(*shape)}, {"axis": axis})


def _transpose(data: Data) -> Iterator[OpExample]:
    variants: list[tuple[Sequence[int], list[int]]] = [
        (data.extents(2, 2), [1, 0]),
        ([], []),
        ([5], [0]),
        ([0, 4], [1, 0]),
        (data.extents(3, 2), data.permutation(3)),
        (data.extents(4, 1, 3), data.permutation(4)),
    ]
    for shape, axis in variants:
        yield OpExample("transpose", {"X": data.normal(*shape)}, {"axis": axis})


def _concat(data: Data) -> Iterator[OpExample]:
    a, b, c = data.extents(3, 2)

    def case(*shapes: Sequence[int], **attrs: Any) -> OpExample:
        return OpExample("concat", {"X": [data.normal(*shape) for shape in shapes]}, attrs)

    yield from (
        case([a, b], [c, b]),
        case([a]),
        case([a], [b], [17]),
        case([a, b], [a, 0], [a, c], axis=1),
        case([a, b, c], [a, 1, c], axis=-2),
        case([0, a], [0, a]),
    )
    x, y = data.normal(2, 3), data.normal(1, 3)
    yield OpExample("concat", {"X": [x, y, x]}, note="one variable twice")


def _split(data: Data) -> Iterator[OpExample]:
    a, b = data.extents(2, 2)

    def case(shape: Sequence[int], count: int, **attrs: Any) -> OpExample:
        return OpExample("split", {"X": data.normal(*shape)}, attrs, outputs={"Out": count})

    yield from (
        case([3 * a], 3, num=3),
        case([a], 1, num=1),
        case([a, 2 * b], 2, num=2, axis=1),
        case([2, a + b, 2], 3, sections=[a, 0, b], axis=1),
        case([2, a, b + 1], 2, sections=[b, 1], axis=-1),
        case([0, 4], 2, num=2),
    )


Numbers = tuple[Sequence[int], list[int]]


def _repeat(op_type: str, attr: str, *more: Numbers) -> Callable[[Data], Iterator[OpExample]]:
    def cases(data: Data) -> Iterator[OpExample]:
        a, b, c = data.extents(3, 2)
        variants: list[Numbers] = [((), []), ((1,), [a]), ((a, 1), [a, b]), ((0, 1), [0, b])]
        if op_type != "broadcast_to":
            variants += [((a, b), [2, c]), ((a, b, c), [2, 1, 3]), ((a, b), [0, 2])]
        for shape, numbers in [*variants, *more]:
            yield OpExample(op_type, {"X": data.normal(*shape)}, {attr: numbers})

    return cases


def _crop(data: Data) -> Iterator[OpExample]:
    a, b, c = data.extents(3, 2)
    variants: list[tuple[Sequence[int], list[int], list[int]]] = [
        ((), [], []),
        ((a + b,), [a], [b]),
        ((a, b + c), [1, b], [a - 1, c]),
        ((a, b, c), [0, 1, 1], [a, b - 1, 1]),
        ((a, b), [a, 0], [0, b]),
        ((0, b), [0, 1], [0, 1]),
    ]
    for x, offsets, shape in variants:
        attrs = {"offsets": offsets, "shape": shape}
        yield OpExample("crop", {"X": data.normal(*x)}, attrs)
    inputs = {"X": data.normal(a, b + c), "Y": data.normal(1, c)}
    yield OpExample("crop", inputs, {"offsets": [1, b]}, ("X",))


def _pad(data: Data) -> Iterator[OpExample]:
    a, b, c = data.extents(3, 2)
    variants: list[Numbers] = [
        ((), []),
        ((1,), [a, b]),
        ((a,), [3 * b, 2 * c]),
        ((a, b), [1, 0, 0, c]),
        ((a, b, 2), [1, 1, 0, 2, 3, 3]),
        ((0, b), [0, 0, 1, 1]),
    ]
    for shape, paddings in variants:
        x = data.normal(*shape)
        yield OpExample("pad", {"X": x}, {"paddings": paddings, "pad_value": 1.5})
        for mode in ("edge", "reflect", "wrap"):
            yield OpExample("pad", {"X": x}, {"paddings": paddings, "mode": mode})


def _slice(data: Data) -> Iterator[OpExample]:
    a, b, c = data.extents(3, 2)
    variants: list[tuple[Sequence[int], list[int], list[int], list[int]]] = [
        ((), [], [], []),
        ((a + b,), [0], [a], [99]),
        ((a, b + c), [1, 0], [-c, -99], [b + c, -1]),
        ((a, b, c), [-1, 0], [1, 0], [c, a - 1]),
        ((a, b), [0], [a], [a]),
        ((0, b), [1], [1], [b]),
    ]
    for x, axes, starts, ends in variants:
        attrs = {"axes": axes, "starts": starts, "ends": ends}
        yield OpExample("slice", {"X": data.normal(*x)}, attrs)


def _strided_slice(data: Data) -> Iterator[OpExample]:
    a, b, c = data.extents(3, 2)
    variants: list[tuple[Sequence[int], list[int], list[int], list[int], list[int]]] = [
        ((), [], [], [], []),
        ((17 + a,), [0], [0], [99], [3]),
        ((17 + a,), [0], [-1], [-99], [-2]),
        ((a, b + c), [1, 0], [-1, 1], [-99, a], [-1, 2]),
        ((a, b, c), [-1, 0], [1, 0], [c, a - 1], [1, 1]),
        ((a, b), [0], [0], [a], [-1]),
        ((0, b), [1], [0], [b], [2]),
    ]
    for x, axes, starts, ends, strides in variants:
        attrs = {"axes": axes, "starts": starts, "ends": ends, "strides": strides}
        yield OpExample("strided_slice", {"X": data.normal(*x)}, attrs)


def _rows(
    op_type: str, rows: Callable[[Data], Iterator[tuple[Sequence[int], dict[str, Any]]]]
) -> Callable[[Data], Iterator[OpExample]]:
    def cases(data: Data) -> Iterator[OpExample]:
        for shape, attrs in rows(data):
            yield OpExample(op_type, {"X": data.normal(*shape)}, attrs)

    return cases


def _flip(data: Data) -> Iterator[tuple[Sequence[int], dict[str, Any]]]:
    a, b, c = data.extents(3, 2)
    yield (), {"axis": []}
    yield (17 + a,), {"axis": [0]}
    yield (a, b), {"axis": [-1, 0]}
    yield (a, b, c), {"axis": [1]}
    yield (0, b), {"axis": [1]}


def _roll(data: Data) -> Iterator[tuple[Sequence[int], dict[str, Any]]]:
    a, b, c = data.extents(3, 2)
    yield (), {"shifts": [1]}
    yield (17 + a,), {"shifts": [b], "axis": [0]}
    yield (a, b), {"shifts": [c]}
    yield (a, b), {"shifts": [1, -c], "axis": [-1, 0]}
    yield (a, b, c), {"shifts": [1, 1], "axis": [1, 1]}
    yield (0, b), {"shifts": [1], "axis": [1]}


def _squeeze(data: Data) -> Iterator[tuple[Sequence[int], dict[str, Any]]]:
    a, b = data.extents(2, 2)
    yield (), {}
    yield (1,), {}
    yield (a, 1, b), {"axes": [-2]}
    yield (1, a, 1, b), {"axes": [2, 0]}
    yield (0, 1), {"axes": [1]}


def _unsqueeze(data: Data) -> Iterator[tuple[Sequence[int], dict[str, Any]]]:
    a, b = data.extents(2, 2)
    yield (), {"axes": [0, 1]}
    yield (1,), {"axes": []}
    yield (a, b), {"axes": [-1, 1]}
    yield (0, a), {"axes": [0]}


def _stack(data: Data) -> Iterator[OpExample]:
    a, b, c = data.extents(3, 2)
    for shape, count, axis in (
        ((), 2, 0),
        ((1,), 1, 0),
        ((17 + a,), 2, 1),
        ((a, b), c, -1),
        ((a, b, 2), 2, 1),
        ((0, a), 2, 0),
    ):
        parts = [data.normal(*shape) for _ in range(count)]
        yield OpExample("stack", {"X": parts}, {"axis": axis})
    x, y = data.normal(2, 3), data.normal(2, 3)
    yield OpExample("stack", {"X": [x, y, x]}, note="one variable twice")


def _unstack(data: Data) -> Iterator[OpExample]:
    a, b, c = data.extents(3, 2)
    for shape, axis in (((2,), 0), ((1, a), 0), ((a, b), 1), ((a, b, c), -2), ((2, 0), 0)):
        inputs = {"X": data.normal(*shape)}
        yield OpExample("unstack", inputs, {"axis": axis}, outputs={"Y": shape[axis]})


CASES = {
    "reshape": _reshape,
    "flatten": _flatten,
    "transpose": _transpose,
    "concat": _concat,
    "split": _split,
    "expand": _repeat("expand", "expand_times"),
    "tile": _repeat("tile", "repeat_times", ((2, 3), [3]), ((3,), [2, 2])),
    "broadcast_to": _repeat("broadcast_to", "shape", ((2, 1), [3, -1, 4])),
    "crop": _crop,
    "pad": _pad,
    "slice": _slice,
    "strided_slice": _strided_slice,
    "flip": _rows("flip", _flip),
    "roll": _rows("roll", _roll),
    "squeeze": _rows("squeeze", _squeeze),
    "unsqueeze": _rows("unsqueeze", _unsqueeze),
    "stack": _stack,
    "unstack": _unstack,
}
