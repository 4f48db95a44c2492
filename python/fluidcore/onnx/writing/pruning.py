"""Graphs without the nodes that nothing reads."""

from __future__ import annotations

from collections.abc import Iterator

from fluidcore.onnx.writing.graph import Graph, Node


def inner_graphs(node: Node) -> Iterator[Graph]:
    """The graphs that a node runs."""
    return (value for value in node.attrs.values() if isinstance(value, Graph))


def remove_unread(graph: Graph) -> None:
    """Removes the nodes, in graphs inside others too, that serve no output."""
    _remove(graph, set())


def _remove(graph: Graph, read: set[int]) -> None:
    """Adds what the graph reads to `read`: a graph inside it reads values of those around it."""
    read.update(id(value) for value in graph.outputs)
    kept = []
    for node in reversed(graph.nodes):
        if read.isdisjoint(id(value) for value in node.outputs):
            continue
        for inner in inner_graphs(node):
            _remove(inner, read)
        read.update(id(value) for value in node.inputs if value is not None)
        kept.append(node)
    graph.nodes[:] = reversed(kept)
