"""Many elements: the evaluations of f stay as few, and memory grows as they do, not faster."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
import numpy as np
from fluidcore.gradcheck.adapters.operator import operator_target
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.pipeline import run_check

def megabytes():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM:"))

x = np.random.default_rng(0).standard_normal(int(sys.argv[1]))
config = GradCheckConfig(workers=2, mode=sys.argv[2])
report = run_check(operator_target("tanh", {"X": x}), config)
(result,) = report.results
print(report.verdict.value, result.mode, result.num_forward, megabytes())
"""


def check(size: int, mode: str) -> tuple[str, str, int, float]:
    """Verdict, mode, evaluations and MB at most of a check of tanh in a process of its own."""
    command = [sys.executable, "-c", PROGRAM, str(size), mode]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    verdict, chosen, evaluations, megabytes = done.stdout.split()
    return verdict, chosen, int(evaluations), float(megabytes)


@pytest.mark.parametrize("mode", ["auto", "directional"])
def test_memory_grows_with_the_elements(mode: str) -> None:
    few, many = (check(size, mode) for size in (50_000, 250_000))
    assert few[0] == many[0] == "pass"
    assert few[1] == many[1] == ("coloured" if mode == "auto" else mode)
    doubles_per_element = (many[3] - few[3]) * 2**20 / 200_000 / 8
    assert doubles_per_element <= 160


def test_more_elements_need_no_more_evaluations() -> None:
    few, many = (check(size, "auto") for size in (3_000, 100_000))
    assert many[2] <= 2 * few[2] + 200
