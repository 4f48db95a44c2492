"""How far data parallel training scales: a measured step, replayed with a model of the network.

    python -m bench.scaling_model                             network b, 8 to 4,096 ranks
    python -m bench.scaling_model --workloads f --latency 2e-6 --bandwidth 12.5e9
    python -m bench.scaling_model --validate 2,4              beside what this machine does

A step is measured operator by operator, on as many processes side by side that know nothing of each
other. It is replayed with the sums of the gradients: a bucket goes on its way when backward has
made it and the one before it is through, and who needs it waits. The time of a sum of B bytes over
n ranks, with a latency of `a` seconds a message, `b` seconds a byte on the wire and `c` a byte
added up (Thakur, Rabenseifner and Gropp 2005, "Optimization of Collective Communication Operations
in MPICH", sections 4.4 and 4.5):

    ring    2 (n - 1) a + 2 (n - 1)/n B b + (n - 1)/n B c
    tree    ceil(log2 n) (2 a + 2 B b + B c)                         reduce, then broadcast
    halves  2 ceil(log2 n) a + 2 (n - 1)/n B b + (n - 1)/n B c       reduce-scatter, then allgather

With --validate sums are timed here, and T = a + b B is fitted for each number of processes: that
tries the replay, not the formulas above.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from itertools import count, cycle
from typing import Any, NamedTuple

import numpy as np

import fluidcore as fluid
from bench.data_parallel import run_together
from bench.report import table
from bench.with_fluidcore import train_step
from bench.workloads import TRAINING

_STEPS = 40
_ROUNDS = 5
_BEYOND_CACHES = 2**26  # bytes
_SIZES = [250, 2_500, 25_000, 100_000, 400_000, 1_600_000]  # floats of the sums that are timed


class Network(NamedTuple):
    """What connects the ranks.

    Attributes:
        latency: Seconds of a message.
        bandwidth: Bytes a second on the wire.
        adding: Bytes a second that a rank adds up.
    """

    latency: float
    bandwidth: float
    adding: float


Cost = Callable[[float], float]  # seconds of a sum of so many bytes


def ring(ranks: int, net: Network) -> Cost:
    """Reduce-scatter and allgather around a ring."""
    share = (ranks - 1) / ranks
    per_byte = share * (2 / net.bandwidth + 1 / net.adding)
    return lambda size: 2 * (ranks - 1) * net.latency + size * per_byte


def tree(ranks: int, net: Network) -> Cost:
    """Reduce to one rank, then broadcast, along binomial trees."""
    rounds = math.ceil(math.log2(ranks))
    per_byte = 2 / net.bandwidth + 1 / net.adding
    return lambda size: rounds * (2 * net.latency + size * per_byte)


def halves(ranks: int, net: Network) -> Cost:
    """Reduce-scatter by recursive halving, then allgather by recursive doubling."""
    share = (ranks - 1) / ranks
    per_byte = share * (2 / net.bandwidth + 1 / net.adding)
    rounds = math.ceil(math.log2(ranks))
    return lambda size: 2 * rounds * net.latency + size * per_byte


ALGORITHMS = {"ring": ring, "tree": tree, "halves": halves}


class Event(NamedTuple):
    """An operator of a step.

    Attributes:
        type: Of the operator.
        seconds: What it took, without waiting.
        bytes: Of a c_allreduce_sum: what is added up.
        request: Of a c_allreduce_sum or c_wait: which sum it is.
    """

    type: str
    seconds: float
    bytes: float = 0.0
    request: str = ""


def replay(events: Sequence[Event], cost: Cost) -> float:
    """Seconds of a step: its operators, and the waiting for sums, which are made in their order."""
    now = free = 0.0
    ends: dict[str, float] = {}
    for event in events:
        if event.type == "c_wait":
            now = max(now, ends[event.request])
        now += event.seconds
        if event.type == "c_allreduce_sum":
            free = ends[event.request] = max(now, free) + cost(event.bytes)
    return now


class NoNetwork(fluid.core.Communicator):
    """Rank 0 of two, whose operations take no time and change nothing."""

    def __init__(self, rank: int, size: int) -> None:
        super().__init__(rank, size)
        self._numbers = count()

    def iallreduce(self, own: Any, sums: Any, label: str) -> int:
        """Nothing."""
        return next(self._numbers)

    def ibroadcast(self, elements: Any, root: int, label: str) -> int:
        """Nothing."""
        return next(self._numbers)

    def iallgather(self, own: Any, all: Any, label: str) -> int:
        """Every rank has what this one has."""
        all[:] = np.tile(own, self.size)
        return next(self._numbers)

    def wait(self, request: int) -> None:
        """Nothing."""


def work(name: str, bucket_mb: float, together: bool) -> dict[str, object]:
    """Steps of this process: operator by operator alone, or as a whole with the others."""
    fluid.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        world = fluid.parallel.world()
    if together:
        step = train_step(TRAINING[name], communicator=world, bucket_mb=bucket_mb)
        return {"step": _median_of(step), "sums": _sums(world)}
    step = train_step(TRAINING[name], communicator=NoNetwork(0, 2), bucket_mb=bucket_mb)
    seconds = _median_of(step)
    ops = step.program.global_block().ops  # type: ignore[attr-defined]
    sizes = {name: math.prod(var.shape) * 4 for name, var in ops[0].block.vars.items()}
    with fluid.profiler.profile() as profile:
        for _ in range(_STEPS):
            step()
    content = profile._core.content()
    notes = content["operators"]
    rows = sorted(content["events"], key=lambda event: event[2])
    length = len(rows) // _STEPS  # of a step
    events = []
    for index in range(length):
        same = rows[index::length]
        op_type, note = notes[same[0][0]]
        duration = statistics.median(each[3] for each in same) / 1e9
        if op_type not in ("c_allreduce_sum", "c_wait"):
            events.append(Event(op_type, duration))
            continue
        op = ops[int(note.split()[1])]  # "operator 3 of block 0 (c_wait), ..."
        (request,) = (op.input if op_type == "c_wait" else op.output)("Request")
        size = sum(sizes[name] for name in op.input("X")) if op_type != "c_wait" else 0
        events.append(Event(op_type, duration, size, request))
    return {"step": seconds, "events": events}


def _median_of(step: Callable[[], object]) -> float:
    seconds = []
    for _ in range(_STEPS + 5):
        begin = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds[5:])


def _sums(world: fluid.core.Communicator) -> list[tuple[int, float]]:
    """Bytes and seconds of sums over the ranks, of what is in no cache, as in a step."""
    results = []
    for size in _SIZES:
        copies = min(64, _BEYOND_CACHES // (8 * size) + 1)
        pairs = cycle(np.ones((copies, 2, size), np.float32))

        def add_up(pairs: Any = pairs) -> None:
            own, sums = next(pairs)
            world.wait(world.iallreduce(own, sums, ""))

        results.append((4 * size, _median_of(add_up)))
    return results


def fitted(sums: Sequence[tuple[int, float]]) -> Cost:
    """T = a + b B, so that the relative errors have the least squares."""
    sizes, seconds = (np.array(each, float) for each in zip(*sums, strict=True))
    system = np.stack([1 / seconds, sizes / seconds], 1)
    (start, per_byte), *_ = np.linalg.lstsq(system, np.ones(len(sizes)), rcond=None)
    return lambda size: max(0.0, float(start)) + size * float(per_byte)


def _measured(name: str, size: int, bucket_mb: float, kinds: Sequence[bool]) -> list[Any]:
    """What one of so many processes measured alone or together, each in the best of some rounds.

    A step takes the mean of the processes' times: where they share cores, what one has less of
    another has more of.
    """
    best: dict[bool, dict[str, Any]] = {}
    for together in [*kinds] * _ROUNDS:
        more = ["--bucket-mb", str(bucket_mb), *(["--together"] if together else [])]
        rows = run_together("bench.scaling_model", size, ["--worker", name, *more])
        step = statistics.mean(row["step"] for row in rows)
        if together not in best or step < best[together]["step"]:
            best[together] = rows[0] | {"step": step}
    return [best[together] for together in kinds]


def _events(row: dict[str, Any]) -> tuple[list[Event], float]:
    """The operators of a step, and what it takes beside them."""
    events = [Event(*each) for each in row["events"]]
    return events, max(0.0, row["step"] - sum(event.seconds for event in events))


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workloads", default="b")
    parser.add_argument("--latency", type=float, default=2e-6, help="seconds; default 2e-6")
    parser.add_argument("--bandwidth", type=float, default=12.5e9, help="bytes/s; default 100 Gb/s")
    parser.add_argument("--adding", type=float, default=8e9, help="bytes/s; default 8e9")
    parser.add_argument("--bucket-mb", type=float, default=25.0)
    parser.add_argument("--validate", default="", help="numbers of processes of this machine")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--together", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    if given.worker:
        print(json.dumps(work(given.worker, given.bucket_mb, given.together)))
        return 0
    net = Network(given.latency, given.bandwidth, given.adding)
    for name in given.workloads.split(","):
        print(f"\n{TRAINING[name].title}, buckets of {given.bucket_mb:g} MB\n")
        if given.validate:
            sizes = [int(size) for size in given.validate.split(",")]
            print(_validation(name, sizes, given.bucket_mb))
            continue
        (row,) = _measured(name, 1, given.bucket_mb, [False])
        print(_projection(*_events(row), net))
    return 0


def _validation(name: str, sizes: Sequence[int], bucket_mb: float) -> str:
    lines = []
    for size in sizes:
        alone, row = _measured(name, size, bucket_mb, [False, True])
        events, rest = _events(alone)
        predicted = rest + replay(events, fitted(row["sums"]))
        step = row["step"]
        figures = f"{predicted * 1e3:.2f}", f"{step * 1e3:.2f}", f"{predicted / step - 1:+.0%}"
        lines.append([str(size), *figures])
    return table(["processes", "predicted, ms", "measured, ms", "error"], lines)


def _projection(events: Sequence[Event], rest: float, net: Network) -> str:
    alone = rest + replay(events, lambda _: 0.0)
    lines = []
    for exponent in range(3, 13):
        ranks = 2**exponent
        cells = []
        for algorithm in ALGORITHMS.values():
            step = rest + replay(events, algorithm(ranks, net))
            cells.append(f"{step * 1e3:.2f} ({alone / step:.0%})")
        lines.append([str(ranks), *cells])
    head = ["ranks", *(f"{name}, ms (efficiency)" for name in ALGORITHMS)]
    return f"one process: {alone * 1e3:.2f} ms\n\n{table(head, lines)}"


if __name__ == "__main__":
    sys.exit(main())
