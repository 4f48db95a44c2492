"""The inputs and outputs of graphs inside nodes."""

from __future__ import annotations

from collections.abc import Sequence

from fluidcore.onnx.writing.graph import Graph, Value, like


def close(graph: Graph, inputs: Sequence[Value], outputs: Sequence[Value]) -> None:
    """Says what goes in and out; each output is a value of a node of this graph, of its own."""
    graph.inputs = list(inputs)
    made = {id(value) for node in graph.nodes for value in node.outputs}
    graph.outputs = []
    for value in outputs:
        if id(value) not in made:
            copy = like(value)
            graph.append("Identity", [value], [copy])
            graph.outputs.append(copy)
        else:
            made.discard(id(value))
            graph.outputs.append(value)
