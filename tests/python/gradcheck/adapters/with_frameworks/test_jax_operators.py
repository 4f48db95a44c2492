"""tools/check_jax_operators.py, on a few operators."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax")
pytest.importorskip("absl")

TOOL = Path(__file__).resolve().parents[5] / "tools" / "check_jax_operators.py"


@pytest.mark.slow
def test_operators_are_checked_and_those_that_fail_have_an_explanation() -> None:
    command = [sys.executable, str(TOOL), "--dtypes", "float64", "--only", "^(erf_inv|digamma)$"]
    done = subprocess.run([*command, "--samples=2"], capture_output=True, text=True, check=False)
    first, last = done.stdout.splitlines()
    assert first.startswith("fail         float64 digamma: polygamma(1, x) of x < -8 is off")
    assert last.startswith("float64: 3 samples, 2 pass, 1 fail, ")
    assert done.returncode == 0
