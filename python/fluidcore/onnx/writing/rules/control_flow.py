"""Branches and loops."""

from __future__ import annotations

import numpy as np

from fluidcore.base.dtypes import numpy_dtype
from fluidcore.onnx.writing.graph import Graph, Value, like, sequence
from fluidcore.onnx.writing.operator import Op, Rule
from fluidcore.onnx.writing.rules.inner_graphs import close
from fluidcore.onnx.writing.shapes import as_extent_value, extents, no_extents, product


def _scalar(graph: Graph, condition: Value) -> Value:
    return graph.add("Reshape", [condition, no_extents()])[0]


def _conditional_block(op: Op) -> None:
    then = op.body(op.attr("sub_block").value, {})
    written = [name for name in op.output_names("Out") if name in then.values.maps[0]]
    close(then.graph, [], [then.values[name] for name in written])
    otherwise = Graph()
    befores = [_before(op, otherwise, name) for name in written]
    close(otherwise, [], befores)
    outputs = [like(value) for value in then.graph.outputs]
    if not outputs:
        return
    branches = {"then_branch": then.graph, "else_branch": otherwise}
    op.append("If", [_condition(op)], outputs, **branches)
    for name, value in zip(written, outputs, strict=True):
        op.bind(name, value)


def _before(op: Op, graph: Graph, name: str) -> Value:
    """What a variable holds that the branch would write; where it holds nothing, no elements.

    Nothing is to read them: in fluidcore that is an error.
    """
    known = op.known(name)
    if known is not None:
        return known
    spec = op.declaration(name)
    shape = [max(each, 0) * (i > 0) for i, each in enumerate(spec.shape)]
    zero = np.zeros(1, numpy_dtype(spec.dtype))
    return graph.add("ConstantOfShape", [shape], value=zero)[0]


def _condition(op: Op) -> Value:
    if op.attr("is_scalar_condition"):
        return op.emit("Reshape", op.input("X"), no_extents())
    holds = None
    for x in op.inputs("X"):
        elements = as_extent_value(product(op, [1, *extents(op, x)]))
        has_any = op.emit("Reshape", op.emit("Greater", elements, 0), no_extents())
        holds = has_any if holds is None else op.emit("And", holds, has_any)
    assert holds is not None
    return holds


def _while(op: Op) -> None:
    (condition,) = op.input_names("Condition")
    carried = op.output_names("Out")
    if condition not in carried:
        op.refuse(f"the block must write the condition '{condition}'")
    first = op.first_values(carried)
    given = {name: _carried(op, name, value) for name, value in zip(carried, first, strict=True)}
    body = op.body(op.attr("sub_block").value, given)
    goes_on = _scalar(body.graph, body.values[condition])
    inputs = [Value("int64", (), "step"), Value("bool", (), "goes_on"), *given.values()]
    close(body.graph, inputs, [goes_on, *(body.values[name] for name in carried)])
    outputs = [like(value) for value in first]
    start = op.emit("Reshape", op.input("Condition"), no_extents())
    op.append("Loop", [None, start, *first], outputs, body=body.graph)
    for name, value in zip(carried, outputs, strict=True):
        op.bind(name, value)


def _carried(op: Op, name: str, value: Value) -> Value:
    """What a variable holds at the start of a step; its shape is the same in all of them."""
    return (sequence if value.is_sequence else Value)(*op.declaration(name), name)


def _select_input(op: Op) -> None:
    values, mask = op.inputs("X"), op.emit("Reshape", op.input("Mask"), no_extents())
    chosen = values[0]
    for number, value in enumerate(values[1:], start=1):
        branches = {}
        for name, result in (("then_branch", value), ("else_branch", chosen)):
            branches[name] = Graph()
            close(branches[name], [], [result])
        chosen = Value(value.dtype)
        op.append("If", [op.emit("Equal", mask, number)], [chosen], **branches)
    op.set("Out", chosen)


RULES: dict[str, Rule] = {
    "conditional_block": _conditional_block,
    "while": _while,
    "select_input": _select_input,
}
