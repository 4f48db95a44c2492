import re
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


@pytest.fixture
def model(tmp_path: Path) -> Path:
    y = layers.fc(layers.data("x", [3]), 2, param_attr="w", bias_attr=False)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    fluid.io.save_inference_model(tmp_path / "model", ["x"], [y], exe)
    return tmp_path / "model"


def test_summary_says_what_a_saved_model_takes(model: Path, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["summary", str(model), "--batch", "5"]) == 0
    said = capsys.readouterr().out
    assert "[5,2]" in said
    assert "parameters   6 numbers, 24 B\n" in said
    assert cli.main(["summary", str(model / "program.json")]) == 0
    assert "at a batch of 1\n" in capsys.readouterr().out


def test_memory_says_what_a_saved_model_keeps(model: Path, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["memory", str(model), "--batch", "5"]) == 0
    said = capsys.readouterr().out
    assert "at a batch of 5\n" in said
    assert "parameters   24 B, all the time\n" in said
    assert re.search(
        r"\nplan         temporaries: \d+ bytes, where operators are put together\n$", said
    )
    assert cli.main(["memory", str(model / "program.json")]) == 0
    assert "plan" not in capsys.readouterr().out


def test_draw_writes_a_picture_of_a_saved_model(model: Path, tmp_path: Path):
    for ending, start in (("html", "<!DOCTYPE html>"), ("svg", "<svg "), ("dot", "digraph ")):
        assert cli.main(["draw", str(model), str(tmp_path / f"picture.{ending}")]) == 0
        assert (tmp_path / f"picture.{ending}").read_text(encoding="utf-8").startswith(start)


def test_draw_says_which_endings_it_knows(model: Path, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["draw", str(model), "picture.png"]) == 1
    expected = "fluidcore: draw: the file must end in .html, .svg or .dot, got 'picture.png'\n"
    assert capsys.readouterr().err == expected


def test_draw_says_where_it_cannot_write(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "missing" / "picture.svg"
    assert cli.main(["draw", str(model), str(path)]) == 1
    assert str(path) in capsys.readouterr().err


@pytest.mark.parametrize("command", [["show"], ["summary"], ["draw", "picture.svg"]])
def test_a_folder_without_a_model_is_an_error(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    name, *rest = command
    assert cli.main([name, str(tmp_path), *rest]) == 1
    assert capsys.readouterr().err == (
        f"fluidcore: {tmp_path}: must be a folder of save_inference_model, "
        "got one without program.json\n"
    )
    assert cli.main([name, str(tmp_path / "nowhere"), *rest]) == 1
    assert "nowhere" in capsys.readouterr().err


def test_a_reader_that_stops_reading_is_no_error():
    command = f"{sys.executable} -m fluidcore ops | head -n 1"
    run = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert run.stdout.count("\n") == 1
    assert run.stderr == ""
