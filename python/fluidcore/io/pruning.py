"""The part of a program that calculates some variables, for inference."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fluidcore.io.persistables import given_program
from fluidcore.program import Program, Variable


def get_inference_program(
    target_vars: Variable | Iterable[Any], main_program: Program | None = None
) -> Program:
    """A copy of a program with only what the targets need, and with `is_test` set.

    Args:
        target_vars: Variables; of an evaluator its states and metrics.
        main_program: None for the default main program.

    Raises:
        core.NotFound: A target does not exist.
        core.InvalidArgument: A target belongs to another program that is no copy of this one.
    """
    given = [target_vars] if isinstance(target_vars, (Variable, str)) else list(target_vars)
    targets: list[Any] = []
    for target in given:
        of_evaluator = [*getattr(target, "states", []), *getattr(target, "metrics", [])]
        targets += of_evaluator or [target]
    return given_program(main_program).prune(targets).clone(for_test=True)
