"""The C++ library of the package, used as the README says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cpp_programs import ROOT, Training, numbers, run

import fluidcore as fluid


def commands() -> list[str]:
    """The lines of README's "From C++"."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## From C++")[1]
    lines = section.split("\n## ")[0].splitlines()
    return [line.strip() for line in lines if line.startswith("    ")]


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


def test_a_training_goes_on_to_the_same_bits_in_either_language(built, tmp_path):
    training = Training(tmp_path)
    expected = training.losses(20)
    printed = run(f"build/cpp/train_digits {tmp_path} 10", built[0])
    assert numbers(printed) == expected[:10]

    program, feeds, targets = fluid.io.load_training_model(tmp_path, training.exe)
    assert (feeds, [target.name for target in targets]) == (["img", "label"], [training.loss.name])
    assert training.losses(10, program) == expected[10:]
    assert expected[-1] < expected[0] / 2


def test_an_inference_model_is_no_training(tmp_path):
    x = fluid.layers.data("x", [8])
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    fluid.io.save_inference_model(tmp_path, ["x"], [fluid.layers.relu(x)], exe)
    with pytest.raises(fluid.core.InvalidArgument, match="must hold a training of save_training"):
        fluid.io.load_training_model(tmp_path, exe)
