"""The C++ library of the package, used as the README says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fluidcore as fluid

ROOT = Path(__file__).resolve().parents[2]


def commands() -> list[str]:
    """The lines of README's "From C++"."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## From C++")[1]
    lines = section.split("\n## ")[0].splitlines()
    return [line.strip() for line in lines if line.startswith("    ")]


def run(line: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        line,
        shell=True,
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Where the lines of the README were run, and what they printed."""
    folder = tmp_path_factory.mktemp("cpp")
    (folder / "examples").symlink_to(ROOT / "examples")
    return folder, "".join(run(line, folder) for line in commands())


def test_the_lines_of_the_readme_build_and_run_the_examples(built):
    assert len(commands()) == 4
    assert "relu" in built[1]
    assert "bend" in built[1]


def test_a_saved_model_gives_the_same_bits(built, tmp_path):
    x = fluid.layers.data("x", [8, 8])
    y = fluid.layers.fc(x, 5, act="softmax")
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    fluid.io.save_inference_model(tmp_path, ["x"], [y], exe)
    (expected,) = exe.run(feed={"x": np.ones((3, 8, 8), "float32")}, fetch_list=[y])
    printed = run(f"build/cpp/predict {tmp_path} 3,8,8", built[0])
    got = np.array([float(line) for line in printed.split()], "float32")
    np.testing.assert_array_equal(got, expected.ravel())
    assert run(f"build/cpp/predict_from_c {tmp_path} 3 8 8", built[0]) == printed


def _strokes() -> dict[str, np.ndarray]:
    """As in train_digits.cc."""
    images, labels = np.zeros((64, 64), "float32"), (np.arange(64) % 10).reshape(64, 1)
    for i in range(64):
        images[i, i % 10 : 60 : 10] = 1
    return {"img": images, "label": labels}


def test_a_training_goes_on_to_the_same_bits_in_either_language(built, tmp_path):
    fluid.default_main_program().random_seed = 5
    fluid.default_startup_program().random_seed = 5
    img = fluid.layers.data("img", [64])
    label = fluid.layers.data("label", [1], dtype="int64")
    hidden = fluid.layers.dropout(fluid.layers.fc(img, 32, act="relu"), 0.2)
    logits = fluid.layers.fc(hidden, 10)
    loss = fluid.layers.mean(fluid.layers.softmax_with_cross_entropy(logits, label))
    fluid.optimizer.Adam(0.01).minimize(loss)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())

    def losses(program: fluid.Program, steps: int) -> list[float]:
        fetched = [exe.run(program, feed=_strokes(), fetch_list=[loss.name]) for _ in range(steps)]
        return [float(values[0].item()) for values in fetched]

    losses(fluid.default_main_program(), 3)
    fluid.io.save_training_model(tmp_path, ["img", "label"], [loss], exe)
    expected = losses(fluid.default_main_program(), 20)

    printed = run(f"build/cpp/train_digits {tmp_path} 10", built[0])
    assert [np.float32(line) for line in printed.split()] == [np.float32(v) for v in expected[:10]]

    program, feeds, targets = fluid.io.load_training_model(tmp_path, exe)
    assert (feeds, [target.name for target in targets]) == (["img", "label"], [loss.name])
    assert losses(program, 10) == expected[10:]
    assert expected[-1] < expected[0] / 2


def test_an_inference_model_is_no_training(tmp_path):
    x = fluid.layers.data("x", [8])
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    fluid.io.save_inference_model(tmp_path, ["x"], [fluid.layers.relu(x)], exe)
    with pytest.raises(fluid.core.InvalidArgument, match="must hold a training of save_training"):
        fluid.io.load_training_model(tmp_path, exe)
