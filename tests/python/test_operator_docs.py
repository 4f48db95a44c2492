"""The pages of docs/operators/ are those that tools/make_operator_docs.py makes."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_stored_pages_are_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "tools" / "make_operator_docs.py"), "--check"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_page_names_slots_attributes_dtypes_and_the_gradient() -> None:
    page = (ROOT / "docs" / "operators" / "layer_norm.md").read_text()
    assert "| `epsilon` | is added to the variance | float | `1e-05` |" in page
    assert "layers.layer_norm(input, scale=True" in page
    assert "dtypes: float16, float32, float64, bfloat16" in page
    assert "## layer_norm_grad" in page
