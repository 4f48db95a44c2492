"""Arrays of tensors, which are sequences in ONNX."""

from __future__ import annotations

from fluidcore.onnx.writing.graph import Graph, Value, sequence
from fluidcore.onnx.writing.operator import Op, Rule
from fluidcore.onnx.writing.shapes import no_extents


def _place(op: Op) -> Value:
    """I as an int64 without dimensions."""
    return op.cast(op.emit("Reshape", op.input("I"), no_extents()), "int64")


def _write(op: Op) -> None:
    (name,) = op.output_names("Out")
    array, x, place = op.known(name), op.input("X"), _place(op)
    assert array is not None
    is_there = op.emit("Less", place, op.emit("SequenceLength", array))
    written = sequence(array.dtype)
    branches = {"then_branch": _replacing(array, x, place), "else_branch": _adding(array, x, place)}
    op.append("If", [is_there], [written], **branches)
    op.bind(name, written)


def _replacing(array: Value, x: Value, place: Value) -> Graph:
    """In the place of an element: what was there is behind it then, and is removed."""
    graph = Graph()
    both = _sequence_of(graph, "SequenceInsert", array, x, place)
    (after,) = graph.add("Add", [place, 1])
    graph.outputs = [_sequence_of(graph, "SequenceErase", both, after)]
    return graph


def _adding(array: Value, x: Value, place: Value) -> Graph:
    """Behind the last element; that it is in its place then, reading it makes sure."""
    graph = Graph()
    longer = _sequence_of(graph, "SequenceInsert", array, x)
    element = Value(x.dtype)
    graph.append("SequenceAt", [longer, place], [element])
    graph.outputs = [_sequence_of(graph, "SequenceInsert", array, element)]
    return graph


def _sequence_of(graph: Graph, op_type: str, array: Value, *others: Value) -> Value:
    made = sequence(array.dtype)
    graph.append(op_type, [array, *others], [made])
    return made


def _read(op: Op) -> None:
    if op.attr("unset_is_zero"):
        op.refuse("unset_is_zero must be false to have an ONNX form, got true")
    out = Value(op.declared("Out").dtype)
    op.append("SequenceAt", [op.input("X"), _place(op)], [out])
    op.set("Out", out)


def _length(op: Op) -> None:
    op.set("Out", op.emit("Reshape", op.emit("SequenceLength", op.input("X")), [1]))


RULES: dict[str, Rule] = {
    "write_to_array": _write,
    "read_from_array": _read,
    "lod_array_length": _length,
}
