from pathlib import Path

import numpy as np
import onnx
import pytest

import fluidcore as fluid
from fluidcore import cli, layers

ROWS = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)


def saved_model(folder: Path) -> np.ndarray:
    """A model in a folder; what it gives for ROWS."""
    x = layers.data("x", [3])
    y = layers.fc(x, 4, act="tanh")
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    fluid.io.save_inference_model(folder, ["x"], [y], exe)
    (result,) = exe.run(feed={"x": ROWS}, fetch_list=[y])
    return np.array(result)


def test_a_saved_model_becomes_an_onnx_file_and_a_saved_model_again(tmp_path: Path) -> None:
    want = saved_model(tmp_path / "first")
    file, folder = str(tmp_path / "model.onnx"), str(tmp_path / "second")
    before = fluid.global_scope().local_var_names()
    assert cli.main(["convert", str(tmp_path / "first"), file]) == 0
    onnx.checker.check_model(file, full_check=True)
    assert cli.main(["convert", file, folder]) == 0
    assert fluid.global_scope().local_var_names() == before
    exe = fluid.Executor()
    program, feeds, fetches = fluid.io.load_inference_model(folder, exe)
    (got,) = exe.run(program, feed={feeds[0]: ROWS}, fetch_list=fetches)
    np.testing.assert_array_equal(got, want)


def test_two_of_the_same_form_are_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    for names in (["a.onnx", "b.onnx"], ["a", "b"]):
        assert cli.main(["convert", *names]) == 1
        assert capsys.readouterr().err == (
            "fluidcore: convert: one of the two must be a file that ends in .onnx, and the other "
            f"one a folder of save_inference_model, got {names[0]} and {names[1]}\n"
        )


def test_a_model_that_is_missing_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["convert", str(tmp_path / "none"), str(tmp_path / "a.onnx")]) == 1
    assert "params.safetensors" in capsys.readouterr().err
    assert cli.main(["convert", str(tmp_path / "none.onnx"), str(tmp_path / "a")]) == 1
    assert "none.onnx" in capsys.readouterr().err


def test_an_operator_without_a_form_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = layers.data("x", [3, 3])
    fluid.io.save_inference_model(tmp_path, ["x"], [layers.inverse(x)], fluid.Executor())
    assert cli.main(["convert", str(tmp_path), str(tmp_path / "model.onnx")]) == 1
    assert capsys.readouterr().err == (
        "fluidcore: onnx.save: inverse: the operator must have an ONNX form, got one without: "
        "ONNX has no factors, inverses or solutions of matrices\n"
    )


def test_without_the_package_the_command_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    saved_model(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    assert cli.main(["convert", str(tmp_path), str(tmp_path / "model.onnx")]) == 1
    assert "run pip install 'fluidcore-dl[onnx]'" in capsys.readouterr().err
