"""What takes and writes the elements that an index names."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fluidcore.gradcheck.cases.example import Data, OpExample, Shape


def _by_row(op_type: str, *axes: int) -> Callable[[Data], Iterator[OpExample]]:
    """Of an operator whose index is a list of rows, along each of `axes` if it has the attribute."""

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


CASES = {
    "gather": _by_row("gather"),
    "index_select": _by_row("index_select", 1, -1),
    "take_along_axis": _take_along_axis,
}
