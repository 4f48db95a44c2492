"""A step of a large table with and without selected rows: `python -m bench.embedding`."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import fluidcore as fluid
from fluidcore import core, layers, optimizer, unique_name
from fluidcore.optimizer import Optimizer

ROWS, WIDTH = 1_000_000, 64
IDS = (32, 20)  # of a batch
OPTIMIZERS: dict[str, Callable[[], Optimizer]] = {
    "sgd": lambda: optimizer.SGD(0.01),
    "adam": lambda: optimizer.Adam(0.01),
}
PAGE = 4096  # bytes


def resident() -> float:
    """The MiB of memory that this process has."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * PAGE / 2**20


def measure(name: str, is_sparse: bool, steps: int) -> tuple[float, float]:
    """Milliseconds of a step, and MiB that steps need beside table and optimizer's state."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), unique_name.guard():
        ids = layers.data("ids", list(IDS), dtype="int64", append_batch_size=False)
        read = layers.embedding(ids, [ROWS, WIDTH], is_sparse=is_sparse)
        OPTIMIZERS[name]().minimize(layers.mean(layers.square(read)))
    scope, exe = core.Scope(), fluid.Executor()
    exe.run(startup, scope=scope)
    rng = np.random.default_rng(0)
    before = resident()
    seconds = []
    for _ in range(steps + 3):
        feed = {"ids": rng.integers(0, ROWS, IDS)}
        start = time.perf_counter()
        exe.run(main, feed, scope=scope)
        seconds.append(time.perf_counter() - start)
    return 1e3 * statistics.median(seconds[3:]), resident() - before


def main() -> None:
    """Prints a table."""
    print(f"a table of {ROWS} x {WIDTH}, {IDS[0]} x {IDS[1]} ids in a step")
    print("optimizer  gradient       ms  MiB beside table and state")
    for name in OPTIMIZERS:
        for is_sparse, steps in ((True, 200), (False, 10)):
            milliseconds, mebibytes = measure(name, is_sparse, steps)
            kind = "rows" if is_sparse else "dense"
            print(f"{name:9}  {kind:8}  {milliseconds:7.2f}  {mebibytes:.1f}")


if __name__ == "__main__":
    main()
