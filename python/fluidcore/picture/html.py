"""The picture as an HTML page that needs nothing else: no network, no other file."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any, NamedTuple

from fluidcore import core
from fluidcore.picture import svg
from fluidcore.picture.arrange import arranged
from fluidcore.picture.boxes import Box, Picture
from fluidcore.picture.escaping import escaped, script_json
from fluidcore.picture.folding import Group
from fluidcore.picture.graph import Graph, Op, every_op


class _View(NamedTuple):
    """A picture, what it is of, and the picture that has it as a box; "" is the whole program."""

    id: str
    title: str
    parent: str
    picture: Picture


def html_text(graph: Graph, limit: int | None) -> str:
    """A page with a picture of a program; a click on a box shows what the box stands for.

    Args:
        graph: Its outermost block.
        limit: How many boxes each part of a picture may have; None: any number.
    """
    views = list(_views(graph, limit))
    ops = list(every_op(graph))
    title = f"Program of {len(ops):,} operators"
    css = svg.style() + _asset("page.css")
    script = _asset("page.js")
    policy = f"default-src 'none'; style-src {_hash(css)}; script-src {_hash(script)}"
    templates = "".join(
        f'<template data-view="{escaped(view.id)}">'
        f"{svg.svg_element(view.picture, view.title)}</template>\n"
        for view in views[1:]
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{css}</style>
</head>
<body class="program">
<header>
<nav id="crumbs" aria-label="Shown part"></nav>
<p>{len(ops):,} operators</p>
<div class="search" role="search"><input type="search" aria-label="Find operators"
 placeholder="type, variable or line"><ol id="found"></ol></div>
<div class="tools"><button type="button" value="-" title="smaller (-)">&minus;</button>
<button type="button" value="+" title="larger (+)">+</button>
<button type="button" value="0" title="all (0)">all</button></div>
</header>
<main id="stage">{svg.svg_element(views[0].picture, title).strip()}</main>
<aside id="details" hidden></aside>
{templates}<script type="application/json" id="data">{script_json(_data(views, ops))}</script>
<script>{script}</script>
</body>
</html>
"""


def frame(page: str) -> str:
    """A page in a frame, for a notebook; its scripts see nothing of what is around it."""
    return (
        f'<iframe srcdoc="{html.escape(page)}" sandbox="allow-scripts" width="100%" height="640" '
        'style="border: 1px solid #8888; border-radius: 6px" title="Program"></iframe>'
    )


def _views(graph: Graph, limit: int | None) -> Iterator[_View]:
    """The picture of the program, and of what each of its boxes stands for, outer ones first."""
    graphs = {inner.block: inner for inner in _graphs(graph)}
    waiting = [_View("", "Program", "", arranged(graph, None, limit))]
    while waiting:
        view = waiting.pop()
        yield view
        for box in every_box(view.picture):
            if isinstance(box.item, Group):
                group = box.item
                inside = graphs[int(group.ops[0].id.partition(".")[0])]
                picture = arranged(inside, group.items, limit)
                waiting.append(_View(group.id, group.name, view.id, picture))


def _graphs(graph: Graph) -> Iterator[Graph]:
    yield graph
    for op in graph.ops:
        for inner in op.blocks:
            yield from _graphs(inner)


def every_box(picture: Picture) -> Iterator[Box]:
    """The boxes of a picture and of those in it."""
    for box in picture.boxes:
        yield box
        for inner in box.inner:
            yield from every_box(inner)


def _data(views: list[_View], ops: list[tuple[Graph, Op]]) -> dict[str, Any]:
    """What the script of the page knows."""
    home = {box.id: view.id for view in views for box in every_box(view.picture)}
    values: dict[tuple[str, str, str], int] = {}

    def numbers(graph: Graph, slots: Mapping[str, list[str]]) -> dict[str, list[int]]:
        found = {}
        for slot, names in slots.items():
            known = [graph.values[name] for name in names if name in graph.values]
            if known:
                keys = [(value.name, value.label, value.kind) for value in known]
                found[slot] = [values.setdefault(key, len(values)) for key in keys]
        return found

    described = {
        op.id: {
            "type": op.type,
            "role": op.role.value,
            "view": home.get(op.id, ""),
            "site": op.site,
            "inputs": numbers(graph, op.inputs),
            "outputs": numbers(graph, op.outputs),
            "attrs": [[name, value, name in op.notable] for name, value in op.attrs.items()],
        }
        for graph, op in ops
    }
    known = set(core.op_types())
    types = sorted({op.type for _, op in ops} & known)
    return {
        "ops": described,
        "values": list(values),
        "docs": {op_type: core.op_def(op_type).doc for op_type in types},
        "views": {view.id: {"title": view.title, "parent": view.parent} for view in views[1:]},
    }


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
