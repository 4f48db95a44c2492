"""What moves numbers without changing them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

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
}
