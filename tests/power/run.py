"""The measurement of checkers over many operators, seeds and dtypes, in several processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from fluidcore.gradcheck import cases
from fluidcore.gradcheck.cli.processes import in_processes
from tests.power.bug import Where
from tests.power.measure import Case, Power, measure, merge
from tests.power.peers import checker
from tests.power.planted import operator_case, program_case

PROGRAM_DTYPES = ("float64", "float32")


class Plan(NamedTuple):
    """What is measured.

    Attributes:
        checkers: Names of peers.NAMES.
        dtype: Of the gradients under test.
        seeds: Of examples and bugs.
        bugs: Planted in each case.
        types: Operators; None for all that have a gradient.
        where: "formula": bugs in every dtype; "kernel": only in `dtype`.
        programs: Whether the cases are programs, not operators.
    """

    checkers: Sequence[str]
    dtype: str
    seeds: Sequence[int]
    bugs: int = 4
    types: Sequence[str] | None = None
    where: Where = "formula"
    programs: bool = False

    def names(self) -> list[str]:
        """The operators or programs."""
        if self.programs:
            return list(cases.program_names() if self.types is None else self.types)
        types = cases.differentiable_types() if self.types is None else self.types
        return [op_type for op_type in types if self.dtype in cases.dtypes_of(op_type)]


def run(plan: Plan, jobs: int = 1) -> Iterator[tuple[int, int, dict[str, Power]]]:
    """Measures; after each operator (done, of how many, everything so far).

    Args:
        plan: What is measured.
        jobs: Processes.
    """
    tasks = [partial(measure_name, plan, name) for name in plan.names()]
    total: dict[str, Power] = {}
    for done, found in enumerate(in_processes(tasks, jobs), 1):
        total = merge([total, found])
        yield done, len(tasks), total


def measure_name(plan: Plan, name: str) -> dict[str, Power]:
    """One operator or program, at all seeds."""
    checkers = {each: checker(each) for each in plan.checkers}
    parts = []
    for seed in plan.seeds:
        case = _case(plan, name, seed)
        if case is not None:
            parts.append(measure([case], checkers, seed))
    return merge(parts)


def _case(plan: Plan, name: str, seed: int) -> Case | None:
    if plan.programs:
        return program_case(name, seed, plan.dtype, plan.bugs)
    return operator_case(name, seed, plan.dtype, plan.bugs, plan.where)
