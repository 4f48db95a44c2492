"""What is measured in each batch: the loss, metrics of the program, and metrics over batches."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from fluidcore import core
from fluidcore.base.checks import check_list, check_name
from fluidcore.base.dtypes import FLOATING
from fluidcore.metrics import MetricBase
from fluidcore.program import Program, Variable
from fluidcore.program.arguments import check_owner

EVALUATED = "val_"  # starts the names of what an evaluation gives


class Measures:
    """The names of what is fetched, and what becomes of it.

    Attributes:
        numbers: Name of a metric -> variable of one number; "loss" is the first.
        gathered: Name of a metric -> metric over batches, and the variables that update it.
        fetches: The variables, those of `numbers` first.
    """

    def __init__(self, loss: Variable, metrics: Mapping[str, Any] | None, program: Program) -> None:
        self.numbers = {"loss": _number("loss", loss, program)}
        if loss.dtype not in FLOATING:
            raise core.InvalidArgument(f"Trainer: loss must be floating, got {loss!r}")
        self.gathered: dict[str, tuple[MetricBase, list[str]]] = {}
        if metrics is not None and not isinstance(metrics, Mapping):
            raise TypeError(
                f"Trainer: metrics must map names to Variables, got {type(metrics).__name__}"
            )
        for name, metric in (metrics or {}).items():
            check_name("Trainer: a name in metrics", name)
            if name == "loss" or name.startswith(EVALUATED):
                raise core.InvalidArgument(
                    f"Trainer: a name in metrics must not be 'loss' nor begin with '{EVALUATED}', "
                    f"which are those of the trainer itself, got '{name}'"
                )
            if isinstance(metric, tuple):
                self.gathered[name] = _over_batches(name, metric, program)
            else:
                self.numbers[name] = _number(f"metric '{name}'", metric, program)
        of_gathered = [each for _, names in self.gathered.values() for each in names]
        self.fetches = list(dict.fromkeys([*self.numbers.values(), *of_gathered]))

    @property
    def names(self) -> list[str]:
        """The names of all metrics."""
        return [*self.numbers, *self.gathered]


def _number(what: str, variable: object, program: Program) -> str:
    """The name of a variable of one number of the outermost block."""
    if not isinstance(variable, Variable):
        cure = ""
        if isinstance(variable, MetricBase):
            cure = "; write (metric, [variables that it is updated with])"
        raise TypeError(
            f"Trainer: {what} must be a Variable, got {type(variable).__name__} {variable!r}{cure}"
        )
    name = _own(what, variable, program)
    extents = variable.shape
    if prod(extents) != 1 or -1 in extents:
        raise core.InvalidArgument(
            f"Trainer: {what} must be one number, got '{name}' {list(extents)}; take its mean, "
            "layers.mean(...)"
        )
    return name


def _own(what: str, variable: Variable, program: Program) -> str:
    check_owner(f"Trainer: {what}", variable, program)
    if not program.global_block().has_var(variable.name):
        raise core.InvalidArgument(
            f"Trainer: {what} must be a variable of the outermost block of the program, got "
            f"'{variable.name}'"
        )
    return variable.name


def _over_batches(
    name: str, pair: tuple[Any, ...], program: Program
) -> tuple[MetricBase, list[str]]:
    if len(pair) != 2 or not isinstance(pair[0], MetricBase):
        raise TypeError(
            f"Trainer: metric '{name}' must be a Variable, or a metric of fluid.metrics with the "
            f"Variables that it is updated with, (metric, [...]), got {pair!r}"
        )
    metric, variables = pair
    names = []
    for variable in check_list(f"Trainer: the Variables of metric '{name}'", variables):
        if not isinstance(variable, Variable):
            raise TypeError(f"Trainer: metric '{name}' must be given Variables, got {variable!r}")
        names.append(_own(f"metric '{name}'", variable, program))
    return metric, names
