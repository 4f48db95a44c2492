"""Nested results: Variables and numbers in tuples, lists and dicts."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

from fluidcore import core
from fluidcore.program import Variable

Leaf: TypeAlias = Any  # a Variable or a number


class Row(NamedTuple):
    """The leaves that several structures have in one place.

    Attributes:
        path: Where: "out[0]['h']".
        leaves: One of each structure.
    """

    path: str
    leaves: tuple[Leaf, ...]


def is_leaf(value: object) -> bool:
    """Whether a value is a Variable or a number."""
    return isinstance(value, (Variable, Real))


def rows(layer: str, path: str, structures: dict[str, Any]) -> list[Row]:
    """The leaves of structures that are the same, side by side.

    A tuple and a list of the same length are the same; so are two dicts with the same keys, in
    whatever order. None has no leaves.

    Args:
        layer: Who asks, for messages.
        path: What the structures are called: "out" gives out[0]['h'].
        structures: By what each is called in messages, for example "true_fn".

    Raises:
        TypeError: There is something that is neither a leaf nor a structure.
        core.InvalidArgument: The structures differ.
    """
    for label, structure in structures.items():
        _check_known(layer, path, label, structure)
    return list(_rows(layer, path, structures))


def leaves(layer: str, path: str, label: str, structure: Any) -> list[Row]:
    """The leaves of one structure; arguments and errors as of `rows`."""
    return rows(layer, path, {label: structure})


def pack(structure: Any, leaves: Iterator[Leaf]) -> Any:
    """The structure with other leaves, taken in order."""
    if structure is None:
        return None
    if isinstance(structure, dict):
        return {key: pack(value, leaves) for key, value in structure.items()}
    if isinstance(structure, (tuple, list)):
        packed = [pack(value, leaves) for value in structure]
        if hasattr(structure, "_fields"):  # a named tuple
            return type(structure)(*packed)
        return tuple(packed) if isinstance(structure, tuple) else packed
    return next(leaves)


def describe(value: Any) -> str:
    """A leaf or a structure in a message: "float32 [2, 3]", "a dict of 'h'"."""
    if isinstance(value, Variable):
        return f"{value.dtype} {list(value.shape)}"
    if isinstance(value, dict):
        return f"a dict of {', '.join(map(repr, value)) or 'nothing'}"
    if isinstance(value, (tuple, list)):
        return f"a {'tuple' if isinstance(value, tuple) else 'list'} of {len(value)}"
    return "None" if value is None else f"the number {value}"


def _check_known(layer: str, path: str, label: str, value: Any) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            _check_known(layer, f"{path}[{key!r}]", label, item)
    elif isinstance(value, (tuple, list)):
        for i, item in enumerate(value):
            _check_known(layer, f"{path}[{i}]", label, item)
    elif value is not None and not is_leaf(value):
        raise TypeError(
            f"{layer}: {path} of {label} must be a Variable, a number, None, or a tuple, list or "
            f"dict of these, got {type(value).__name__} {value!r}"
        )


def _rows(layer: str, path: str, structures: dict[str, Any]) -> Iterator[Row]:
    values = list(structures.values())
    first = values[0]
    if all(isinstance(value, dict) for value in values) and all(
        value.keys() == first.keys() for value in values
    ):
        for key in first:
            inner = {label: value[key] for label, value in structures.items()}
            yield from _rows(layer, f"{path}[{key!r}]", inner)
    elif all(isinstance(value, (tuple, list)) for value in values) and all(
        len(value) == len(first) for value in values
    ):
        for i in range(len(first)):
            inner = {label: value[i] for label, value in structures.items()}
            yield from _rows(layer, f"{path}[{i}]", inner)
    elif all(is_leaf(value) for value in values):
        yield Row(path, tuple(values))
    elif any(value is not None for value in values):
        raise core.InvalidArgument(
            f"{layer}: {path} must have the same structure everywhere, got {_listed(structures)}"
        )


def _listed(structures: dict[str, Any]) -> str:
    return ", ".join(f"{describe(value)} from {label}" for label, value in structures.items())


def mismatch(layer: str, row: Row, labels: Iterator[str] | list[str]) -> core.InvalidArgument:
    """The error for leaves that should be alike and are not."""
    alike = _listed(dict(zip(labels, row.leaves, strict=True)))
    return core.InvalidArgument(
        f"{layer}: {row.path} must have the same shape and dtype everywhere, got {alike}"
    )
