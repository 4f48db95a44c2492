"""What the fixture `gradcheck` of pytest does. pytest itself loads `fluidcore_gradcheck`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

from fluidcore import core
from fluidcore.base.checks import did_you_mean
from fluidcore.base.dtypes import FLOATING, dtype_name, numpy_dtype
from fluidcore.gradcheck.api import function_report
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.pipeline.run import run_check
from fluidcore.gradcheck.report.plain_data import decode, encode
from fluidcore.gradcheck.report.result import GradCheckReport
from fluidcore.gradcheck.report.values import is_seen
from fluidcore.gradcheck.verdict import Verdict

if TYPE_CHECKING:
    from fluidcore.gradcheck.target.target import Target

_FIELDS = frozenset(field.name for field in fields(GradCheckConfig))
_OWN = ("dtypes", "on_inconclusive", "config", "raise_exception")
_OF_FUNCTIONS = ("vjp", "jvp", "value_and_grad", "second_vjp", "framework", "name")
_OF_PROGRAMS = ("parameter_list", "no_grad_set", "scope")
_INCONCLUSIVE = ("fail", "skip", "pass")
_MOST_LINES = 12


class Settings(NamedTuple):
    """How a test wants its gradients to be checked."""

    config: GradCheckConfig
    dtypes: tuple[str, ...]  # none: as given
    on_inconclusive: str
    raise_exception: bool


class GradCheck:
    """The fixture `gradcheck`.

        def test_square(gradcheck):
            gradcheck(np.square, np.ones(3), vjp=lambda x, v: 2 * x * v)

        @pytest.mark.gradcheck(dtypes=["float32", "float64"], on_inconclusive="skip", n_full=100)
        def test_softmax(gradcheck):
            gradcheck.op("softmax")

    Settings of a call win over those of the marker, and those over the options of pytest.

    Args:
        request: Of the test.
        found: Gets the reports of all checks.
    """

    def __init__(self, request: pytest.FixtureRequest, found: list[GradCheckReport]) -> None:
        self._request = request
        self._found = found

    def __call__(self, f: Any, *args: Any, **options: Any) -> list[GradCheckReport]:
        """Checks the gradient of f at args, as `fluidcore.gradcheck.check` does.

        Args:
            f: A function.
            args: The point; with `dtypes`, NumPy arrays are converted to each of them.
            options: Those of `check`: `vjp`, `jvp`, `value_and_grad`, `second_vjp`, `framework`,
                `name`, `config`, `raise_exception`, fields of GradCheckConfig; and `dtypes` and
                `on_inconclusive`.
        """
        __tracebackhide__ = True
        own = {name: options.pop(name) for name in _OF_FUNCTIONS if name in options}
        settings = self._settings(options, _OF_FUNCTIONS)
        points = [_in_dtype(args, dtype) for dtype in settings.dtypes] or [list(args)]
        return self._record(
            settings, [function_report(f, p, settings.config, **own) for p in points]
        )

    def op(
        self,
        op_type: str,
        inputs: Mapping[str, Any] | None = None,
        attrs: Mapping[str, Any] | None = None,
        *,
        inputs_to_check: Sequence[str] | None = None,
        per_op: int = 5,
        **options: Any,
    ) -> list[GradCheckReport]:
        """Checks the gradient of an operator.

        Args:
            op_type: For example "conv2d".
            inputs: Slot -> array or list of arrays; None for `per_op` examples of its own.
            attrs: Attributes.
            inputs_to_check: Slots; None for all that have a gradient.
            per_op: How many examples.
            options: As of a call.
        """
        __tracebackhide__ = True
        from fluidcore.gradcheck import all_ops, cases
        from fluidcore.gradcheck.adapters.operator import operator_target

        settings = self._settings(options)
        if inputs is None:
            known = [d for d in cases.dtypes_of(op_type) if d in ("float64", "float32")]
            dtypes = settings.dtypes or tuple(known)
            seed = settings.config.seed
            found = all_ops.each_check(settings.config, [op_type], per_op, dtypes, seed)
            return self._record(settings, [check.report for check in found])
        points = [
            dict(zip(inputs, _in_dtype(inputs.values(), dtype), strict=True))
            for dtype in settings.dtypes
        ] or [dict(inputs)]
        targets = [
            operator_target(op_type, point, attrs, inputs_to_check=inputs_to_check)
            for point in points
        ]
        return self._judge(settings, targets)

    def program(
        self, program: Any, feed: Mapping[str, Any], loss: Any, **options: Any
    ) -> list[GradCheckReport]:
        """Checks the gradient of a program.

        Args:
            program: A Program.
            feed: Name -> array.
            loss: A Variable or its name.
            options: As of a call, and `parameter_list`, `no_grad_set`, `scope`.
        """
        __tracebackhide__ = True
        from fluidcore.gradcheck.adapters.program import program_target

        own = {name: options.pop(name) for name in _OF_PROGRAMS if name in options}
        settings = self._settings(options, _OF_PROGRAMS)
        return self._judge(settings, [program_target(program, feed, loss, **own)])

    def _settings(self, options: Mapping[str, Any], others: Sequence[str] = ()) -> Settings:
        """Of a call; `others` may be given to it, too, and are named to who mistypes one."""
        __tracebackhide__ = True
        option = self._request.config.getoption
        given: dict[str, Any] = {}
        for name, field in (("seed", "seed"), ("budget", "budget_s"), ("dtypes", "dtypes")):
            value = option(f"--gradcheck-{name}")
            if value is not None:
                given[field] = value.split(",") if name == "dtypes" else value
        for marker in reversed(list(self._request.node.iter_markers("gradcheck"))):
            given |= _expanded(marker.kwargs)
        given |= _expanded(options)
        on_inconclusive = given.pop("on_inconclusive", "fail")
        raise_exception = given.pop("raise_exception", True)
        dtypes = given.pop("dtypes", None) or ()
        names = (dtypes,) if isinstance(dtypes, str) else dtypes
        if on_inconclusive not in _INCONCLUSIVE:
            raise core.InvalidArgument(
                f"gradcheck: on_inconclusive must be one of {', '.join(_INCONCLUSIVE)}, "
                f"got {on_inconclusive!r}"
            )
        unknown = sorted(given.keys() - _FIELDS)
        if unknown:
            known = [*others, *_OWN, *sorted(_FIELDS)]
            cure = did_you_mean(unknown[0], known) or f"; there are: {', '.join(known)}"
            raise core.NotFound(f"gradcheck: no setting '{unknown[0]}'{cure}")
        chosen = tuple(dtype_name(name) for name in names)
        pages = self._request.config.getoption("--gradcheck-report", ())
        given.setdefault("levels", any(path.endswith(".html") for path in pages))
        return Settings(GradCheckConfig(**given), chosen, on_inconclusive, raise_exception)

    def _judge(self, settings: Settings, targets: Sequence[Target]) -> list[GradCheckReport]:
        __tracebackhide__ = True
        return self._record(settings, [run_check(target, settings.config) for target in targets])

    def _record(self, settings: Settings, reports: list[GradCheckReport]) -> list[GradCheckReport]:
        __tracebackhide__ = True
        node = self._request.node
        self._found.extend(replace(report, who=f"{node.name}: {report.who}") for report in reports)
        verdict = Verdict.together(report.verdict for report in reports)
        node.user_properties.append(("gradcheck_verdict", verdict.value))
        seen = [r.resolution for report in reports for r in report.results]
        node.user_properties.append(("gradcheck_resolution", f"{max(seen, default=math.inf):.3g}"))
        if not settings.raise_exception:
            return reports
        if verdict is Verdict.INCONCLUSIVE and settings.on_inconclusive == "skip":
            pytest.skip(f"inconclusive: {_first_reason(reports)}")
        for report in reports:
            report.assert_ok(allow_inconclusive=settings.on_inconclusive == "pass")
        return reports


def _expanded(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with the fields of a `config` among them, which the others replace."""
    config = options.get("config")
    if not (config is None or isinstance(config, GradCheckConfig)):
        raise TypeError(f"gradcheck: config must be a GradCheckConfig, got {type(config).__name__}")
    whole = {} if config is None else vars(config)
    return {**whole, **{name: value for name, value in options.items() if name != "config"}}


