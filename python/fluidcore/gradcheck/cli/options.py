"""Options that several subcommands have, and exit codes."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, NoReturn

from fluidcore import core
from fluidcore.base.checks import did_you_mean
from fluidcore.base.dtypes import dtype_name
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.verdict import Verdict

if TYPE_CHECKING:
    from fluidcore.gradcheck.report.result import GradCheckReport

    Commands = argparse._SubParsersAction["Parser"]

_DTYPES = ("float64", "float32", "float16", "bfloat16")
PASSED, FAILED, UNDECIDED, MISUSED = 0, 1, 2, 3
_CODES = {Verdict.PASS: PASSED, Verdict.FAIL: FAILED, Verdict.INCONCLUSIVE: UNDECIDED}
_CHOICE = re.compile(r"invalid choice: '(?P<given>[^']*)' \(choose from (?P<known>.*)\)")
_OPTION = re.compile(r"unrecognized arguments: (?P<given>--[\w-]+)")
_QUOTED = re.compile(r"'([^']*)'")
_CONFIG = frozenset(field.name for field in fields(GradCheckConfig))


class Parser(argparse.ArgumentParser):
    """Wrong arguments are not an inconclusive check: the exit code is 3."""

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(**settings)

    def error(self, message: str) -> NoReturn:
        """Prints `message`, what may have been meant, and exits."""
        hint = "" if "did you mean" in message else self._meant(message)
        if not (hint or "did you mean" in message):
            hint = f"; {self.prog} --help lists what there is"
        self.exit(MISUSED, f"{self.prog}: {message}{hint}\n")

    def _meant(self, message: str) -> str:
        """The nearest option or choice to the one that the message quotes."""
        if found := _CHOICE.search(message):
            return did_you_mean(found["given"], _QUOTED.findall(found["known"]))
        if found := _OPTION.search(message):
            return did_you_mean(found["given"], self._options())
        return ""

    def _options(self) -> list[str]:
        """Of this command and those below it."""
        parsers: list[argparse.ArgumentParser] = [self]
        for action in self._actions:
            if isinstance(action.choices, dict):
                parsers += action.choices.values()
        return [o for parser in parsers for a in parser._actions for o in a.option_strings]


def exit_code(verdicts: Iterable[Verdict]) -> int:
    """0 pass, 1 fail, 2 inconclusive."""
    return _CODES[Verdict.together(verdicts)]


def add_check_options(parser: argparse.ArgumentParser) -> None:
    """Adds what every check can be told."""
    how = parser.add_argument_group("how to check")
    add = how.add_argument
    add("--seed", type=int, default=0, help="of everything random: 0, 1, ...; default 0")
    add("--resolution", type=float, help="relative error that a pass must be able to see")
    add("--tolerance", type=float, help="relative error that is right, as of a solver")
    add("--mode", choices=["auto", "full", "coloured", "directional"], default="auto")
    add("--n-full", type=int, default=2000, help="elements that 'auto' checks one by one")
    add("--probes", type=int, default=4, help="random directions of 'directional'")
    add("--cotangents", type=int, default=2, help="random cotangents of 'full'")
    add("--subset", type=int, help="check this many elements of each input")
    add("--shadow", choices=["auto", "off"], default="auto", help="judge formula and kernel apart")
    add("--second-order", action="store_true", help="check the gradient of the gradient, too")
    add("--no-audits", dest="audits", action="store_false", help="leave out what needs no steps")
    add("--on-kink", choices=["subgradient", "fail", "skip"], default="subgradient")
    add("--device", default="cpu", help="where operators calculate gradients: cpu, cuda, cuda:1")
    add("--workers", type=int, default=0, help="threads; default as many as there are")
    add("--budget", dest="budget_s", type=float, metavar="SECONDS", help="for each check")
    add("--epsilon", type=float, help="a fixed step, and the plain comparison")
    add("--rtol", dest="relative_tolerance", type=float, help="of the plain comparison")
    add("--atol", dest="absolute_tolerance", type=float, help="of the plain comparison")
    add_output_options(parser)


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """Adds what to do with what was found."""
    output = parser.add_argument_group("output")
    output.add_argument(
        "--report",
        action="append",
        default=[],
        type=_report_path,
        metavar="FILE",
        help="write a report: .html, .json, .sarif, .xml (JUnit) or .txt; may be repeated",
    )
    output.add_argument("--verbose", action="store_true", help="keep every element in the report")
    output.add_argument(
        "--quiet", action="store_true", help="print only what failed, and a summary"
    )


def _report_path(path: str) -> str:
    from fluidcore.gradcheck.report.saving import format_of

    try:
        format_of(path)
    except core.InvalidArgument as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise argparse.ArgumentTypeError(f"there is no folder {folder!r}")
    return path


def add_dtypes_option(parser: argparse.ArgumentParser, default: Sequence[str]) -> None:
    """Adds --dtype, --dtypes: a list in `chosen.dtypes`."""
    parser.add_argument(
        "--dtype",
        "--dtypes",
        dest="dtypes",
        type=dtype_list,
        default=list(default),
        metavar="DTYPES",
        help=f"element types, separated by commas; default {','.join(default) or 'as given'}",
    )


def dtype_list(text: str) -> list[str]:
    """The names in "float64,float32"."""
    names = []
    for part in text.split(","):
        try:
            names.append(dtype_name(part.strip()))
        except core.InvalidArgument:
            names.append("")
        if names[-1] not in _DTYPES:
            raise argparse.ArgumentTypeError(
                f"dtype must be one of {', '.join(_DTYPES)}, got {part.strip()!r}"
                f"{did_you_mean(part.strip(), _DTYPES)}"
            )
    return names


def config_of(chosen: argparse.Namespace) -> GradCheckConfig:
    """The settings that the options stand for; core.InvalidArgument if one does not fit."""
    given = {**vars(chosen), "levels": any(path.endswith(".html") for path in chosen.report)}
    try:
        return GradCheckConfig(**{name: given[name] for name in _CONFIG.intersection(given)})
    except ValueError as error:
        raise core.InvalidArgument(str(error)) from None


def repeatable(report: GradCheckReport, chosen: argparse.Namespace) -> GradCheckReport:
    """The report with Python text that runs this command again, if there is no other."""
    if report.repro:
        return report
    kept = list(chosen.arguments)
    for i in reversed(range(len(kept))):
        if kept[i].startswith("--report"):  # the file that the text is in
            del kept[i : i + (1 if "=" in kept[i] else 2)]
    lines = [
        "import os",
        "from fluidcore.cli import main",
        "",
        f"os.chdir({os.getcwd()!r})",
        f"main({['gradcheck', *kept]!r})",
    ]
    return replace(report, repro="\n".join(lines))


def save_reports(chosen: argparse.Namespace, reports: Sequence[GradCheckReport]) -> None:
    """Writes the files of --report."""
    from fluidcore.gradcheck.report.saving import save

    for path in chosen.report:
        save(list(reports), path)
