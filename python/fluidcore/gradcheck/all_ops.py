"""Checks every operator that has a gradient, at examples of its own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count, islice
from typing import NamedTuple

from fluidcore.gradcheck import cases
from fluidcore.gradcheck.adapters.operator import operator_target
from fluidcore.gradcheck.adapters.program import program_target
from fluidcore.gradcheck.cases.example import OpExample
from fluidcore.gradcheck.cases.one_op import one_op
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.pipeline.run import run_check
from fluidcore.gradcheck.report.data import Audit
from fluidcore.gradcheck.report.result import GradCheckReport, GradCheckResult
from fluidcore.gradcheck.target.repro import Repro
from fluidcore.gradcheck.verdict import Verdict

_PROGRAM_DTYPES = ("float64", "float32")  # constants inside are of the declared dtype
_WORST_FIRST = (Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.PASS)


class Check(NamedTuple):
    """The check of an operator, or of an example program.

    Attributes:
        name: Of the operator or program.
        dtype: What it calculated in.
        example: Where, or the program.
        report: What was found.
    """

    name: str
    dtype: str
    example: OpExample | cases.ProgramExample
    report: GradCheckReport


def check_all_ops(
    config: GradCheckConfig | None = None,
    types: Iterable[str] | None = None,
    per_op: int = 20,
    dtypes: Sequence[str] = cases.DTYPES,
    seed: int = 0,
) -> list[GradCheckReport]:
    """Checks operators at examples; a report for each operator, dtype and example.

    Args:
        config: How to check; None for the defaults.
        types: The operators; None for all that have a gradient, control flow left out.
        per_op: Examples for each operator and dtype.
        dtypes: Element types; an operator is checked in those that it has.
        seed: Of the examples.

    Raises:
        core.NotFound: A type is unknown, or has no examples.
    """
    checks = each_check(config or GradCheckConfig(), types, per_op, dtypes, seed)
    return [check.report for check in checks]


def each_check(
    config: GradCheckConfig,
    types: Iterable[str] | None = None,
    per_op: int = 20,
    dtypes: Sequence[str] = cases.DTYPES,
    seed: int = 0,
) -> list[Check]:
    """As check_all_ops, with the examples."""
    return [
        Check(t, dtype, example, replace(check_example(example, config), repro=repro.text(config)))
        for t in (cases.differentiable_types() if types is None else types)
        for dtype in dtypes
        if dtype in cases.dtypes_of(t)
        for example, repro in islice(_numbered(t, dtype, seed), per_op)
    ]


def each_program_check(
    config: GradCheckConfig,
    names: Iterable[str] | None = None,
    dtypes: Sequence[str] = cases.DTYPES,
    seed: int = 0,
) -> list[Check]:
    """Checks example programs in float32 and float64, if these are asked.

    The operators of control flow are in them.
    """
    checks = []
    for name in cases.program_names() if names is None else names:
        for dtype in (d for d in _PROGRAM_DTYPES if d in dtypes):
            example = cases.program_example(name, seed, dtype)
            made = f"cases.program_example({name!r}, {seed}, {dtype!r})"
            repro = _repro("check_program_example", made).text(config)
            report = replace(check_program_example(example, config), repro=repro)
            checks.append(Check(name, dtype, example, report))
    return checks


def check_program_example(
    example: cases.ProgramExample, config: GradCheckConfig | None = None
) -> GradCheckReport:
    """Checks the gradient of an example program."""
    target = program_target(
        example.program, example.data(), example.loss, example.wanted(), scope=example.scope()
    )
    report = run_check(target, config or GradCheckConfig())
    return replace(report, who=f"program {example.name!r}")


def check_example(example: OpExample, config: GradCheckConfig | None = None) -> GradCheckReport:
    """Checks an operator at one example."""
    one = one_op(example)
    checked = [name for slot in example.slots_to_check() for name in one.op.input(slot)]
    target = operator_target(one.op, one.values, inputs_to_check=list(dict.fromkeys(checked)))
    return run_check(target, config or GradCheckConfig())


def _numbered(op_type: str, dtype: str, seed: int) -> Iterator[tuple[OpExample, Repro]]:
    """Examples of this seed and those after it, and how their checks are repeated."""
    for own in count(seed):
        examples = cases.examples(op_type, own, dtype)
        for i, example in enumerate(examples):
            made = f"cases.examples({op_type!r}, {own}, {dtype!r})[{i}]"
            yield example, _repro("check_example", made)
        if not examples:
            return


def _repro(function: str, example: str) -> Repro:
    imports = ["from fluidcore.gradcheck import all_ops, cases"]
    return Repro(imports, f"all_ops.{function}({example}", lead=", ")


def merged(checks: Sequence[Check]) -> list[GradCheckReport]:
    """A report for each operator: for each dtype and input the worst result of all examples.

    Those of programs stay as they are, and come last.
    """
    by_type: dict[str, list[Check]] = {}
    for check in checks:
        if isinstance(check.example, OpExample):
            by_type.setdefault(check.name, []).append(check)
    whole = [check.report for check in checks if not isinstance(check.example, OpExample)]
    return [_merged(op_type, group) for op_type, group in by_type.items()] + whole


def joined(reports: Sequence[GradCheckReport]) -> GradCheckReport:
    """The reports of an operator, each of another dtype, as one."""
    return replace(
        max(reports, key=_badness_of_report),  # what is to be repeated
        results=tuple(result for report in reports for result in report.results),
        audits=_audits(reports),
    )


def _merged(op_type: str, checks: Sequence[Check]) -> GradCheckReport:
    groups: dict[tuple[str, str], list[GradCheckResult]] = {}
    for check in checks:
        for result in check.report.results:
            groups.setdefault((result.dtype, result.name), []).append(result)
    reports = [check.report for check in checks]
    results = tuple(_worst(group) for group in groups.values())
    return replace(joined(reports), who=op_type, results=results)


def _audits(reports: Sequence[GradCheckReport]) -> tuple[Audit, ...]:
    """One of each name: those that are not passed, or else one that is."""
    audits = {(audit.name, audit.verdict): audit for report in reports for audit in report.audits}
    failed = {name for name, verdict in audits if verdict is not Verdict.PASS}
    return tuple(
        audit
        for (name, verdict), audit in audits.items()
        if verdict is not Verdict.PASS or name not in failed
    )


def _worst(results: Sequence[GradCheckResult]) -> GradCheckResult:
    worst = max(results, key=_badness)
    alike = results if worst else [worst]
    return replace(
        worst,
        resolution=max(result.resolution for result in alike),
        min_detectable_99=max(result.min_detectable_99 for result in alike),
        num_forward=sum(result.num_forward for result in results),
        num_backward=sum(result.num_backward for result in results),
        seconds=sum(result.seconds for result in results),
        num_examples=len(results),
        num_examples_passed=sum(map(bool, results)),
    )


def _badness(result: GradCheckResult) -> tuple[int, float]:
    error = result.max_relative_error
    return -_WORST_FIRST.index(result.verdict), float("inf") if math.isnan(error) else error


def _badness_of_report(report: GradCheckReport) -> tuple[int, float]:
    worst = max((_badness(result) for result in report.results), default=(0, 0.0))
    return -_WORST_FIRST.index(report.verdict), worst[1]
