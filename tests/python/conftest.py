"""Every test starts with empty default programs and scope, names from 0, and no operators added.

A run says at its end what it left out and where that runs: skipped tests, for want of a program or
package, in .ci/run, which has them all; slow ones in tools/nightly.sh.
"""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import fluidcore as fluid
from fluidcore import core
from fluidcore.base.definitions import definitions_changed

SLOW = pytest.StashKey[int]()

# A shell has its background jobs, and what they start, ignore Ctrl-C; the tests of it need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Nothing but the CPU can be tested without a GPU, or an emulated one.
if core.get_cuda_device_count() == 0:
    collect_ignore = ["ops/test_on_gpu.py"]
    collect_ignore_glob = ["cuda/*"]

_added: list[core.Definition] = []


def _recorded(add: Callable[..., core.Definition]) -> Callable[..., core.Definition]:
    def recorded(*args: Any, **named: Any) -> core.Definition:
        _added.append(add(*args, **named))
        return _added[-1]

    return recorded


core.define_op = _recorded(core.define_op)
core.load_op_library = _recorded(core.load_op_library)


@pytest.fixture(autouse=True)
def fresh_world() -> Iterator[None]:
    with (
        fluid.program_guard(fluid.Program(), fluid.Program()),
        fluid.unique_name.guard(),
        fluid.scope_guard(fluid.Scope()),
    ):
        yield
    if _added:
        while _added:
            _added.pop().take_back()
        definitions_changed()


@pytest.fixture
def no_thread_remains() -> Iterator[None]:
    """Of those that the test starts, none is alive after it."""
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


def pytest_addoption(parser: pytest.Parser) -> None:
    left_out = "write the skipped tests to FILE; pytest @FILE runs them"
    parser.addoption("--left-out", type=Path, metavar="FILE", help=left_out)
    parser.addoption("--complete", action="store_true", help="fail when a test is skipped")


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    for item in items:
        item.config.stash[SLOW] = item.config.stash.get(SLOW, 0) + ("slow" in item.keywords)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    if hasattr(config, "workeroutput"):  # a process of xdist
        config.workeroutput["slow"] = config.stash.get(SLOW, 0)
        return
    skipped = _skipped(config)
    if config.option.left_out is not None:
        config.option.left_out.write_text("".join(f"{report.nodeid}\n" for report in skipped))
    if config.option.complete and skipped and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Every process of xdist has left out the same tests."""
    node.config.stash[SLOW] = getattr(node, "workeroutput", {}).get("slow", 0)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> Iterator[None]:
    yield
    slow, skipped = config.stash.get(SLOW, 0), len(_skipped(config))
    left_out = [f"{slow:,} slow tests, which tools/nightly.sh runs"] if slow else []
    left_out += [f"{skipped:,} skipped, which .ci/run runs"] if skipped else []
    terminalreporter.write_line(f"left out: {'; '.join(left_out) or 'nothing'}")


def _skipped(config: pytest.Config) -> Sequence[Any]:
    """The reports of skipped tests, and of files that are skipped as a whole."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return reporter.stats.get("skipped", []) if reporter is not None else []
