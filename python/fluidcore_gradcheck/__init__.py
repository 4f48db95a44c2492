"""The pytest plugin of fluidcore's gradient checks: what pytest reads when it starts.

It lies outside the package, and imports it when a test asks for the fixture `gradcheck`: to have
it installed costs a test run nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fluidcore.gradcheck.pytest_plugin import GradCheck

_MARKER = (
    "gradcheck(dtypes=None, on_inconclusive='fail', **settings): how the fixture gradcheck checks; "
    "on_inconclusive is 'fail', 'skip' or 'pass', settings are fields of GradCheckConfig"
)
_FORMATS = (".html", ".json", ".sarif", ".txt", ".xml")
_SENT = "fluidcore_gradcheck"
FOUND: pytest.StashKey[list[Any]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options --gradcheck-..."""
    group = parser.getgroup("gradcheck", "gradients (fluidcore)")
    group.addoption(
        "--gradcheck-report",
        action="append",
        default=[],
        metavar="PATH",
        help="write a report of all gradient checks: html, json, sarif, txt, xml",
    )
    group.addoption("--gradcheck-seed", type=int, metavar="N", help="of everything random")
    group.addoption(
        "--gradcheck-budget", type=float, metavar="SECONDS", help="for each gradient check"
    )
    group.addoption(
        "--gradcheck-dtypes", metavar="DTYPES", help="for example float64,float32; default as given"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker; pytest.UsageError if a report could not be written."""
    for path in config.getoption("--gradcheck-report"):
        if not path.lower().endswith(_FORMATS):
            raise pytest.UsageError(
                f"--gradcheck-report must end in {', '.join(_FORMATS)}, got {path!r}"
            )
    config.addinivalue_line("markers", _MARKER)
    config.stash[FOUND] = []


@pytest.fixture
def gradcheck(request: pytest.FixtureRequest) -> GradCheck:
    """Checks the gradient of a function, an operator or a program.

    gradcheck(f, *args, vjp=...), gradcheck.op(type) and gradcheck.program(program, feed, loss) fail
    the test unless the gradient is right, and return the reports.
    """
    from fluidcore.gradcheck.pytest_plugin import GradCheck

    return GradCheck(request, request.config.stash[FOUND])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Takes over what a worker of xdist has found."""
    del error
    sent = getattr(node, "workeroutput", {}).get(_SENT)
    if sent:
        from fluidcore.gradcheck.pytest_plugin import received

        node.config.stash[FOUND].extend(received(sent))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Sends what a worker of xdist has found to its controller."""
    found = session.config.stash.get(FOUND, [])
    output = getattr(session.config, "workeroutput", None)
    if found and output is not None:
        from fluidcore.gradcheck.pytest_plugin import sendable

        output[_SENT] = sendable(found)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Prints the summary and writes the reports."""
    paths: list[str] = config.getoption("--gradcheck-report")
    found = config.stash.get(FOUND, [])
    if found or paths:
        from fluidcore.gradcheck.pytest_plugin import summarize

        summarize(terminalreporter, found, paths)
