"""Training on several processes of this machine, one thread each, beside processes that are alone.

    python -m bench.data_parallel                    networks b, c, f on 1 and 2 processes
    python -m bench.data_parallel --peers torch      beside DistributedDataParallel over gloo
    python -m bench.data_parallel --processes 1,2,4 --rounds 3

Each process has the batch of the workload: with two of them twice as many examples are learnt in a
step. Two processes share memory and caches, so a step is compared with that of as many processes
side by side that know nothing of each other: the efficiency is the time of that divided by the time
with the sums over the ranks.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.peers import interpreter
from bench.report import table
from bench.workloads import TRAINING

ROOT = Path(__file__).resolve().parents[1]
_WARM_UP = 5
_SECONDS = 4.0  # that a process is measured for
_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": str(ROOT),
}


def _steps(step: Callable[[], object], count: int) -> list[float]:
    """Seconds of each of so many steps, after some to warm up."""
    for _ in range(_WARM_UP):
        step()
    seconds = []
    for _ in range(count):
        begin = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - begin)
    return seconds


def work_with_fluidcore(name: str, count: int, together: bool) -> list[float]:
    """Steps of this process, with the sums over all of mpiexec's or alone."""
    import fluidcore as fluid
    from bench.with_fluidcore import train_step

    fluid.set_num_threads(1)
    if not together:
        return _steps(train_step(TRAINING[name]), count)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where there is one process
        world = fluid.parallel.world()
    return _steps(train_step(TRAINING[name], communicator=world), count)


def work_with_torch(name: str, count: int, together: bool) -> list[float]:
    """The same in PyTorch: DistributedDataParallel over gloo."""
    import torch

    from bench.with_torch import parallel_train_step, train_step

    torch.set_num_threads(1)
    if not together:
        return _steps(train_step(TRAINING[name]), count)
    torch.distributed.init_process_group("gloo")
    seconds = _steps(parallel_train_step(TRAINING[name]), count)
    torch.distributed.destroy_process_group()
    return seconds


def run_together(module: str, size: int, arguments: Sequence[str]) -> list[Any]:
    """What each of the processes of mpiexec prints, as JSON."""
    launcher = str(Path(sys.executable).with_name("mpiexec"))
    command = [launcher, "-n", str(size), sys.executable, "-m", module, *arguments]
    run = subprocess.run(
        command,
        env=os.environ | _ENVIRONMENT,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in run.stdout.splitlines()]


def _worker(python: str, framework: str, name: str, count: int, together: bool) -> list[str]:
    command = [python, "-m", "bench.data_parallel", "--worker", framework, "--workloads", name]
    return [*command, "--count", str(count), *(["--together"] if together else [])]


def _medians(
    commands: Sequence[list[str]], environments: Sequence[dict[str, str]] = ({},)
) -> list[float]:
    """Runs commands side by side; the median seconds that each process printed."""
    environments = [environments[i % len(environments)] for i in range(len(commands))]
    processes = [
        subprocess.Popen(
            command,
            env=os.environ | _ENVIRONMENT | environment,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for command, environment in zip(commands, environments, strict=True)
    ]
    texts = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        raise RuntimeError(f"a process failed: {commands[0]}")
    return [statistics.median(json.loads(line)) for text in texts for line in text.splitlines()]


def measure(python: str, framework: str, name: str, size: int, rounds: int) -> tuple[float, float]:
    """Seconds of a step of `size` processes side by side alone, and together; the best medians."""
    (once,) = _medians([_worker(python, framework, name, 10, together=False)])
    count = max(10, int(_SECONDS / once))
    alone, together = [], []
    for _ in range(rounds):
        alone.append(
            max(_medians([_worker(python, framework, name, count, together=False)] * size))
        )
        command = _worker(python, framework, name, count, together=True)
        if framework == "fluidcore":
            launcher = str(Path(sys.executable).with_name("mpiexec"))
            together.append(max(_medians([[launcher, "-n", str(size), *command]])))
        else:
            ranks = [
                {
                    "RANK": str(rank),
                    "WORLD_SIZE": str(size),
                    "MASTER_ADDR": "127.0.0.1",
                    "MASTER_PORT": "29511",
                }
                for rank in range(size)
            ]
            together.append(max(_medians([command] * size, ranks)))
    return min(alone), min(together)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workloads", default="b,c,f")
    parser.add_argument("--processes", default="1,2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", default="", help="torch, or nothing")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--count", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--together", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    if given.worker:
        work = work_with_torch if given.worker == "torch" else work_with_fluidcore
        print(json.dumps(work(given.workloads, given.count, given.together)))
        return 0
    pythons = {"fluidcore": sys.executable}
    pythons |= {peer: str(interpreter(peer)) for peer in given.peers.split(",") if peer}
    lines = []
    for name in given.workloads.split(","):
        for size in map(int, given.processes.split(",")):
            for framework, python in pythons.items():
                alone, together = measure(python, framework, name, size, given.rounds)
                figures = f"{alone * 1e3:.2f}", f"{together * 1e3:.2f}", f"{alone / together:.0%}"
                lines.append([TRAINING[name].title, str(size), framework, *figures])
                print(*lines[-1], sep=", ", file=sys.stderr, flush=True)
    headings = ["network", "processes", "framework", "alone, ms", "together, ms", "efficiency"]
    print(table(headings, lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
