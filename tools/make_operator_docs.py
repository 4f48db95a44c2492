"""Writes docs/operators/ from the declarations of the operators.

    python tools/make_operator_docs.py           writes a page for each operator, and their table
    python tools/make_operator_docs.py --check   exit status 1 if the stored pages differ

Needs an importable fluidcore.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fluidcore import core, layers

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "operators"
GRAD = "_grad"
MADE = "<!-- Made by tools/make_operator_docs.py from the declarations; not to be edited. -->\n"
FAMILIES = {
    "integers": ("int16", "int32", "int64"),
    "floating": ("float16", "float32", "float64", "bfloat16"),
}
FLAGS = (
    ("list", "a list of tensors"),
    ("array", "a tensor array"),
    ("optional", "may be left out"),
    ("no_gradient", "has no gradient"),
    ("intermediate", "for the gradient alone"),
)


def pages() -> dict[str, str]:
    """The text of each page, by its file name."""
    types = core.op_types()
    forward = [name for name in types if base_of(name, types) is None]
    texts = {f"{name}.md": page(name, types) for name in forward}
    texts["README.md"] = table_of_contents(forward)
    return texts


def base_of(name: str, types: Sequence[str]) -> str | None:
    """The operator whose gradient, or gradient's gradient, an operator calculates."""
    base = name
    while base.endswith(GRAD) and base.removesuffix(GRAD) in types:
        base = base.removesuffix(GRAD)
    return None if base == name else base


def table_of_contents(names: Iterable[str]) -> str:
    """One line for each operator."""
    rows = []
    for name in names:
        op = core.op_def(name)
        rows.append((f"[{name}]({name}.md)", summary(op), gradient(op), families(op)))
    head = (
        "# Operators\n\nWhat a program can hold. Gradients are operators, too, named on the pages. "
        f"Floating are {', '.join(FAMILIES['floating'])}; "
        f"integers {', '.join(FAMILIES['integers'])}."
    )
    return f"{MADE}\n{head}\n\n{table(('operator', 'what it does', 'gradient', 'dtypes'), rows)}"


def page(name: str, types: Sequence[str]) -> str:
    """An operator and its gradient operators."""
    op = core.op_def(name)
    parts = [f"{MADE}\n# {name}", prose(op.doc)]
    if call := python_call(name):
        parts.append(f"In Python: `{call}`")
    parts += described(op)
    facts = [f"dtypes: {dtypes(op)}", f"gradient: {gradient(op)}"]
    if op.is_random:
        facts.append("draws random numbers")
    parts.append("\n".join(f"* {fact}" for fact in facts))
    for grad in (other for other in types if base_of(other, types) == name):
        found = core.op_def(grad)
        parts += [f"## {grad}", prose(found.doc), *described(found)]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def described(op: Any) -> list[str]:
    """Tables of slots and attributes."""
    found = []
    for title, slots in (("input", op.inputs), ("output", op.outputs)):
        if slots:
            uses = [(f"`{slot.name}`", slot.doc, flags(slot)) for slot in slots]
            found.append(table((title, "what it is", ""), uses))
    if op.attrs:
        rows = [(f"`{attr.name}`", attr.doc, attr.type, default(attr)) for attr in op.attrs]
        found.append(table(("attribute", "what it is", "type", "default"), rows))
    return found


def flags(slot: Any) -> str:
    """What is special about a slot."""
    return ", ".join(text for name, text in FLAGS if getattr(slot, name))


def default(attr: Any) -> str:
    """The value where none is given."""
    text = "must be given" if attr.required else f"`{attr.default!r}`"
    return f"{text}; one of {', '.join(map(str, attr.choices))}" if attr.choices else text


def dtypes(op: Any) -> str:
    """Those that it has kernels for."""
    names = [name for device, name in op.kernels if device == "cpu"]
    return ", ".join(sorted(names, key=core.dtype_number)) or "any"


def families(op: Any) -> str:
    """The same in few words."""
    text = dtypes(op)
    for family, names in FAMILIES.items():
        text = text.replace(", ".join(names), family)
    return text


def gradient(op: Any) -> str:
    """Whether there is one, and of what."""
    if not op.has_grad:
        return "none"
    return "composed" if op.has_decomposition else "yes"


def python_call(name: str) -> str | None:
    """How the layer of that name is called."""
    layer = getattr(layers, name, None)
    if not inspect.isfunction(layer):
        return None
    signature = inspect.signature(layer)
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    text = inspect.Signature(bare)
    return f"layers.{name}{text}"


def summary(op: Any) -> str:
    """The first sentence of its documentation."""
    return str(op.doc).partition(". ")[0].rstrip(".")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; a column without text is left out."""
    rows = [[escaped(cell) for cell in row] for row in rows]
    kept = [i for i in range(len(head)) if any(row[i] for row in rows)]
    lines = [
        [head[i] for i in kept],
        ["---"] * len(kept),
        *([row[i] for i in kept] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def escaped(text: str) -> str:
    """Text as it can stand in a cell."""
    return prose(text).replace("|", "\\|").replace("\n", " ")


def prose(text: str) -> str:
    """Text in which X[i][j] is no link."""
    return text.replace("][", "]\\[")


def main() -> int:
    """Writes or compares the pages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    made = pages()
    stored = {path.name: path.read_text() for path in FOLDER.glob("*.md")}
    if parser.parse_args().check:
        stale = sorted(name for name in made.keys() | stored if made.get(name) != stored.get(name))
        for name in stale:
            print(f"docs/operators/{name}: stale; run python tools/make_operator_docs.py")
        return 1 if stale else 0
    FOLDER.mkdir(exist_ok=True)
    for name in stored.keys() - made:
        (FOLDER / name).unlink()
    for name, text in made.items():
        (FOLDER / name).write_text(text)
    print(f"{FOLDER}: {len(made)} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
