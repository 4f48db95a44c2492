"""Elements by their positions."""

from __future__ import annotations

import numpy as np

from fluidcore.onnx.writing.graph import Value, constant
from fluidcore.onnx.writing.operator import Op, Rule
from fluidcore.onnx.writing.shapes import (
    as_extent_value,
    as_value,
    extent,
    extents,
    filled,
    lifted,
    lowered,
    no_extents,
    product,
    reshaped,
)

_FEW = 64  # updates that are all compared with each other


def _row_numbers(op: Op, index: Value) -> Value:
    """[N] or [], of [N], [N, 1] or []."""
    return op.emit("Reshape", index, [-1]) if index.rank == 2 else index


def _gather(op: Op) -> None:
    op.set("Out", op.emit("Gather", op.input("X"), _row_numbers(op, op.input("Index")), axis=0))


def _index_select(op: Op) -> None:
    index = _row_numbers(op, op.input("Index"))
    op.set("Out", op.emit("Gather", op.input("X"), index, axis=op.attr("axis")))


def _gather_nd(op: Op) -> None:
    x, index = op.input("X"), op.cast(op.input("Index"), "int64")
    assert index.shape is not None
    if index.shape[-1] == 0:  # all of X, again and again
        shape = [*extents(op, index)[:-1], *extents(op, x)]
        op.set("Out", op.emit("Expand", x, as_value(op, shape)))
        return
    op.set("Out", op.emit("GatherND", x, index))


def _take_along_axis(op: Op) -> None:
    rank = max(op.input("X").rank, op.input("Index").rank)
    x, index = lifted(op, op.input("X")), lifted(op, op.input("Index"))
    axis = op.attr("axis") % x.rank
    # Both as they are repeated along the dimensions but axis.
    both = [(a, b) for a, b in zip(extents(op, x), extents(op, index), strict=True)]
    wide = [_greater(op, a, b) for a, b in both]
    x_shape = [both[i][0] if i == axis else each for i, each in enumerate(wide)]
    index_shape = [both[i][1] if i == axis else each for i, each in enumerate(wide)]
    if x_shape != [a for a, _ in both]:
        x = op.emit("Expand", x, as_value(op, x_shape))
    if index_shape != [b for _, b in both]:
        index = op.emit("Expand", index, as_value(op, index_shape))
    found = op.emit("GatherElements", x, index, axis=axis)
    op.set("Out", lowered(op, found, rank))


def _greater(op: Op, a: int | Value, b: int | Value) -> int | Value:
    """The extent of two that broadcast."""
    if isinstance(a, int) and isinstance(b, int):
        return b if a == 1 else a
    if a == 1 or b == 1:
        return b if a == 1 else a
    a, b = as_extent_value(a), as_extent_value(b)
    return op.emit("Where", op.emit("Equal", a, 1), b, a)


def _lookup(op: Op) -> None:
    table, ids = op.input("W"), op.input("Ids")
    if op.type == "lookup_table":
        ids = op.emit("Squeeze", ids, [-1])
    padding = op.attr("padding_idx")
    if padding == -1:
        op.set("Out", op.emit("Gather", table, ids, axis=0))
        return
    is_padding = op.emit("Equal", ids, padding)
    found = op.emit("Gather", table, op.emit("Where", is_padding, 0, ids), axis=0)
    op.set("Out", op.emit("Where", op.emit("Unsqueeze", is_padding, [-1]), 0, found))


def _scatter(op: Op) -> None:
    """Of several updates of one row the last: all of them are made the last one.

    ONNX leaves open which of them counts.
    """
    ref, index = op.input("Ref"), op.cast(op.emit("Reshape", op.input("Index"), [-1]), "int64")
    count = product(op, extents(op, op.input("Index")))
    if isinstance(count, int):
        numbers: Value = constant(np.arange(count))
    else:
        end = op.emit("Reshape", count, no_extents())
        numbers = op.emit("Range", np.int64(0), end, np.int64(1))
    if isinstance(count, int) and count <= _FEW:
        is_same = op.emit("Equal", op.emit("Unsqueeze", index, [1]), index)
        last = op.emit("ReduceMax", op.emit("Where", is_same, numbers, -1), [1], keepdims=0)
    else:
        none = filled(op, [extent(op, ref, 0)], "int64", -1)
        of_row = op.emit("ScatterElements", none, index, numbers, axis=0, reduction="max")
        last = op.emit("Gather", of_row, index, axis=0)
    rows = op.emit("Gather", op.input("Updates"), last, axis=0)
    op.set("Out", op.emit("ScatterND", ref, op.emit("Unsqueeze", index, [1]), rows))


def _scatter_nd_add(op: Op) -> None:
    x, index = op.input("X"), op.cast(op.input("Index"), "int64")
    updates = op.input("Updates")
    assert index.shape is not None
    if index.shape[-1] == 0:  # all of X, again and again
        rows = reshaped(op, updates, [product(op, extents(op, index)[:-1]), *extents(op, x)])
        op.set("Out", op.emit("Add", x, op.emit("ReduceSum", rows, [0], keepdims=0)))
        return
    op.set("Out", op.emit("ScatterND", x, index, updates, reduction="add"))


def _multiplex(op: Op) -> None:
    values = op.inputs("X")
    stacked = op.emit("Concat", *(op.emit("Unsqueeze", x, [1]) for x in values), axis=1)
    ids = op.cast(op.emit("Reshape", op.input("Ids"), [-1, 1]), "int64")
    op.set("Out", op.emit("GatherND", stacked, ids, batch_dims=1))


def _split_rows(op: Op) -> None:
    x = op.input("X")
    mask = op.emit("Reshape", op.input("Mask"), [-1])
    op.set("OutTrue", op.emit("Compress", x, mask, axis=0))
    op.set("OutFalse", op.emit("Compress", x, op.emit("Not", mask), axis=0))


def _merge_rows(op: Op) -> None:
    in_true, in_false = op.input("InTrue"), op.input("InFalse")
    mask = op.emit("Reshape", op.input("Mask"), [-1])
    number_true = op.emit("CumSum", op.cast(mask, "int64"), np.int64(0))
    number_false = op.emit("CumSum", op.cast(op.emit("Not", mask), "int64"), np.int64(0))
    first_false = as_extent_value(extent(op, in_true, 0))
    place = op.emit("Where", mask, number_true, op.emit("Add", number_false, first_false))
    rows = op.emit("Concat", in_true, in_false, axis=0)
    op.set("Out", op.emit("Gather", rows, op.emit("Sub", place, 1), axis=0))


RULES: dict[str, Rule] = {
    "gather": _gather,
    "index_select": _index_select,
    "gather_nd": _gather_nd,
    "take_along_axis": _take_along_axis,
    "lookup_table": _lookup,
    "lookup_table_v2": _lookup,
    "scatter": _scatter,
    "scatter_nd_add": _scatter_nd_add,
    "multiplex": _multiplex,
    "split_lod_tensor": _split_rows,
    "merge_lod_tensor": _merge_rows,
}
