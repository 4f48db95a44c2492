"""What is drawn: boxes with lines of text, and the size that they need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from fluidcore.picture.folding import Group, Item
from fluidcore.picture.graph import Graph, Op, Value
from fluidcore.picture.layout import Point
from fluidcore.picture.roles import Role

TITLE, LINE = 20.0, 15.0  # heights
PADDING, INSIDE = 8.0, 14.0
_WIDEST, _NARROWEST = 270.0, 84.0
_TITLE_CHAR, _CHAR = 8.6, 6.8  # widths in a sans-serif of 13 and 11 pixels
_PARAMETERS = 3  # lines of them
_NOT_SHOWN = frozenset({"dtype", "force_cpu", "is_train", "ex_states", "states", "sub_block"})


@dataclass(eq=False)
class Box:
    """A box; its place is that of its upper left corner in the picture that it is in."""

    id: str
    kind: str  # "op", "group", "input"
    role: Role
    title: str
    lines: list[str]
    item: Item | None = None
    inner: list[Picture] = field(default_factory=list)
    tooltip: str = ""  # what was cut
    x: float = 0.0
    y: float = 0.0

    @cached_property
    def head(self) -> float:
        """Height of the text."""
        return 2 * PADDING + TITLE + LINE * len(self.lines) - (6 if not self.lines else 0)

    @cached_property
    def width(self) -> float:
        """Of the box, its inner blocks included."""
        text = max([_TITLE_CHAR * _wide(self.title), *(_CHAR * _wide(x) for x in self.lines)])
        own = min(max(text + 2 * PADDING + 6, _NARROWEST), _WIDEST)
        inside = sum(each.width + INSIDE for each in self.inner) + INSIDE
        return max(own, inside) if self.inner else own

    @cached_property
    def height(self) -> float:
        """Of the box, its inner blocks included."""
        inside = max((each.height + INSIDE for each in self.inner), default=0.0)
        return self.head + inside


@dataclass(eq=False)
class Line:
    """What passes from a box to another one."""

    source: Box
    target: Box
    values: list[Value]
    points: list[Point] = field(default_factory=list)
    across: bool = False  # from one part of the program to another

    @property
    def label(self) -> str:
        """Shape and dtype of the first value, and how many others there are."""
        more = f" +{len(self.values) - 1}" if len(self.values) > 1 else ""
        return self.values[0].label + more if self.values[0].label else ""


@dataclass(eq=False)
class Picture:
    """Boxes and lines of one block, or of a part of it; its place is that in a box."""

    boxes: list[Box] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    heads: list[tuple[float, str]] = field(default_factory=list)  # titles of columns, with places
    width: float = 0.0
    height: float = 0.0
    x: float = 0.0
    y: float = 0.0


def _wide(text: str) -> float:
    """About how many letters of medium width a text is as wide as."""
    return sum(1.25 if char.isupper() or char in "@mw→…" else 1.0 for char in text)


def op_box(op: Op, graph: Graph, inner: Sequence[Picture]) -> Box:
    """The box of an operator: its type, attributes that are not defaults, parameters with sizes."""
    attrs = [
        f"{name}={value}"
        for name, value in op.attrs.items()
        if name in op.notable and name not in _NOT_SHOWN and not value.startswith("block ")
    ]
    lines = _wrapped(attrs) + _parameters(op, graph)
    return Box(op.id, "op", op.role, op.type, [_cut(x) for x in lines], op, list(inner))


def group_box(group: Group) -> Box:
    """The box of a group: its name, and the types in it."""
    counts: dict[str, int] = {}
    for op in group.ops:
        counts[op.type] = counts.get(op.type, 0) + 1
    most = sorted(counts.items(), key=lambda pair: -pair[1])[:3]
    kinds = [f"{number} of {kind}" if number > 1 else kind for kind, number in most]
    lines = [f"{len(group.ops):,} operators", *kinds]
    if len(counts) > len(most):
        lines.append(f"{len(counts) - len(most)} other types")
    title = _cut(group.name, _TITLE_CHAR)
    return Box(group.id, "group", group.role, title, [_cut(x) for x in lines], group)


def input_box(name: str, role: Role, value: Value) -> Box:
    """The box of a value that comes from outside."""
    shown = _cut(name, _TITLE_CHAR)
    return Box(f"in:{name}", "input", role, shown, [_cut(value.label)], tooltip=name)


def inputs_box(reader: Box, names: Sequence[str]) -> Box:
    """One box for many values that come from outside to the same reader."""
    lines = [*names[:2], f"and {len(names) - 2} more"]
    title = f"{len(names):,} values"
    return Box(f"in:{reader.id}", "input", reader.role, title, [_cut(line) for line in lines])


def _parameters(op: Op, graph: Graph) -> list[str]:
    """What an operator learns from, with sizes; of backward and updates, whose gradient it is."""
    if op.role is Role.BACKWARD:
        owners = [name.partition("@GRAD")[0] for name in op.writes if name.endswith("@GRAD")]
        lines = [f"→ {name}@GRAD" for name in owners if _is_parameter(graph, name)]
    elif op.role is Role.UPDATE:
        lines = op.inputs.get("Param", [])
    else:
        named = [graph.values[name] for name in op.reads if name in graph.values]
        lines = [
            f"{value.name} {value.label.partition(' ')[2]}"
            for value in named
            if value.kind == "parameter"
        ]
    hidden = len(lines) - _PARAMETERS
    return [*lines[:_PARAMETERS], *([f"and {hidden} more"] if hidden > 0 else [])]


def _is_parameter(graph: Graph, name: str) -> bool:
    return name in graph.values and graph.values[name].kind == "parameter"


def _wrapped(words: Sequence[str]) -> list[str]:
    """Words in at most two lines."""
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + len(word) < 30:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines if len(lines) <= 2 else [lines[0], lines[1] + " ..."]


def _cut(text: str, char: float = _CHAR) -> str:
    """What fits into the widest box."""
    room = int((_WIDEST - 2 * PADDING - 6) / char)
    if _wide(text) <= room:
        return text
    half = int(room / _wide(text) * len(text)) // 2
    return f"{text[: half - 1]}…{text[-half:]}"
