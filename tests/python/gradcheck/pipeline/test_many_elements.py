"""Many elements: the evaluations of f stay as few, and memory grows as they do, not faster."""

import os
import subprocess
import sys

import numpy as np
import pytest

from fluidcore.gradcheck import Verdict, check
from fluidcore.gradcheck.target.target import Array

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


def needs_of(size: int, mode: str, dtype: str = "float64") -> tuple[str, str, int, float]:
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
        ("directional", "float64", 26),
        ("auto", "float32", 87),
        ("directional", "float32", 31),
    ],
)
def test_memory_grows_with_the_elements(mode: str, dtype: str, doubles: int) -> None:
    few, many = (needs_of(size, mode, dtype) for size in (100_000, 400_000))
    assert few[0] == many[0] == "pass"
    assert few[1] == many[1] == ("coloured" if mode == "auto" else mode)
    doubles_per_element = (many[3] - few[3]) * 2**20 / 300_000 / 8
    assert doubles_per_element <= doubles


def test_more_elements_need_no_more_evaluations() -> None:
    few, many = (needs_of(size, "auto") for size in (3_000, 100_000))
    assert many[2] <= 2 * few[2] + 200


@pytest.mark.parametrize("index", [0, 70_000, 199_999])
def test_one_wrong_element_of_a_kernel_is_named_wherever_it_is(index: int) -> None:
    def cosine(x: Array, v: Array) -> Array:
        gradient = v * np.cos(x)
        if gradient.dtype == np.float32:
            gradient[index] += np.float32(0.01)
        return gradient

    x = np.linspace(0.1, 1, 200_000, dtype=np.float32)
    report = check(np.sin, x, vjp=cosine, raise_exception=False)
    formula, kernel = report.results
    assert (formula.verdict, kernel.verdict) == (Verdict.PASS, Verdict.FAIL)
    assert [error.index for error in kernel.element_errors or ()] == [index]


def test_elements_that_the_point_does_not_prove_are_looked_at_around_it() -> None:
    noise = np.random.default_rng(0).standard_normal(200_000).astype(np.float32)

    def cosine(x: Array, v: Array) -> Array:
        gradient = v * np.cos(x)
        if gradient.dtype == np.float32:  # three units of rounding more, and others elsewhere
            gradient *= 1 + np.float32(2.0**-23) * 3 * np.sin(1e6 * x + noise).astype(np.float32)
        return gradient

    x = np.linspace(0.1, 1, 200_000, dtype=np.float32)
    report = check(np.sin, x, vjp=cosine)
    kernel = report.results[1]
    assert kernel.verdict is Verdict.PASS
    assert kernel.num_passed == x.size
    assert 1e-7 < kernel.max_relative_error < 1e-5
