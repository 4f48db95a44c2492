"""One measurement in a process of its own; prints it as one line of JSON, the last of the output.

python -m bench.worker FRAMEWORK WORKLOAD THREADS [--noise] [--bound]

A second word of FRAMEWORK, as in "torch compile", is the way in which it runs a network.
"""

from __future__ import annotations

import importlib
import json
import signal
import sys
import time
from collections import deque
from collections.abc import Callable

from bench.timing import peak_megabytes, time_calls

_LONG = 4.0  # seconds of a check that is not repeated seven times
_VERY_LONG = 40.0  # nor even once
_EXTENT = 2048  # of the matrices whose product says what the machine can do


def _import(module: str) -> dict[str, float]:
    assert "numpy" not in sys.modules  # its import is part of what is measured
    start = time.perf_counter()
    importlib.import_module(module)
    return {"median": time.perf_counter() - start, "peak_mb": peak_megabytes()}


def _train(framework: object, workload: str, ways: list[str]) -> dict[str, object]:
    from bench.workloads import TRAINING

    start = time.perf_counter()
    step = framework.train_step(TRAINING[workload], *ways)  # type: ignore[attr-defined]
    losses = [step()]
    first_step = time.perf_counter() - start
    losses += [step(), step()]
    return {"losses": losses, **_timing(framework, step), "first_step": first_step}


def _infer(framework: object, workload: str, size: int, ways: list[str]) -> dict[str, object]:
    from bench.networks import INFERENCE

    run = framework.infer(INFERENCE[workload], size, *ways)  # type: ignore[attr-defined]
    return {"logits": run().reshape(-1)[:3].tolist(), **_timing(framework, run)}


def _timing(framework: object, call: Callable[[], object]) -> dict[str, object]:
    timing = time_calls(call, any_noise="--noise" in sys.argv)
    row = {**timing._asdict(), "peak_mb": peak_megabytes()}
    return row | _bound(framework, call) if "--bound" in sys.argv else row


def _bound(framework: object, call: Callable[[], object]) -> dict[str, object]:
    """The arithmetic of a call, and how fast the machine does that of a large product now."""
    product = time_calls(framework.product(_EXTENT), seconds=0.1)  # type: ignore[attr-defined]
    return {
        "flops": framework.count_flops(call),  # type: ignore[attr-defined]
        "product_flops_per_second": 2 * _EXTENT**3 / product.median,
    }


def _chain(framework: object) -> dict[str, object]:
    from bench.workloads import CHAIN

    run = framework.chain()  # type: ignore[attr-defined]
    timing = time_calls(run, seconds=0.1)
    return {"losses": [run()], **timing._asdict(), "us_per_operator": timing.median / CHAIN * 1e6}


def _graph(framework: object, kind: str, size: int, limit: float) -> None:
    """Processor seconds of building a graph; prints what it has after each part.

    A part that takes more than `limit` seconds ends the process.
    """
    from bench.graphs import WARM_UP

    build = framework.build_graph  # type: ignore[attr-defined]
    deque(build(kind, WARM_UP), maxlen=0)
    row = {"version": framework.VERSION, "limit": limit}  # type: ignore[attr-defined]
    phases = build(kind, size)
    for name in ("forward", "backward"):
        repeated = row["forward"] if name == "backward" and _repeats_forward(framework) else 0.0
        signal.setitimer(signal.ITIMER_PROF, limit + repeated)
        start = time.process_time()
        next(phases)
        row[name] = time.process_time() - start - repeated
        print(json.dumps({**row, "peak_mb": peak_megabytes()}), flush=True)


def _repeats_forward(framework: object) -> bool:
    return getattr(framework, "BACKWARD_REPEATS_FORWARD", False)


def _check(framework: str, case: str, mode: str, threads: int) -> dict[str, object]:
    """Seconds of a complete check; if it takes long, of the faster of two, or of one alone."""
    module = importlib.import_module(f"bench.checks_with_{framework}")
    module.set_threads(threads)
    check = module.check(case, mode)
    row: dict[str, object] = {"version": module.VERSION}
    start = time.perf_counter()
    verdict = check()
    seconds = [time.perf_counter() - start]  # the first call also loads what is needed
    if _LONG < seconds[0] < _VERY_LONG:
        start = time.perf_counter()
        check()
        seconds.append(time.perf_counter() - start)
    if min(seconds) > _LONG:
        timing: dict[str, object] = {"median": min(seconds), "repeats": len(seconds)}
    else:
        timing = dict(time_calls(check)._asdict())
    return {**row, "verdict": verdict, **timing, "peak_mb": peak_megabytes()}


def main() -> None:
    """Measures what the command line says."""
    framework, workload, threads = sys.argv[1:4]
    row: dict[str, object] = {}
    if workload == "import":
        row = dict(_import(framework))
    elif workload.startswith("check "):
        _, case, mode = workload.split(maxsplit=2)
        row = _check(framework, case, mode, int(threads))
    else:
        name, *ways = framework.split()
        module = importlib.import_module(f"bench.with_{name}")
        module.set_threads(int(threads))
        row = {"version": module.VERSION}
        suite, *words = workload.split()
        if suite == "graph":
            _graph(module, words[0], int(words[1]), float(words[2]))
            return
        if suite == "loops":
            row |= importlib.import_module("bench.loop_programs").measure(*words)
        elif suite.startswith("infer"):
            row |= _infer(module, suite, int(words[0]), ways)
        elif workload == "chain":
            row |= _chain(module)
        else:
            row |= _train(module, workload, ways)
    print(json.dumps(row))


if __name__ == "__main__":
    main()
