"""What layers.Print says of a variable, which an Executor prints after each run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fluidcore import core


class Print:
    """A variable of the outermost block that is printed.

    Args:
        name: Of the variable.
        title: What is written above its value: the message, for example.
        first_n: How often it is printed; -1 for in every run.
        summarize: How many elements are printed; -1 for as many as NumPy prints.
        forward: Whether its value is printed.
        backward: Whether its gradient is printed.
        with_name: Whether the name is printed; so with_type and with_shape.
    """

    __slots__ = (
        "backward",
        "first_n",
        "forward",
        "name",
        "shown",
        "summarize",
        "title",
        "with_name",
        "with_shape",
        "with_type",
    )

    def __init__(
        self,
        name: str,
        title: str | None,
        first_n: int,
        summarize: int,
        forward: bool,
        backward: bool,
        with_name: bool,
        with_type: bool,
        with_shape: bool,
    ) -> None:
        self.name = name
        self.title = title
        self.first_n = first_n
        self.summarize = summarize
        self.forward = forward
        self.backward = backward
        self.with_name = with_name
        self.with_type = with_type
        self.with_shape = with_shape
        self.shown = 0  # runs that printed it, of all copies of the program in this process

    @property
    def is_due(self) -> bool:
        """Whether the next run prints it."""
        return self.first_n < 0 or self.shown < self.first_n


class Printed(NamedTuple):
    """A value that a run prints.

    Attributes:
        by: What says so.
        name: Of the variable: the one that is printed, or its gradient.
    """

    by: Print
    name: str


def printed_values(program: core.ProgramDesc, prints: Iterable[Print]) -> list[Printed]:
    """What the next run prints: values in their order, then gradients, the last one first."""
    due = [each for each in prints if each.is_due]
    block = program.block(0)
    values = [Printed(each, each.name) for each in due if each.forward]
    gradients = [
        Printed(each, core.grad_var_name(each.name)) for each in reversed(due) if each.backward
    ]
    return [value for value in (*values, *gradients) if block.has_var(value.name)]
