import subprocess
import sys
from pathlib import Path

import pytest

import fluidcore as fluid
from fluidcore import cli, layers


def test_the_version_names_the_kernels(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out.startswith(f"fluidcore {fluid.__version__} (")


def test_a_missing_or_unknown_command_is_explained(capsys: pytest.CaptureFixture[str]):
    for arguments in ([], ["dmeo"]):
        with pytest.raises(SystemExit) as stopped:
            cli.main(arguments)
        assert stopped.value.code == 2
        assert "usage: fluidcore" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--seed", "-1"], ["--epochs", "0"], ["--epochs", "many"]])
def test_demo_refuses_numbers_that_make_no_sense(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["demo", *arguments])
    assert stopped.value.code == 2
    assert arguments[0] in capsys.readouterr().err


def test_ops_lists_every_forward_operator(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["ops"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == [name for name in fluid.core.op_types() if not name.endswith("_grad")]


def test_ops_describes_one_operator(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["ops", "conv2d"]) == 0
    text = capsys.readouterr().out
    for word in ("Input", "Filter", "Output", "strides", "default [1, 1]", "has     a gradient"):
        assert word in text


def test_ops_says_what_gradients_do_not_pass(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["ops", "batch_norm"]) == 0
    lines = capsys.readouterr().out.splitlines()
    silent = [line.split()[1] for line in lines if line.endswith("; gradients do not pass")]
    written = ["MeanOut:", "VarianceOut:", "SavedMean:", "SavedVariance:"]
    assert silent == ["Mean:", "Variance:", *written]


def test_an_unknown_operator_is_an_error_with_the_nearest_name(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["ops", "conv2"]) == 1
    assert "conv2d" in capsys.readouterr().err


def test_show_prints_a_saved_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    x = layers.data("x", [3])
    y = layers.tanh(x)
    exe = fluid.Executor()
    fluid.io.save_inference_model(tmp_path, ["x"], [y], exe)
    assert cli.main(["show", str(tmp_path)]) == 0
    assert "tanh(X=x)" in capsys.readouterr().out


def test_show_says_which_file_is_missing_or_damaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert cli.main(["show", str(tmp_path)]) == 1
    assert "program.json" in capsys.readouterr().err
    (tmp_path / "program.json").write_text("{")
    assert cli.main(["show", str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith("fluidcore: ")


def test_a_reader_that_stops_reading_is_no_error():
    command = f"{sys.executable} -m fluidcore ops | head -n 1"
    run = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert run.stdout.count("\n") == 1
    assert run.stderr == ""
