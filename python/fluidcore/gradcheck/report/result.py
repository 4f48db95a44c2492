"""What a check returns: plain data that can be printed and saved."""

from __future__ import annotations

from dataclasses import dataclass

from fluidcore.gradcheck.report.data import ReportData, ResultData
from fluidcore.gradcheck.report.text import report_line, report_text, result_line, result_text
from fluidcore.gradcheck.verdict import Verdict


@dataclass(frozen=True, repr=False)
class GradCheckResult(ResultData):
    """The check of the gradient by one input.

    Its attributes are described at ResultData.
    """

    def __str__(self) -> str:
        return result_text(self)

    def __repr__(self) -> str:
        return f"<GradCheckResult {result_line(self)}>"


@dataclass(frozen=True, repr=False)
class GradCheckReport(ReportData):
    """The check of one target: a result for each input, audits, and what was found out.

    Its attributes are described at ReportData.
    """

    results: tuple[GradCheckResult, ...]

    def __str__(self) -> str:
        return report_text(self)

    def __repr__(self) -> str:
        return f"<GradCheckReport {report_line(self)}>"

    def save(self, path: str) -> None:
        """Writes the report: .html, .json, .sarif, .xml (JUnit) or .txt, by the end of the name."""
        from fluidcore.gradcheck.report.saving import save  # here, as few checks save a report

        save([self], path)

    def assert_ok(self, allow_inconclusive: bool = False) -> None:
        """Raises GradientError with the report's text unless the verdict is PASS."""
        __tracebackhide__ = True  # pytest then shows the user's line
        if self.verdict is Verdict.PASS:
            return
        if allow_inconclusive and self.verdict is Verdict.INCONCLUSIVE:
            return
        raise GradientError(str(self), self)


class GradientError(AssertionError):
    """A gradient is not proven right.

    Attributes:
        report: What was found, whose text this is; None where only two gradients were compared.
    """

    def __init__(self, text: str, report: GradCheckReport | None = None) -> None:
        super().__init__(text)
        self.report = report
