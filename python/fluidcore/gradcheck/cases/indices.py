"""What takes and writes the elements that an index names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from fluidcore.gradcheck.cases.example import Data, OpExample, Shape
from fluidcore.gradcheck.cases.table import Cases, row, table


def _by_row(op_type: str, data: Data, *, axes: tuple[int, ...] = ()) -> Iterator[OpExample]:
    """Of an operator whose index is a list of rows; `axes` if it has an attribute for them."""
    shape = data.extents(3, 2)
    for extents, axis, count, dtype, note in (
        (shape[:1], 0, 3, "int32", "elements"),
        (shape[:2], 0, 17, "int64", "every row often"),
        (shape[:2], 0, 0, "int64", "nothing"),
        *((shape, axis, 3, "int32", "") for axis in axes or (0,)),
    ):
        index = data.integers(0, extents[axis], count).astype(dtype)
        inputs = {"X": data.normal(*extents), "Index": index}
        yield OpExample(op_type, inputs, {"axis": axis} if axes else {}, note=note)


def _take_along_axis(op_type: str, data: Data) -> Iterator[OpExample]:
    a, b, c = data.extents(3, 2)
    variants: list[tuple[Shape, int, int]] = [
        ((a,), 0, 3),
        ((a, b), 1, 7),
        ((a, b), 0, 1),
        ((a, b, c), 1, 3),
        ((a, b, c), -1, 2),
        ((a, b), -1, 0),
    ]
    for i, (shape, axis, count) in enumerate(variants):
        extents = list(shape)
        extents[axis] = count
        index = data.integers(0, shape[axis], *extents).astype(("int32", "int64")[i % 2])
        yield OpExample(op_type, {"X": data.normal(*shape), "Index": index}, {"axis": axis})
    for shape, numbers in (((1, b, c), (a, 3, 1)), ((a, b, c), (1, 2, c)), ((a, b, 1), (1, 2, c))):
        inputs = {"X": data.normal(*shape), "Index": data.integers(0, b, *numbers)}
        yield OpExample(op_type, inputs, {"axis": 1}, note="broadcast")


def _scatter(op_type: str, data: Data) -> Iterator[OpExample]:
    a, b, c = data.extents(3, 2)
    for shape, count, note in (
        ((a,), 2, ""),
        ((a, b), 17, "every row often"),
        ((a, b, c), 2, ""),
        ((a, b), 0, "nothing"),
    ):
        ref, index = data.normal(*shape), data.integers(0, a, count)
        updates = data.normal(count, *shape[1:])
        yield OpExample(op_type, {"Ref": ref, "Index": index, "Updates": updates}, note=note)


def _multiplex(op_type: str, data: Data) -> Iterator[OpExample]:
    rows, width = data.extents(2, 2)
    for count, shape in ((2, (rows,)), (3, (rows, width)), (1, (rows, 2, width)), (2, (0, 3))):
        ids = data.integers(0, count, shape[0], 1).astype("int32")
        choices = [data.normal(*shape) for _ in range(count)]
        yield OpExample(op_type, {"Ids": ids, "X": choices})


def _parts(op_type: str, data: Data) -> Iterator[OpExample]:
    """Of an operator with positions in the first dimensions of X."""
    a, b, c = data.extents(3, 2)
    variants: list[tuple[Shape, int, Shape]] = [
        ((a,), 1, (3,)),
        ((a, b), 1, (17,)),
        ((a, b), 2, (4,)),
        ((a, b, c), 2, (2, 3)),
        ((a, b), 2, ()),
        ((a, b), 1, (0,)),
    ]
    for shape, depth, count in variants:
        axes = [data.integers(0, extent, *count) for extent in shape[:depth]]
        inputs = {"X": data.normal(*shape), "Index": np.stack(axes, -1)}
        if op_type == "scatter_nd_add":
            inputs["Updates"] = data.normal(*count, *shape[depth:])
        yield OpExample(op_type, inputs)


_TRIANGLE = table(
    "X",
    lambda a, b: [
        row((a, b), diagonal=0),
        row((a, b), diagonal=1),
        row((2, b, a), diagonal=-1),
        row((1, 1), diagonal=0),
        row((0, b), diagonal=0),
    ],
)
CASES: dict[str, Cases] = {
    "argsort": table(
        "X:distinct",
        lambda a, b, c: [
            row((a,), axis=0, descending=False),
            row((a, b), axis=1, descending=True),
            row((a, b, c), axis=1, descending=False),
            row((17, b), axis=0, descending=True),
            row((0, b), axis=1, descending=False),
        ],
        outputs={"Out": 1},
    ),
    "tril": _TRIANGLE,
    "triu": _TRIANGLE,
    "gather": _by_row,
    "index_select": partial(_by_row, axes=(1, -1)),
    "take_along_axis": _take_along_axis,
    "scatter": _scatter,
    "multiplex": _multiplex,
    "gather_nd": _parts,
    "scatter_nd_add": _parts,
    "where": table(
        "Condition:truths X Y",
        lambda a, b: [
            row((a, b), (a, b), (a, b)),
            row((), (), ()),
            row((b,), (a, 1), (a, b)),
            row((a, 1), (), (b,)),
            row((0, b), (b,), (1,)),
        ],
    ),
}