def _in_dtype(args: Any, dtype: str) -> list[Any]:
    """Floating NumPy arrays converted, also in lists; everything else as it is."""

    def convert(value: Any) -> Any:
        if isinstance(value, list):
            return [convert(item) for item in value]
        if isinstance(value, (np.ndarray, np.generic)) and value.dtype.name in FLOATING:
            return value.astype(numpy_dtype(dtype))
        return value

    return [convert(value) for value in args]


def _first_reason(reports: Sequence[GradCheckReport]) -> str:
    for report in reports:
        for result in report.results:
            if result.verdict is not Verdict.PASS:
                reasons = ", ".join(reason.value for reason in result.reasons)
                return f"{report.who} by {result.name}: {reasons}"
    return "nothing was checked"


def sendable(reports: Sequence[GradCheckReport]) -> list[Any]:
    """Reports as plain values, for the way from a worker of xdist to its controller."""
    return [encode(report) for report in reports]


def received(sent: list[Any]) -> list[GradCheckReport]:
    """The reports in what `sendable` returned."""
    return [decode(GradCheckReport, report, "reports") for report in sent]


def summarize(terminal: Any, reports: Sequence[GradCheckReport], paths: Sequence[str]) -> None:
    """Prints a section on all gradient checks, and writes them to the `paths`."""
    if paths:
        from fluidcore.gradcheck.report.saving import save

        for path in paths:
            save(list(reports), path)
    verdicts = [report.verdict for report in reports]
    counts = ", ".join(f"{verdicts.count(v)} {v.value}" for v in Verdict if v in verdicts)
    terminal.section("gradient checks")
    wrong = [report for report in reports if report.verdict is not Verdict.PASS]
    for report in wrong[:_MOST_LINES]:
        terminal.line(f"{report.verdict.value.upper()} {report.who}")
    if len(wrong) > _MOST_LINES:
        terminal.line(f"... {len(wrong) - _MOST_LINES} more")
    seen = [r.resolution for report in reports for r in report.results if report.verdict]
    sees = ""
    if seen and is_seen(max(seen)):
        sees = f"; every pass sees errors of {max(seen):.1e}"
    elif blind := sum(not is_seen(resolution) for resolution in seen):
        sees = f"; {blind} of {len(seen)} right gradients could be judged in part only"
    terminal.line(f"{len(reports)} checks: {counts or 'none'}{sees}")
    for path in paths:
        terminal.line(f"written to {path}")
