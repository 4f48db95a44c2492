"""Starts the measurements, each pinned to its cores in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench.timing import wait_until_quiet

ROOT = Path(__file__).resolve().parent.parent
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_IMPORTS = 7

Row = dict[str, Any]


class Framework(NamedTuple):
    """What is measured, and the interpreter that has it."""

    name: str
    python: str


def _cores(count: int) -> list[int]:
    return sorted(os.sched_getaffinity(0))[:count]


def _worker(framework: Framework, workload: str, threads: int, *more: str) -> Row:
    """The last line that the process printed; `stopped` if its processor time was used up."""
    environment = dict(os.environ) | dict.fromkeys(_THREAD_VARIABLES, str(threads))
    if framework.python != sys.executable:
        environment.pop("PYTHONPATH", None)
    command = ["taskset", "-c", ",".join(map(str, _cores(threads)))]
    command += [framework.python, "-m", "bench.worker"]
    command += [framework.name, workload, str(threads), *more]
    try:
        run = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
        )
    except subprocess.TimeoutExpired:
        return {"error": "no result after 300 s"}
    lines = run.stdout.splitlines()
    row = dict(json.loads(lines[-1])) if lines else {}
    if run.returncode == -signal.SIGPROF:
        return {**row, "stopped": True}
    if run.returncode != 0:
        return {"error": run.stderr.strip().splitlines()[-1] if run.stderr else "died"}
    return row


def _named(framework: Framework, workload: str, threads: int, row: Row) -> Row:
    return {"framework": framework.name, "workload": workload, "threads": threads, **row}


def measure(framework: Framework, workload: str, threads: int, *more: str) -> Row:
    """One measurement on a machine that is otherwise idle; `more` are options of the worker."""
    wait_until_quiet()
    return _named(framework, workload, threads, _worker(framework, workload, threads, *more))


def measure_contended(framework: Framework, workload: str) -> Row:
    """A training workload with two threads while another process keeps one core busy."""
    with _busy_core(_cores(2)[-1]):
        row = _worker(framework, workload, 2, "--noise")
    return _named(framework, f"{workload} contended", 2, row)


@contextmanager
def _busy_core(core: int) -> Iterator[None]:
    spin = [sys.executable, "-S", "-c", "while True: pass"]
    process = subprocess.Popen(["taskset", "-c", str(core), *spin])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def measure_import(framework: Framework) -> Row:
    """Seconds of the import statement and memory after it; the median of several processes."""
    wait_until_quiet()
    rows = [_worker(framework, "import", 1) for _ in range(_IMPORTS + 1)][1:]
    errors = [row for row in rows if "error" in row]
    if errors:
        return _named(framework, "import", 1, errors[0])
    seconds = [row["median"] for row in rows]
    result = {
        "median": statistics.median(seconds),
        "least": min(seconds),
        "most": max(seconds),
        "peak_mb": statistics.median(row["peak_mb"] for row in rows),
    }
    return _named(framework, "import", 1, result)
