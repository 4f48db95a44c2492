"""Small edits of a source file: another operator or constant, a statement left out.

Texts, annotations, imports, decorators, raised errors, `strict=True` and the -1 of `reshape(-1)`
are left alone.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_SWAPPED: dict[type[ast.AST], tuple[Any, ...]] = {
    ast.Lt: (ast.GtE, ast.LtE),
    ast.LtE: (ast.Gt, ast.Lt),
    ast.Gt: (ast.LtE, ast.GtE),
    ast.GtE: (ast.Lt, ast.Gt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
}
_RENAMED = {"min": "max", "minimum": "maximum", "any": "all"}
_RENAMED |= {new: old for old, new in _RENAMED.items()}
_UNTOUCHED = ("annotation", "returns", "decorator_list", "bases", "type_params")


@dataclass(frozen=True)
class Mutant:
    """One edit.

    Attributes:
        module: "judge", "localise.search".
        owner: Qualified name of the outermost function around it; "" if it is run by the import.
        line: Where it is.
        lines: Those of its statement, without the statements inside.
        before: The source text.
        after: The text in its place.
        source: The whole edited file.
    """

    module: str
    owner: str
    line: int
    lines: range
    before: str
    after: str
    source: bytes


@dataclass(frozen=True)
class _Place:
    owner: str = ""
    scope: str = ""
    lines: range = range(0)


def mutants_of(module: str, source: bytes) -> Iterator[Mutant]:
    """All edits of a file, in the order of its text."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node, place in _nodes(ast.parse(source), _Place()):
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        if source[begin:end].startswith(b"elif"):
            continue
        for new in _edits(node):
            after = ast.unparse(new)
            text = f"({after})" if isinstance(new, ast.expr) else after
            edited = source[:begin] + text.encode() + source[end:]
            before = _first_line(node)
            yield Mutant(module, place.owner, node.lineno, place.lines, before, after, edited)


def _nodes(node: ast.AST, place: _Place) -> Iterator[tuple[ast.expr | ast.stmt, _Place]]:
    if isinstance(node, (ast.JoinedStr, ast.Raise, ast.Import, ast.ImportFrom)):
        return
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("reshape"):
        # Any number below 0 does what -1 does.
        for part in (node.func, *(one for one in node.args if ast.unparse(one) != "-1")):
            yield from _nodes(part, place)
        return
    if isinstance(node, ast.stmt):
        place = _Place(place.owner, place.scope, _header(node))
    if isinstance(node, (ast.expr, ast.stmt)):
        yield node, place
    for name, value in ast.iter_fields(node):
        if name in _UNTOUCHED:
            continue
        inside = _inside(node, place) if name == "body" else place
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _nodes(child, inside)


def _inside(node: ast.AST, place: _Place) -> _Place:
    """The place of what a function or a class contains."""
    if place.owner or not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return place
    name = f"{place.scope}.{node.name}".removeprefix(".")
    if isinstance(node, ast.ClassDef):
        return _Place("", name, place.lines)
    return _Place(name, name, place.lines)


def _header(node: ast.stmt) -> range:
    inner = [
        child.lineno
        for name, value in ast.iter_fields(node)
        if name != "decorator_list"
        for child in (value if isinstance(value, list) else [])
        if isinstance(child, (ast.stmt, ast.excepthandler))
    ]
    inner += [case.pattern.lineno for case in getattr(node, "cases", [])]
    end = min([(node.end_lineno or node.lineno) + 1, *inner])
    return range(node.lineno, max(end, node.lineno + 1))


def _edits(node: ast.expr | ast.stmt) -> Iterator[ast.expr | ast.stmt]:
    match node:
        case ast.Compare(left, ops, right):
            number = None if any(map(_is_count, (left, *right))) else 1
            for i, op in enumerate(ops):
                for new in _SWAPPED[type(op)][:number]:
                    yield ast.Compare(left, [*ops[:i], new(), *ops[i + 1 :]], right)
        case ast.BinOp(left, op, right):
            yield from (ast.BinOp(left, new(), right) for new in _SWAPPED.get(type(op), ()))
        case ast.AugAssign(target, op, value):
            yield from (ast.AugAssign(target, new(), value) for new in _SWAPPED.get(type(op), ()))
            yield ast.Pass()
        case ast.BoolOp(op, values):
            yield from (ast.BoolOp(new(), values) for new in _SWAPPED[type(op)])
        case ast.UnaryOp(_, operand):
            yield operand
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int(value) | float(value)):
            others = sorted({2 * value, value + 1, 0} - {value})
            yield from (ast.Constant(new) for new in others)
        case ast.Name(name) if name in _RENAMED:
            yield ast.Name(_RENAMED[name])
        case ast.Attribute(value, name) if name in _RENAMED:
            yield ast.Attribute(value, _RENAMED[name])
        case ast.Return(value) if value is not None and not _is_nothing(value):
            yield ast.Return(ast.Constant(None))
        case ast.Assign([ast.Name(name)], value) if name in _names(value):
            yield ast.Pass()
        case ast.Expr(ast.Call() | ast.Yield()) | ast.If(orelse=[]) | ast.Continue():
            yield ast.Pass()


def _is_count(node: ast.expr) -> bool:
    """Whether it looks like an integer: between others, < and <= are the same but by chance."""
    match node:
        case ast.Constant(int()) | ast.Call(ast.Name("len")) | ast.Attribute(attr="size"):
            return True
    return False


def _is_nothing(node: ast.expr) -> bool:
    """Whether it is None, or False, which is None to every condition."""
    return isinstance(node, ast.Constant) and node.value in (None, False)


def _names(node: ast.expr) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _first_line(node: ast.AST) -> str:
    first, *rest = ast.unparse(node).splitlines()
    return f"{first} ..." if rest else first
