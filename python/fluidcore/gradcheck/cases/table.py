"""Examples written as tables: a row has the shape of each input, and attributes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import cycle
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fluidcore.gradcheck.cases.example import Array, Data, OpExample, Shape

Cases: TypeAlias = "Callable[[str, Data], Iterator[OpExample]]"  # of a type of operators
Attrs: TypeAlias = "Mapping[str, Any]"
NO_ATTRS: Attrs = {}


class Row(NamedTuple):
    """An example without its numbers."""

    shapes: tuple[Shape | None, ...]
    attrs: Attrs
    note: str = ""
    outputs: Mapping[str, int] = NO_ATTRS


def row(
    *shapes: Shape | None, note: str = "", outputs: Mapping[str, int] = NO_ATTRS, **attrs: Any
) -> Row:
    """The shapes of the inputs, in the order of the slots (None: left out), and attributes."""
    return Row(shapes, attrs, note, outputs)


def table(
    slots: str,
    rows: Callable[..., Iterable[Row]],
    *,
    least: int = 2,
    most: int = 5,
    to_check: tuple[str, ...] | None = None,
    outputs: Mapping[str, int] = NO_ATTRS,
) -> Cases:
    """An example for each row.

    Args:
        slots: The inputs, each with the method of Data that draws it where that is not `normal`:
            "X Scale:positive".
        rows: Makes the rows of as many random extents as it has parameters.
        least: The smallest extent.
        most: The largest one.
        to_check: As of OpExample.
        outputs: As of OpExample, where a row does not say it.
    """
    count = len(inspect.signature(rows).parameters)

    def cases(op_type: str, data: Data) -> Iterator[OpExample]:
        for shapes, attrs, note, several in rows(*data.extents(count, least, most)):
            inputs = drawn(data, slots, *shapes)
            yield OpExample(op_type, inputs, attrs, to_check, several or outputs, note)

    return cases


def drawn(data: Data, slots: str, *shapes: Shape | None) -> dict[str, Array]:
    """The inputs of a row."""
    inputs = {}
    for slot, shape in zip(slots.split(), shapes, strict=True):
        name, _, method = slot.partition(":")
        if shape is not None:
            inputs[name] = np.asarray(getattr(data, method or "normal")(*shape))
    return inputs


def each_shape(
    op_type: str,
    data: Data,
    slots: str = "X",
    choices: Iterable[Attrs] = (),
    inputs: Callable[[Data, Shape], Mapping[str, Array]] | None = None,
) -> Iterator[OpExample]:
    """An example for each of `data.shapes()`; the attributes take turns.

    Args:
        op_type: The operator.
        data: Draws the inputs.
        slots: Of inputs that all have this shape, as in `table`.
        choices: Attributes; none for the defaults.
        inputs: Draws the inputs in another way.
    """
    for shape, attrs in zip(data.shapes(), cycle(list(choices) or [NO_ATTRS])):
        same = [shape] * len(slots.split())
        given = drawn(data, slots, *same) if inputs is None else inputs(data, shape)
        yield OpExample(op_type, given, attrs)
