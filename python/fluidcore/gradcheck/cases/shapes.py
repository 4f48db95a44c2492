"""What moves numbers without changing them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from fluidcore.gradcheck.cases.example import Data, OpExample, Shape
from fluidcore.gradcheck.cases.table import Attrs, Cases, Row, row, table


def _reshape(op_type: str, data: Data) -> Iterator[OpExample]:
    a, b, c = data.extents(3, 2)
    rows = [
        row((a * b,), shape=[a, b]),
        row((a, b, c), shape=[-1, c]),
        row((a, b), shape=[1, -1, 1]),
        row((1,), shape=[]),
        row((), shape=[1, 1]),
        row((0, a), shape=[2, 0]),
    ]
    yield from table("X", lambda: rows)(op_type, data)
    inputs = {"X": data.normal(a, b, c), "Shape": np.array([c, b, a])}
    yield OpExample(op_type, inputs, {"shape": [-1, -1, -1]}, note="by data")


def _transpose(op_type: str, data: Data) -> Iterator[OpExample]:
    rows = [
        row(data.extents(2, 2), axis=[1, 0]),
        row((), axis=[]),
        row((5,), axis=[0]),
        row((0, 4), axis=[1, 0]),
        row(data.extents(3, 2), axis=data.permutation(3)),
        row(data.extents(4, 1, 3), axis=data.permutation(4)),
    ]
    return table("X", lambda: rows)(op_type, data)


def _lists(rows: Callable[..., list[Row]]) -> Cases:
    """Of an operator on the list X: the shapes of a row are those of its elements."""

    def cases(op_type: str, data: Data) -> Iterator[OpExample]:
        for shapes, attrs, *_ in rows(*data.extents(3, 2)):
            parts = [data.normal(*shape) for shape in shapes if shape is not None]
            yield OpExample(op_type, {"X": parts}, attrs)
        second = (1, 3) if op_type == "concat" else (2, 3)
        x, y = data.normal(2, 3), data.normal(*second)
        yield OpExample(op_type, {"X": [x, y, x]}, note="one variable twice")

    return cases


def _repeat(attr: str, *more: Row, expands: bool = True) -> Cases:
    def rows(a: int, b: int, c: int) -> list[Row]:
        pairs: list[tuple[Shape, list[int]]] = [
            ((), []),
            ((1,), [a]),
            ((a, 1), [a, b]),
            ((0, 1), [0, b]),
        ]
        if expands:
            pairs += [((a, b), [2, c]), ((a, b, c), [2, 1, 3]), ((a, b), [0, 2])]
        return [*(Row((shape,), {attr: numbers}) for shape, numbers in pairs), *more]

    return table("X", rows)


def _pad(op_type: str, data: Data) -> Iterator[OpExample]:
    a, b, c = data.extents(3, 2)
    modes: list[Attrs] = [{"pad_value": 1.5}, *({"mode": m} for m in ("edge", "reflect", "wrap"))]
    for (shape,), attrs, *_ in (
        row((), paddings=[]),
        row((1,), paddings=[a, b]),
        row((a,), paddings=[3 * b, 2 * c]),
        row((a, b), paddings=[1, 0, 0, c]),
        row((a, b, 2), paddings=[1, 1, 0, 2, 3, 3]),
        row((0, b), paddings=[0, 0, 1, 1]),
    ):
        x = data.normal(*(shape or ()))
        for mode in modes:
            yield OpExample(op_type, {"X": x}, {**attrs, **mode})


CASES: dict[str, Cases] = {
    "reshape": _reshape,
    "flatten": table(
        "X",
        lambda a, b, c: [
            row((), axis=0),
            row((a,), axis=1),
            row((a, b, c), axis=1),
            row((a, b, c), axis=2),
            row((0, a), axis=1),
        ],
    ),
    "transpose": _transpose,
    "concat": _lists(
        lambda a, b, c: [
            row((a, b), (c, b)),
            row((a,)),
            row((a,), (b,), (17,)),
            row((a, b), (a, 0), (a, c), axis=1),
            row((a, b, c), (a, 1, c), axis=-2),
            row((0, a), (0, a)),
        ]
    ),
    "split": table(
        "X",
        lambda a, b: [
            row((3 * a,), num=3, outputs={"Out": 3}),
            row((a,), num=1, outputs={"Out": 1}),
            row((a, 2 * b), num=2, axis=1, outputs={"Out": 2}),
            row((2, a + b, 2), sections=[a, 0, b], axis=1, outputs={"Out": 3}),
            row((2, a, b + 1), sections=[b, 1], axis=-1, outputs={"Out": 2}),
            row((0, 4), num=2, outputs={"Out": 2}),
        ],
    ),
    "expand": _repeat("expand_times"),
    "tile": _repeat("repeat_times", row((2, 3), repeat_times=[3]), row((3,), repeat_times=[2, 2])),
    "broadcast_to": _repeat("shape", row((2, 1), shape=[3, -1, 4]), expands=False),
    "crop": table(
        "X Y",
        lambda a, b, c: [
            row((), None, offsets=[], shape=[]),
            row((a + b,), None, offsets=[a], shape=[b]),
            row((a, b + c), None, offsets=[1, b], shape=[a - 1, c]),
            row((a, b, c), None, offsets=[0, 1, 1], shape=[a, b - 1, 1]),
            row((a, b), None, offsets=[a, 0], shape=[0, b]),
            row((0, b), None, offsets=[0, 1], shape=[0, 1]),
            row((a, b + c), (1, c), offsets=[1, b]),
        ],
        to_check=("X",),
    ),
    "pad": _pad,
    "slice": table(
        "X",
        lambda a, b, c: [
            row((), axes=[], starts=[], ends=[]),
            row((a + b,), axes=[0], starts=[a], ends=[99]),
            row((a, b + c), axes=[1, 0], starts=[-c, -99], ends=[b + c, -1]),
            row((a, b, c), axes=[-1, 0], starts=[1, 0], ends=[c, a - 1]),
            row((a, b), axes=[0], starts=[a], ends=[a]),
            row((0, b), axes=[1], starts=[1], ends=[b]),
        ],
    ),
    "strided_slice": table(
        "X",
        lambda a, b, c: [
            row((), axes=[], starts=[], ends=[], strides=[]),
            row((17 + a,), axes=[0], starts=[0], ends=[99], strides=[3]),
            row((17 + a,), axes=[0], starts=[-1], ends=[-99], strides=[-2]),
            row((a, b + c), axes=[1, 0], starts=[-1, 1], ends=[-99, a], strides=[-1, 2]),
            row((a, b, c), axes=[-1, 0], starts=[1, 0], ends=[c, a - 1], strides=[1, 1]),
            row((a, b), axes=[0], starts=[0], ends=[a], strides=[-1]),
            row((0, b), axes=[1], starts=[0], ends=[b], strides=[2]),
        ],
    ),
    "flip": table(
        "X",
        lambda a, b, c: [
            row((), axis=[]),
            row((17 + a,), axis=[0]),
            row((a, b), axis=[-1, 0]),
            row((a, b, c), axis=[1]),
            row((0, b), axis=[1]),
        ],
    ),
    "roll": table(
        "X",
        lambda a, b, c: [
            row((), shifts=[1]),
            row((17 + a,), shifts=[b], axis=[0]),
            row((a, b), shifts=[c]),
            row((a, b), shifts=[1, -c], axis=[-1, 0]),
            row((a, b, c), shifts=[1, 1], axis=[1, 1]),
            row((0, b), shifts=[1], axis=[1]),
        ],
    ),
    "squeeze": table(
        "X",
        lambda a, b: [
            row(()),
            row((1,)),
            row((a, 1, b), axes=[-2]),
            row((1, a, 1, b), axes=[2, 0]),
            row((0, 1), axes=[1]),
        ],
    ),
    "unsqueeze": table(
        "X",
        lambda a, b: [
            row((), axes=[0, 1]),
            row((1,), axes=[]),
            row((a, b), axes=[-1, 1]),
            row((0, a), axes=[0]),
        ],
    ),
    "stack": _lists(
        lambda a, b, c: [
            row(*[()] * 2, axis=0),
            row((1,), axis=0),
            row(*[(17 + a,)] * 2, axis=1),
            row(*[(a, b)] * c, axis=-1),
            row(*[(a, b, 2)] * 2, axis=1),
            row(*[(0, a)] * 2, axis=0),
        ]
    ),
    "unstack": table(
        "X",
        lambda a, b, c: [
            row((2,), axis=0, outputs={"Y": 2}),
            row((1, a), axis=0, outputs={"Y": 1}),
            row((a, b), axis=1, outputs={"Y": b}),
            row((a, b, c), axis=-2, outputs={"Y": b}),
            row((2, 0), axis=0, outputs={"Y": 2}),
        ],
    ),
}
