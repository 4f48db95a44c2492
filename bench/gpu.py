"""python -m bench.gpu: training steps on a GPU beside PyTorch, in one run.

Needs a build with CUDA and a PyTorch for the same GPU. Each step returns its loss to the host, as a
training loop that prints it would.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import fluidcore as fluid
from bench import with_fluidcore
from bench.report import LOSS_TOLERANCE
from bench.workloads import ADAM, TRAINING, Workload, perceptron, transformer

# What a CPU would take too long for.
LARGE = {
    "g": Workload(
        "transformer of 10 M parameters, 5 layers of 400, 32 x 256 steps, Adam",
        "transformer",
        "adam",
        ADAM,
        32,
        (256, 400),
        transformer(5, 400, 1600),
    ),
    "h": Workload(
        "MLP 10000-10000-10, 100 M parameters, batch 8, Adam",
        "perceptron",
        "adam",
        ADAM,
        8,
        (10000,),
        perceptron(10000, 10000, 10),
    ),
}
WORKLOADS = TRAINING | LARGE
SECONDS = 0.5  # of each measurement
ROUNDS = 3


def step_time(step: Callable[[], float]) -> float:
    """The median of some rounds, in milliseconds."""
    for _ in range(10):
        step()
    rounds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        calls = 0
        while time.perf_counter() - start < SECONDS / ROUNDS or calls == 0:
            step()
            calls += 1
        rounds.append((time.perf_counter() - start) / calls)
    return 1e3 * statistics.median(rounds)


def _row(name: str, ways: list[str]) -> None:
    workload = WORKLOADS[name]
    own = with_fluidcore.train_step(workload, fluid.CUDAPlace(0))
    losses = [own() for _ in range(3)]
    own_time = step_time(own)
    cells = [f"fluidcore {own_time:8.3f}"]
    best = float("inf")
    for way in ways:
        from bench import with_torch

        peer = with_torch.train_step(workload, way, "cuda")
        theirs = [peer() for _ in range(3)]
        for ours, other in zip(losses, theirs, strict=True):
            if abs(ours - other) > 10 * LOSS_TOLERANCE * abs(other):
                cells.append(f"(torch {way}: losses {theirs}, own {losses})")
                break
        peer_time = step_time(peer)
        best = min(best, peer_time)
        cells.append(f"torch {way or 'eager'} {peer_time:8.3f}")
    ratio = f"{best / own_time:5.2f}x" if ways else ""
    print(f"{name}: {', '.join(cells)} ms  {ratio}", flush=True)


def main() -> None:
    """Prints a line for each workload."""
    parser = argparse.ArgumentParser(prog="python -m bench.gpu", description=__doc__)
    parser.add_argument("--workloads", default=",".join(WORKLOADS))
    parser.add_argument("--ways", default="eager,compile", help="of PyTorch; or none")
    arguments = parser.parse_args()
    ways = [{"eager": ""}.get(way, way) for way in arguments.ways.split(",") if way]
    for name in arguments.workloads.split(","):
        _row(name, ways)


if __name__ == "__main__":
    main()
