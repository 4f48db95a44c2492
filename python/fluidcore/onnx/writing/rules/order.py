"""Elements by their order, and running sums."""

from __future__ import annotations

import numpy as np

from fluidcore.onnx.writing.graph import Graph, Value
from fluidcore.onnx.writing.operator import Op, Rule
from fluidcore.onnx.writing.shapes import (
    as_extent_value,
    extent,
    extents,
    filled,
    no_extents,
    transposed,
)


def _top_k(op: Op) -> None:
    x, k = op.input("X"), op.attr("k")
    is_number = x.rank == 0
    values, indices = op.emit_all(
        "TopK", op.emit("Reshape", x, [1]) if is_number else x, [k], axis=-1, outputs=2
    )
    op.set("Out", op.emit("Reshape", values, no_extents()) if is_number else values)
    op.set("Indices", op.emit("Reshape", indices, no_extents()) if is_number else indices)


def _argsort(op: Op) -> None:
    x, axis = op.input("X"), op.attr("axis")
    if x.rank == 0:
        op.set("Out", op.emit("Identity", x))
        op.set("Indices", op.emit("Identity", np.int64(0)))
        return
    count = as_extent_value(extent(op, x, axis))
    attrs = {"axis": axis, "largest": int(op.attr("descending"))}
    values, indices = op.emit_all("TopK", x, count, outputs=2, **attrs)
    op.set("Out", values)
    op.set("Indices", indices)


def _of_number(op: Op, x: Value, of_none: float) -> Value:
    """What runs over a single number."""
    return filled(op, [], x.dtype, of_none) if op.attr("exclusive") else op.emit("Identity", x)


def _cumsum(op: Op) -> None:
    x, axis = op.input("X"), op.attr("axis")
    if x.rank == 0:
        op.set("Out", _of_number(op, x, 0))
        return
    attrs = {name: int(op.attr(name)) for name in ("exclusive", "reverse")}
    op.set("Out", op.emit("CumSum", x, np.int64(axis), **attrs))


def _scan(op: Op, first: Value, values: list[Value], body: Graph, axis: int) -> Value:
    """What the body gives at each step along a dimension."""
    reverse = int(op.attr("reverse"))
    rank = values[0].rank
    if extent(op, values[0], axis) == 0:  # which others than us take for an error
        return op.emit("Identity", values[0])
    to_front = [axis, *(i for i in range(rank) if i != axis)]
    values = [value if axis == 0 else transposed(op, value, to_front) for value in values]
    end, out = Value(first.dtype), Value(first.dtype)
    op.append(
        "Scan",
        [first, *values],
        [end, out],
        body=body,
        num_scan_inputs=len(values),
        scan_input_directions=[reverse] * len(values),
        scan_output_directions=[reverse],
    )
    return out if axis == 0 else transposed(op, out, [to_front.index(i) for i in range(rank)])


def _first(op: Op, x: Value, axis: int, number: float) -> Value:
    """The same number in the shape of a slice of the value."""
    shape = extents(op, x)
    return filled(op, [*shape[:axis], *shape[axis + 1 :]], x.dtype, number)


def _cumprod(op: Op) -> None:
    x = op.input("X")
    if x.rank == 0:
        op.set("Out", _of_number(op, x, 1))
        return
    axis = op.attr("axis") % x.rank
    body = Graph()
    before, factor = Value(x.dtype, hint="before"), Value(x.dtype, hint="factor")
    (after,) = body.add("Mul", [before, factor])
    (out,) = body.add("Identity", [before if op.attr("exclusive") else after])
    body.inputs, body.outputs = [before, factor], [after, out]
    op.set("Out", _scan(op, _first(op, x, axis, 1), [x], body, axis))


def _linear_recurrence(op: Op) -> None:
    x, y = op.input("X"), op.input("Y")
    if x.rank == 0:
        op.set("Out", op.emit("Identity", y))
        return
    axis = op.attr("axis") % x.rank
    body = Graph()
    before = Value(x.dtype, hint="before")
    factor, term = Value(x.dtype, hint="factor"), Value(x.dtype, hint="term")
    (product,) = body.add("Mul", [before, factor])
    (after,) = body.add("Add", [product, term])
    (out,) = body.add("Identity", [after])
    body.inputs, body.outputs = [before, factor, term], [after, out]
    op.set("Out", _scan(op, _first(op, y, axis, 0), [x, y], body, axis))


RULES: dict[str, Rule] = {
    "top_k": _top_k,
    "argsort": _argsort,
    "cumsum": _cumsum,
    "cumprod": _cumprod,
    "linear_recurrence": _linear_recurrence,
}
