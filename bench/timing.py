"""Time per call, and whether something else was running meanwhile."""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_QUIET = 0.12  # a repeat is clean if others used less than this part of a core


class Timing(NamedTuple):
    """Seconds per call.

    Attributes:
        median: Over the clean repeats; over all if fewer than three were clean.
        least: The fastest of them.
        most: The slowest of them.
        repeats: How many were measured.
        clean: How many were free of other processes' work.
    """

    median: float
    least: float
    most: float
    repeats: int
    clean: int


def _busy_seconds() -> float:
    """Processor time of the whole machine since boot, without idling."""
    with open("/proc/stat") as file:
        user, nice, system, _idle, _iowait, _irq, _softirq, steal = map(
            int, file.readline().split()[1:9]
        )
    return (user + nice + system + steal) / _TICKS_PER_SECOND


def _own_seconds() -> float:
    times = os.times()
    return times.user + times.system


def _repeat(function: Callable[[], object], calls: int) -> tuple[float, bool]:
    busy, own, start = _busy_seconds(), _own_seconds(), time.perf_counter()
    for _ in range(calls):
        function()
    wall = time.perf_counter() - start
    others = (_busy_seconds() - busy) - (_own_seconds() - own)
    return wall / calls, others < _QUIET * wall


def time_calls(
    function: Callable[[], object],
    *,
    repeats: int = 7,
    seconds: float = 0.25,
    limit: float = 6.0,
    any_noise: bool = False,
) -> Timing:
    """Measures a function after one call to warm up.

    Args:
        function: What to call.
        repeats: How many clean repeats to take.
        seconds: How long one repeat lasts, about.
        limit: After so many seconds the repeats must do, clean or not.
        any_noise: Whether other processes are meant to be busy; every repeat counts as clean.
    """
    function()
    start = time.perf_counter()
    function()
    calls = max(1, int(seconds / max(time.perf_counter() - start, 1e-7)))
    measured: list[tuple[float, bool]] = []
    start = time.perf_counter()
    while sum(clean for _, clean in measured) < repeats:
        if len(measured) >= 3 and time.perf_counter() - start > limit:
            break
        per_call, clean = _repeat(function, calls)
        measured.append((per_call, clean or any_noise))
    quiet = [per_call for per_call, clean in measured if clean]
    used = quiet if len(quiet) >= 3 else [per_call for per_call, _ in measured]
    return Timing(statistics.median(used), min(used), max(used), len(measured), len(quiet))


def wait_until_quiet(limit: float = 5.0) -> None:
    """Waits, at most `limit` seconds, for a moment in which the machine is idle."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        busy, start = _busy_seconds(), time.monotonic()
        time.sleep(0.4)
        if _busy_seconds() - busy < _QUIET * (time.monotonic() - start):
            return


def memory_megabytes() -> float:
    """Memory of this process now."""
    return _status("VmRSS:")


def peak_megabytes() -> float:
    """Largest memory of this process so far (ru_maxrss would include the parent's)."""
    return _status("VmHWM:")


def _status(key: str) -> float:
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith(key))
    return int(line.split()[1]) / 1024


def best_of(functions: Sequence[Callable[[], object]], seconds: float = 0.4) -> list[float]:
    """The shortest time of each in seconds; they take turns.

    Args:
        functions: What to call.
        seconds: How long all calls of one last, about.
    """
    best = [math.inf] * len(functions)
    end = time.perf_counter() + seconds * len(functions)
    turn = 0
    while turn < 5 or (time.perf_counter() < end and turn < 1000):
        for k, function in enumerate(functions):
            begun = time.perf_counter()
            function()
            best[k] = min(best[k], time.perf_counter() - begun)
        turn += 1
    return best
