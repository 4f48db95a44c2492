"""One measurement in a process of its own; prints it as one line of JSON.

python -m bench.worker FRAMEWORK WORKLOAD THREADS [--noise]
"""

from __future__ import annotations

import importlib
import json
import sys
import time

from bench.timing import time_calls


def _peak_megabytes() -> float:
    """Largest memory of this process so far (ru_maxrss would include the parent's)."""
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def _import(module: str) -> dict[str, float]:
    assert "numpy" not in sys.modules  # its import is part of what is measured
    start = time.perf_counter()
    importlib.import_module(module)
    return {"median": time.perf_counter() - start, "peak_mb": _peak_megabytes()}


def _train(framework: object, workload: str, noise: bool) -> dict[str, object]:
    from bench.workloads import TRAINING

    start = time.perf_counter()
    step = framework.train_step(TRAINING[workload])  # type: ignore[attr-defined]
    losses = [step()]
    first_step = time.perf_counter() - start
    losses += [step(), step()]
    timing = time_calls(step, any_noise=noise)
    memory = {"first_step": first_step, "peak_mb": _peak_megabytes()}
    return {"losses": losses, **timing._asdict(), **memory}


def _chain(framework: object) -> dict[str, object]:
    from bench.workloads import CHAIN

    run = framework.chain()  # type: ignore[attr-defined]
    timing = time_calls(run, seconds=0.1)
    return {"losses": [run()], **timing._asdict(), "us_per_operator": timing.median / CHAIN * 1e6}


def main() -> None:
    """Measures what the command line says."""
    framework, workload, threads = sys.argv[1:4]
    row: dict[str, object] = {}
    if workload == "import":
        row = dict(_import(framework))
    else:
        module = importlib.import_module(f"bench.with_{framework}")
        module.set_threads(int(threads))
        row = {"version": module.VERSION}
        noise = "--noise" in sys.argv
        row |= _chain(module) if workload == "chain" else _train(module, workload, noise)
    print(json.dumps(row))


if __name__ == "__main__":
    main()
