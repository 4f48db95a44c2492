"""The command `fluidcore gradcheck onnx`."""

import sys

import numpy as np
import pytest
from onnx import helper
from small_models import model_of, tensor, value

from fluidcore.gradcheck.cli import command


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(2)
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["hidden"]),
        helper.make_node("Tanh", ["hidden"], ["y"]),
    ]
    weights = [tensor("w", rng.normal(size=(3, 2))), tensor("b", [0.1, 0.2])]
    model = model_of(nodes, [value("x", ["batch", 3])], [value("y", ["batch", 2])], weights)
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return str(path)


def test_every_gradient_of_a_model_is_checked(file, capsys):
    assert command.main(["onnx", file, "--dims", "batch=2"]) == 0
    assert "1 program: 1 pass" in capsys.readouterr().out


def test_one_result_is_checked_by_what_is_named(file, tmp_path, capsys):
    np.save(tmp_path / "x.npy", np.ones((4, 3), np.float32))
    feed = f"x={tmp_path / 'x.npy'}"
    assert command.main(["onnx", file, "--loss", "hidden", "--check", "b", "--feed", feed]) == 0
    assert " 4 " in capsys.readouterr().out.splitlines()[1]  # b, as formula and as kernel


def test_wrong_arguments_and_files_are_errors(file, tmp_path, capsys, monkeypatch):
    assert command.main(["onnx", file, "--dims", "batch"]) == 3
    assert "--dims must be SYMBOL=NUMBER, got 'batch'" in capsys.readouterr().err
    (tmp_path / "none.onnx").write_bytes(b"none")
    assert command.main(["onnx", str(tmp_path / "none.onnx")]) == 3
    assert "none.onnx: must be an ONNX model, got a file that is not" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert command.main(["onnx", file]) == 3
    assert "pip install 'fluidcore-dl[onnx]'" in capsys.readouterr().err
