"""Many elements: the evaluations of f stay as few, and memory grows as they do, not faster."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import numpy as np
from fluidcore.gradcheck.adapters.operator import operator_target
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.pipeline.run import run_check

def megabytes():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM:"))

x = np.random.default_rng(0).standard_normal(int(sys.argv[1])).astype(sys.argv[3])
config = GradCheckConfig(workers=2, mode=sys.argv[2])
report = run_check(operator_target("tanh", {"X": x}), config)
result = report.results[0]
print(report.verdict.value, result.mode, result.num_forward, megabytes())
"""


def check(size: int, mode: str, dtype: str = "float64") -> tuple[str, str, int, float]:
    """Verdict, mode, evaluations and MB at most of a check of tanh in a process of its own."""
    command = [sys.executable, "-c", PROGRAM, str(size), mode, dtype]
    # a threshold of its own makes the C library give back what is freed, so that needs are measured
    env = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "131072"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    verdict, chosen, evaluations, megabytes = done.stdout.split()
    return verdict, chosen, int(evaluations), float(megabytes)


@pytest.mark.parametrize(
    ("mode", "dtype", "doubles"),
    [
        ("auto", "float64", 82),
        ("directional", "float64", 30),
        ("auto", "float32", 87),
        ("directional", "float32", 52),
    ],
)
def test_memory_grows_with_the_elements(mode: str, dtype: str, doubles: int) -> None:
    few, many = (check(size, mode, dtype) for size in (100_000, 400_000))
    assert few[0] == many[0] == "pass"
    assert few[1] == many[1] == ("coloured" if mode == "auto" else mode)
    doubles_per_element = (many[3] - few[3]) * 2**20 / 300_000 / 8
    assert doubles_per_element <= doubles


def test_more_elements_need_no_more_evaluations() -> None:
    few, many = (check(size, "auto") for size in (3_000, 100_000))
    assert many[2] <= 2 * few[2] + 200
