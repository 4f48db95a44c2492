"""The stored stub files are those that tools/make_stubs.py makes."""

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "make_stubs.py"


def test_the_stored_stubs_are_up_to_date():
    command = [sys.executable, str(TOOL), "--check"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
