import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
EXPECTED = {
    "check_gradient.py": "the gradient operator of tanh is right",
    "error_clip.py": "clip(",
    "train_digits.py": "accuracy on 599 unseen digits: 9",
}


def test_every_example_has_something_to_show():
    assert sorted(path.name for path in EXAMPLES.glob("*.py")) == sorted(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_example_runs_from_any_folder(name: str, tmp_path: Path):
    # As a user runs it, but for warnings, which are errors here too.
    command = [sys.executable, "-W", "error", str(EXAMPLES / name)]
    run = subprocess.run(command, cwd=tmp_path, env=os.environ, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert EXPECTED[name] in run.stdout
    assert run.stderr == ""
