"""Programs as text in the DOT language, which Graphviz draws."""

from __future__ import annotations

from collections.abc import Iterator

from fluidcore.picture.boxes import op_box
from fluidcore.picture.escaping import quoted
from fluidcore.picture.graph import Graph, Op, Value
from fluidcore.picture.roles import Role

_COLORS = {Role.FORWARD: "#2f6fb4", Role.BACKWARD: "#b4602f", Role.UPDATE: "#3a8a57"}


def dot_text(graph: Graph) -> str:
    """A digraph: a cluster for each part of the program, and one for each block in an operator."""
    head = [
        "digraph program {",
        '  graph [fontname="sans-serif", fontsize=12, compound=true, color="#9aa7b3"]',
        '  node [fontname="sans-serif", fontsize=11, shape=box, style=rounded]',
        '  edge [fontname="sans-serif", fontsize=9, color="#57616b"]',
    ]
    return "\n".join([*head, *_body(graph, "  ", parts=True), "}\n"])


def _body(graph: Graph, indent: str, parts: bool) -> Iterator[str]:
    used = [role for role in Role if any(op.role is role for op in graph.ops)]
    for role in used:
        inner = indent
        if parts and len(used) > 1:
            yield f"{indent}subgraph {quoted(f'cluster_{role.value}')} {{"
            inner += "  "
            yield f"{inner}label={quoted(role.value)}"
        for op in graph.ops:
            if op.role is role:
                yield from _operator(op, graph, inner)
        if parts and len(used) > 1:
            yield f"{indent}}}"
    yield from _inputs(graph, indent)
    for source, target, name in graph.flows:
        if source is None and graph.values[name].persistable:
            continue
        start = f"{graph.block}:{name}" if source is None else graph.ops[source].id
        yield f"{indent}{quoted(start)} -> {quoted(graph.ops[target].id)} [{_labels(graph, name)}]"


def _operator(op: Op, graph: Graph, indent: str) -> Iterator[str]:
    lines = "\n".join([op.type, *op_box(op, graph, ()).lines])
    tooltip = f"operator {op.id}" + (f", added at {op.site}" if op.site else "")
    node = (
        f"{quoted(op.id)} [label={quoted(lines)}, color={quoted(_COLORS[op.role])}, "
        f"tooltip={quoted(tooltip)}]"
    )
    if not op.blocks:
        yield indent + node
        return
    yield f"{indent}subgraph {quoted(f'cluster_{op.id}')} {{"
    yield f"{indent}  label={quoted(op.type)}"
    yield f"{indent}  {node}"
    for inner in op.blocks:
        yield from _body(inner, indent + "  ", parts=False)
    yield f"{indent}}}"


def _inputs(graph: Graph, indent: str) -> Iterator[str]:
    """Nodes of what comes from outside of the block."""
    names = dict.fromkeys(name for source, _, name in graph.flows if source is None)
    for name in names:
        value = graph.values[name]
        if not value.persistable:
            label = quoted("\n".join(filter(None, [name, value.label])))
            yield f"{indent}{quoted(f'{graph.block}:{name}')} [label={label}, shape=oval]"


def _labels(graph: Graph, name: str) -> str:
    value: Value = graph.values[name]
    return f"label={quoted(value.label)}, tooltip={quoted(name)}"
