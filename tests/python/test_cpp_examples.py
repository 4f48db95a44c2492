"""The C++ library of the package, used as the README says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def commands() -> list[str]:
    """The lines of README's "From C++"."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## From C++")[1]
    lines = section.split("\n## ")[0].splitlines()
    return [line.strip() for line in lines if line.startswith("    ")]


def test_the_lines_of_the_readme_build_and_run_the_examples(tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    bin_folder = str(Path(sys.executable).parent)
    environment = os.environ | {"PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"}
    output = ""
    for line in commands():
        run = subprocess.run(
            line, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert run.returncode == 0, f"{line}\n{run.stdout}{run.stderr}"
        output += run.stdout
    assert len(commands()) == 4
    assert "relu" in output
    assert "bend" in output
