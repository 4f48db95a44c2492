"""Reports put together by what was checked: an operator, and for each dtype and device a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fluidcore.gradcheck.report.data import Audit, ReportData, ResultData
from fluidcore.gradcheck.report.parts import Part, part_of
from fluidcore.gradcheck.report.phrases import SEVERITY
from fluidcore.gradcheck.verdict import Reason, Verdict

_DTYPES = ("float64", "float32", "bfloat16", "float16")


class Column(NamedTuple):
    """A dtype on a device."""

    dtype: str
    place: str


class Row(NamedTuple):
    """An input, and what was found in each column; several checks of it have several rows.

    There is no shape where the results are the worst of several examples, which have others.
    """

    name: str
    shape: tuple[int, ...] | None
    results: dict[Column, ResultData]

    @property
    def verdict(self) -> Verdict:
        """Of all columns together."""
        return Verdict.together(result.verdict for result in self.results.values())


@dataclass
class Group:
    """Everything about one operator, function or program."""

    who: str
    reports: list[ReportData] = field(default_factory=list)

    def results(self) -> list[ResultData]:
        """Those of all reports, the wrong ones first."""
        found = [result for report in self.reports for result in report.results]
        return sorted(found, key=lambda result: SEVERITY[result.verdict])

    def rows(self) -> list[Row]:
        """A row for each input that was checked, the wrong ones first."""
        rows: dict[tuple[str, tuple[int, ...] | None], list[Row]] = {}
        for report in self.reports:
            for result in report.results:
                column = column_of(result)
                shape = result.shape if result.num_examples == 1 else None
                same = rows.setdefault((result.name, shape), [])
                row = next((row for row in same if column not in row.results), None)
                if row is None:
                    row = Row(result.name, shape, {})
                    same.append(row)
                row.results[column] = result
        everything = [row for same in rows.values() for row in same]
        return sorted(everything, key=lambda row: SEVERITY[row.verdict])

    @property
    def verdict(self) -> Verdict:
        """Of everything together."""
        return Verdict.together(report.verdict for report in self.reports)

    def cell(self, column: Column) -> Verdict | None:
        """The verdict in one column; None if nothing was checked there."""
        parts: list[ResultData | Audit] = []
        for report in self.reports:
            found = [result for result in report.results if column_of(result) == column]
            parts += [*found, *report.audits] if found else []
        return Verdict.together(part.verdict for part in parts) if parts else None

    def reasons(self) -> list[Reason]:
        """All that occur, each once."""
        found: list[Reason] = []
        for report in self.reports:
            found += [report.culprit.reason] if report.culprit else []
            found += [reason for result in report.results for reason in result.reasons]
            found += [audit.reason for audit in report.audits if audit.reason]
        return list(dict.fromkeys(found))


def column_of(result: ResultData) -> Column:
    """Where a result belongs."""
    return Column(result.dtype, result.place)


def grouped(reports: Sequence[ReportData]) -> list[Group]:
    """A group for each name, the wrong ones first, else in the order given."""
    groups: dict[str, Group] = {}
    for report in reports:
        groups.setdefault(report.who, Group(report.who)).reports.append(report)
    return sorted(groups.values(), key=lambda group: SEVERITY[group.verdict])


def column_parts(reports: Sequence[ReportData]) -> dict[Column, Part]:
    """What the results of each column are about, if any of them is formula or kernel alone."""
    found: dict[Column, Part] = {}
    for report in reports:
        for result in report.results:
            part = part_of(result, report.results)
            if part is not Part.WHOLE or column_of(result) not in found:
                found[column_of(result)] = part
    return found


def columns(reports: Sequence[ReportData]) -> list[Column]:
    """The columns that occur: the widest dtype first, CPU before GPU."""
    found = {column_of(result) for report in reports for result in report.results}

    def key(column: Column) -> tuple[str, int, str]:
        known = column.dtype in _DTYPES
        return column.place, _DTYPES.index(column.dtype) if known else len(_DTYPES), column.dtype

    return sorted(found, key=key)
