"""What takes and writes the elements that an index names."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from fluidcore.gradcheck.cases.example import Data, OpExample, Shape


def _by_row(op_type: str, *axes: int) -> Callable[[Data], Iterator[OpExample]]:
    """Of an operator whose index is a list of rows; `axes` if it has an attribute for them."""

    def cases(data: Data) -> Iterator[OpExample]:
        shape = data.extents(3, 2)

        def case(shape: Shape, axis: int, count: int, dtype: str, note: str = "") -> OpExample:
            index = data.integers(0, shape[axis], count).astype(dtype)
            attrs = {"axis": axis} if axes else {}
            return OpExample(op_type, {"X": data.normal(*shape), "Index": index}, attrs, note=note)

        yield case(shape[:1], 0, 3, "int32", "elements")
        yield case(shape[:2], 0, 17, "int64", "every row often")
        yield case(shape[:2], 0, 0, "int64", "nothing")
        for axis in axes or (0,):
            yield case(shape, axis, 3, "int32")

    return cases


def _take_along_axis(data: Data) -> Iterator[OpExample]:
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
        yield OpExample(
            "take_along_axis", {"X": data.normal(*shape), "Index": index}, {"axis": axis}
        )
    for shape, numbers in (((1, b, c), (a, 3, 1)), ((a, b, c), (1, 2, c)), ((a, b, 1), (1, 2, c))):
        inputs = {"X": data.normal(*shape), "Index": data.integers(0, b, *numbers)}
        yield OpExample("take_along_axis", inputs, {"axis": 1}, note="broadcast")


def _scatter(data: Data) -> Iterator[OpExample]:
    a, b, c = data.extents(3, 2)
    for shape, count, note in (
        ((a,), 2, ""),
        ((a, b), 17, "every row often"),
        ((a, b, c), 2, ""),
        ((a, b), 0, "nothing"),
    ):
        inputs = {
            "Ref": data.normal(*shape),
            "Index": data.integers(0, a, count),
            "Updates": data.normal(count, *shape[1:]),
        }
        yield OpExample("scatter", inputs, note=note)


def _multiplex(data: Data) -> Iterator[OpExample]:
    rows, width = data.extents(2, 2)
    for count, shape in ((2, (rows,)), (3, (rows, width)), (1, (rows, 2, width)), (2, (0, 3))):
        ids = data.integers(0, count, shape[0], 1).astype("int32")
        choices = [data.normal(*shape) for _ in range(count)]
        yield OpExample("multiplex", {"Ids": ids, "X": choices})


def _parts(op_type: str) -> Callable[[Data], Iterator[OpExample]]:
    """Of an operator with positions in the first dimensions of X."""

    def cases(data: Data) -> Iterator[OpExample]:
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

    return cases


def _where(data: Data) -> Iterator[OpExample]:
    a, b = data.extents(2, 2)
    shapes: list[tuple[Shape, Shape, Shape]] = [
        ((a, b), (a, b), (a, b)),
        ((), (), ()),
        ((b,), (a, 1), (a, b)),
        ((a, 1), (), (b,)),
        ((0, b), (b,), (1,)),
    ]
    for condition, x, y in shapes:
        inputs = {
            "Condition": data.truths(*condition),
            "X": data.normal(*x),
            "Y": data.normal(*y),
        }
        yield OpExample("where", {slot: np.asarray(value) for slot, value in inputs.items()})


def _argsort(data: Data) -> Iterator[OpExample]:
    a, b, c = data.extents(3, 2)
    variants: list[tuple[Shape, int, bool]] = [
        ((a,), 0, False),
        ((a, b), 1, True),
        ((a, b, c), 1, False),
        ((17, b), 0, True),
        ((0, b), 1, False),
    ]
    for shape, axis, descending in variants:
        attrs = {"axis": axis, "descending": descending}
        yield OpExample("argsort", {"X": data.distinct(*shape)}, attrs, outputs={"Out": 1})


def _triangle(op_type: str) -> Callable[[Data], Iterator[OpExample]]:
    def cases(data: Data) -> Iterator[OpExample]:
        a, b = data.extents(2, 2)
        for shape, diagonal in (
            ((a, b), 0),
            ((a, b), 1),
            ((2, b, a), -1),
            ((1, 1), 0),
            ((0, b), 0),
        ):
            yield OpExample(op_type, {"X": data.normal(*shape)}, {"diagonal": diagonal})

    return cases


CASES = {
    "argsort": _argsort,
    **{name: _triangle(name) for name in ("tril", "triu")},
    "gather": _by_row("gather"),
    "index_select": _by_row("index_select", 1, -1),
    "take_along_axis": _take_along_axis,
    "scatter": _scatter,
    "multiplex": _multiplex,
    "gather_nd": _parts("gather_nd"),
    "scatter_nd_add": _parts("scatter_nd_add"),
    "where": _where,
}
