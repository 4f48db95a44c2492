"""The command `fluidcore gradcheck`."""

import importlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import cli, core, layers
from fluidcore.gradcheck import GradCheckConfig, check
from fluidcore.gradcheck.all_ops import check_all_ops
from fluidcore.gradcheck.cli import command
from fluidcore.gradcheck.cli import program as program_command
from fluidcore.gradcheck.cli.progress_table import Line, table

QUICK = ["--per-op", "1", "--workers", "1"]
FUNCTIONS = """
import sys

import numpy as np

X = np.linspace(0.5, 2.0, 4)

def right():
    return np.square, (X,), lambda x, v: 2 * x * v

def wrong():
    return np.square, (X,), lambda x, v: 3 * x * v

def bare():
    return np.square, X, lambda x, v: 2 * x * v

def own():
    from fluidcore.gradcheck.all_ops import check_all_ops
    return check_all_ops(types=["tanh"], per_op=1, dtypes=["float64"])[0]

def nonsense():
    return 7

def broken():
    raise ZeroDivisionError("on purpose")

def exits():
    sys.exit(1)

def bad_vjp():
    return np.square, (X,), 3

def undecided():
    rng = np.random.default_rng(0)
    return lambda x: x + rng.standard_normal(4), (X,), lambda x, v: v
"""


@pytest.fixture
def functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "case_file.py").write_text(FUNCTIONS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "case_file", raising=False)


def saved_model(folder: Path) -> None:
    fluid.default_startup_program().random_seed = 1
    x = layers.data("x", [4])
    out = layers.softmax(layers.fc(layers.fc(x, 5, act="tanh"), 3))
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    fluid.io.save_inference_model(folder, ["x"], [out], executor)


def test_operators_that_pass_are_a_table_and_exit_code_0(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["gradcheck", "op", "tanh", "matmul", "--dtype", "float64", *QUICK]) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert lines[1].split()[:4] == ["tanh", "float64", "ok", "1"]
    assert lines[2].split()[:4] == ["matmul", "float64", "ok", "1"]
    assert lines[-1].startswith("2 checks: 2 pass in ")


def test_quiet_prints_the_summary_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["op", "tanh", "--quiet", *QUICK]) == 0
    assert capsys.readouterr().out.strip().startswith("4 checks: 4 pass")


@pytest.mark.usefixtures("functions")
def test_a_wrong_gradient_is_exit_code_1_and_at_most_25_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command.main(["callable", "case_file:right"]) == 0
    capsys.readouterr()
    assert command.main(["callable", "case_file:wrong", "--quiet"]) == 1
    out = capsys.readouterr().out
    assert "FAIL" in out
    assert len(out.splitlines()) <= 25 + 4


@pytest.mark.usefixtures("functions")
def test_what_cannot_be_decided_is_exit_code_2() -> None:
    assert command.main(["callable", "case_file:undecided"]) == 2


@pytest.mark.usefixtures("functions")
@pytest.mark.parametrize("name", ["bare", "own"])
def test_a_function_may_return_one_array_or_a_report(name: str) -> None:
    assert command.main(["callable", f"case_file:{name}"]) == 0


@pytest.mark.usefixtures("functions")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "case_file:nonsense",
            "must return (f, args), (f, args, vjp) or a GradCheckReport, got in",
        ),
        ("case_file:missing", "'case_file:missing' must be there"),
        ("case_file:rigth", "did you mean 'right'?"),
        ("case_file:exits", "what was to be checked has exited with 1"),
        ("case_file:bad_vjp", "must return (f, args, vjp) with a function as its vjp, got int"),
        ("no_such_module:f", "'no_such_module:f' must be there"),
        ("case_file", "must be MODULE:FUNCTION, got 'case_file'"),
        ("case_file:X", "must be a function"),
        ("case_file:broken", "ZeroDivisionError: on purpose"),
    ],
)
def test_what_is_no_check_is_exit_code_3(
    name: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["callable", name]) == 3
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        ([], "fluidcore gradcheck --help lists what there is"),
        (["ops"], "invalid choice: 'ops'"),
        (["ops"], "; did you mean 'op'?"),
        (
            ["op", "tanh", "--seeed", "3"],
            "unrecognized arguments: --seeed 3; did you mean '--seed'?",
        ),
        (["op", "tanh", "--mode", "ful"], "; did you mean 'full'?"),
        (["op", "tanh", "--report", "r.pdf"], "must end in one of .html, .json"),
        (["op", "tanh", "--report", "nowhere/r.html"], "there is no folder 'nowhere'"),
        (["op", "tanh", "--dtypes", "float33"], "got 'float33'; did you mean 'float32'?"),
        (["op", "tanh", "--mode", "fast"], "invalid choice: 'fast'"),
        (["op", "tanh", "--dtype", "float33"], "dtype must be one of"),
        (["op", "tanh", "--dtype", "int32"], "one of float64, float32, float16, bfloat16, got"),
        (["op", "tanh", "--seed", "x"], "invalid int value: 'x'"),
    ],
)
def test_wrong_arguments_exit_with_3_not_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["gradcheck", *arguments])
    assert stopped.value.code == 3
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["op", "tanhh"], "no operator 'tanhh'; did you mean 'tanh'?"),
        (["callable", "./case_file.py:right"], "write case_file:right, in its folder"),
        (["op", "while"], "while: an operator must have a gradient"),
        (["op", "tanh", "--resolution", "-1"], "resolution must be positive, got -1"),
        (["op", "tanh", "--per-op", "0"], "--per-op must be at least 1, got 0"),
        (["op", "tanh", "--jobs", "0"], "--jobs must be at least 1, got 0"),
        (["program", "nowhere.json"], "nowhere.json"),
        (["explain", "nowhere.json"], "there is no file 'nowhere.json'"),
    ],
)
def test_what_does_not_exist_or_fit_is_exit_code_3(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(arguments) == 3
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("name", ["op", "all", "program", "callable", "compare", "explain"])
def test_every_subcommand_has_a_help_with_an_example(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["gradcheck", name, "--help"])
    assert stopped.value.code == 0
    assert f"fluidcore gradcheck {name}" in capsys.readouterr().out.split("example")[-1]


def test_all_checks_every_operator_and_program(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fluidcore.gradcheck.cases.differentiable_types", lambda: ["exp", "mul"])
    names = ["mlp", "loop"]
    monkeypatch.setattr("fluidcore.gradcheck.cases.program_names", lambda: names)
    printed = []
    for jobs in ("1", "2"):
        assert command.main(["all", "--dtypes", "float32", *QUICK, "--jobs", jobs]) == 0
        printed.append(capsys.readouterr().out.splitlines())
    first = [line[:28].strip() for line in printed[0][1:5]]
    assert first == ["exp", "mul", "program 'mlp'", "program 'loop'"]
    assert printed[1][:5] == printed[0][:5]


def test_a_saved_model_is_checked_with_its_parameters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved_model(tmp_path)
    report = tmp_path / "report.json"
    assert command.main(["program", str(tmp_path), "--report", str(report)]) == 0
    assert "1 program: 1 pass" in capsys.readouterr().out
    assert "fc_0.w_0" in report.read_text(encoding="utf-8")


def test_a_program_file_needs_a_loss_and_takes_what_is_fed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved_model(tmp_path)
    file = str(tmp_path / "program.json")
    assert command.main(["program", file]) == 3
    assert "name it with --loss" in capsys.readouterr().err
    block = fluid.default_main_program().global_block()
    loss = block.ops[-1].output_arg_names[0]
    np.save(tmp_path / "x.npy", np.ones((2, 4), np.float32))
    fed = f"x={tmp_path / 'x.npy'}"
    assert command.main(["program", file, "--loss", loss, "--feed", fed]) == 0
    assert command.main(["program", file, "--loss", loss, "--check", "fc_0.w_0"]) == 0
    np.save(tmp_path / "wide.npy", np.ones((2, 4)))
    wide = f"x={tmp_path / 'wide.npy'}"
    assert command.main(["program", file, "--loss", loss, "--feed", wide]) == 0
    assert command.main(["program", file, "--loss", loss, "--feed", f"y={wide[2:]}"]) == 3
    assert "--feed y: no such variable; there are: x, fc_0.w_0" in capsys.readouterr().err
    assert command.main(["program", file, "--loss", loss, "--feed", f"x={file}"]) == 3
    assert "--feed x=" in capsys.readouterr().err
    assert command.main(["program", file, "--loss", loss, "--feed", "x"]) == 3
    assert "--feed must be NAME=FILE.npy, got 'x'" in capsys.readouterr().err


def test_a_program_of_several_ranks_says_what_checks_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = layers.data("x", [3])
    loss = layers.mean(layers.fc(x, 1))
    block = loss.block
    block.append_op("c_broadcast", {"X": block.var("fc_0.w_0")}, {"Out": block.var("fc_0.w_0")})
    file = tmp_path / "program.json"
    file.write_text(block.program.serialize_to_string(), encoding="utf-8")
    assert command.main(["program", str(file), "--loss", loss.name]) == 3
    said = capsys.readouterr().err
    assert "got c_broadcast" in said
    assert "write mpiexec -n 2 fluidcore gradcheck program" in said


def test_the_gradient_operators_of_a_training_program_are_those_that_are_checked(
    tmp_path: Path,
) -> None:
    x = layers.data("x", [4])
    loss = layers.mean(layers.square(layers.fc(x, 3, act="tanh")))
    fluid.optimizer.Adam(learning_rate=0.1).minimize(loss)
    program = fluid.default_main_program()
    file = tmp_path / "program.json"
    file.write_text(program.serialize_to_string(), encoding="utf-8")
    assert command.main(["program", str(file), "--loss", loss.name]) == 0
    for op in program.global_block().ops:
        if op.type == "tanh_grad":
            op.desc.set_input("Out", [op.desc.input("Out@GRAD")[0]])
    file.write_text(program.serialize_to_string(), encoding="utf-8")
    assert command.main(["program", str(file), "--loss", loss.name]) == 1


def test_what_is_not_given_is_drawn_with_the_declared_shape_and_dtype() -> None:
    layers.data("x", [4])
    layers.data("label", [1], dtype="int64")
    program = fluid.default_main_program()
    drawn = program_command._drawn(program, {}, seed=1)
    assert {name: (a.shape, a.dtype.name) for name, a in drawn.items()} == {
        "x": ((3, 4), "float32"),
        "label": ((3, 1), "int64"),
    }
    assert set(drawn["label"].ravel()) <= {0, 1}
    again = program_command._drawn(program, {"label": drawn["label"]}, seed=1)
    assert list(again) == ["x"]
    np.testing.assert_array_equal(again["x"], drawn["x"])


@pytest.mark.parametrize("end", ["html", "json", "sarif", "xml", "txt"])
def test_reports_are_written_in_the_format_of_their_name(tmp_path: Path, end: str) -> None:
    path = tmp_path / f"report.{end}"
    arguments = ["op", "tanh", "--dtype", "float32", "--report", str(path), "--quiet", *QUICK]
    assert command.main(arguments) == 0
    assert "tanh" in path.read_text(encoding="utf-8")


def test_compare_prints_what_changed_and_fails_only_for_the_worse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    for path, types in ((before, ["tanh", "exp"]), (after, ["tanh", "log"])):
        arguments = ["op", *types, "--dtype", "float64", "--quiet", *QUICK]
        assert command.main([*arguments, "--report", str(path)]) == 0
    capsys.readouterr()
    assert command.main(["compare", str(before), str(after)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "exp X float64 cpu: no longer there",
        "log X float64 cpu: new, pass",
        "1 results in both, 1 only before, 1 new",
    ]
    worse = json.loads(after.read_text(encoding="utf-8"))
    text = json.dumps(worse).replace('"verdict": "pass"', '"verdict": "fail"')
    after.write_text(text, encoding="utf-8")
    assert command.main(["compare", str(before), str(after)]) == 1
    assert "tanh X float64 cpu: pass -> fail" in capsys.readouterr().out
    assert command.main(["compare", str(after), str(after)]) == 0


def test_a_saved_reproducer_can_be_piped_to_python(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    array = np.linspace(-1.0, 1.0, 60).reshape(3, 20) * np.pi
    (tmp_path / "long_text.py").write_text(
        "import numpy as np\ndef sine(x): return np.sin(x)\ndef gradient(x, v): return v\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("long_text")
    report = check(module.sine, array, vjp=module.gradient, raise_exception=False)
    assert len(report.repro) > 1100
    long = replace(report, repro="# " + 2000 * "." + "\n" + report.repro)
    path = str(tmp_path / "r.json")
    long.save(path)
    shown = str(long)
    assert "fluidcore gradcheck explain r.json --repro" in shown
    assert command.main(["explain", path, "--repro"]) == 0
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    again = subprocess.run(
        [sys.executable, "-"],
        input=capsys.readouterr().out,
        capture_output=True,
        text=True,
        env=env,
    )
    assert again.returncode == 1
    assert "GradientError: FAIL  sine: 1 of 1 gradient wrong\n" in again.stderr
    nowhere = replace(report, repro="")
    nowhere.save(path)
    assert command.main(["explain", path, "--repro"]) == 0
    out = capsys.readouterr().out
    assert out == "# sine: its function or values cannot be written down\n"


@pytest.mark.parametrize(
    ("resolution", "passed", "cell"),
    [(5e-8, 20, "5.0e-08"), (2.7, 18, "in part"), (2.7, 0, "nothing"), (np.inf, 20, "in part")],
)
def test_the_table_says_what_a_check_sees(
    resolution: float, passed: int, cell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (report,) = check_all_ops(GradCheckConfig(), ["tanh"], 1, ["float64"])
    (result,) = report.results
    result = replace(result, resolution=resolution, num_passed=passed)
    with table(1) as add:
        add(Line.of("tanh", "float64", [replace(report, results=(result,))]))
    assert capsys.readouterr().out.splitlines()[1].endswith(f" {cell}")


@pytest.mark.usefixtures("functions")
def test_the_check_of_a_command_is_repeated_by_that_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["callable", "case_file:wrong", "--quiet", "--seed", "3"]
    assert command.main([*arguments, "--report", "r.json"]) == 1
    capsys.readouterr()
    assert command.main(["explain", "r.json", "--repro"]) == 0
    text = capsys.readouterr().out
    assert text.splitlines()[-1] == f"main({['gradcheck', *arguments]!r})"
    run = [sys.executable, "-c", text]
    again = subprocess.run(run, cwd="/", capture_output=True, text=True, check=True)
    assert "FAIL  square" in again.stdout


@pytest.mark.usefixtures("functions")
def test_explain_prints_what_failed_and_exits_as_the_check_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "r.json")
    assert command.main(["callable", "case_file:wrong", "--quiet", "--report", path]) == 1
    capsys.readouterr()
    assert command.main(["explain", path]) == 1
    out = capsys.readouterr().out
    assert "square" in out
    assert out.splitlines()[-1] == "1 report: 1 fail"


def test_the_module_can_be_run_and_a_closed_pipe_is_no_error() -> None:
    run = [sys.executable, "-m", "fluidcore.gradcheck", "op", "tanh", "--dtype", "float64", *QUICK]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        piped = subprocess.run(run, stdout=closed, stderr=subprocess.PIPE, text=True, check=False)
    assert piped.stderr == ""


def test_an_error_of_the_core_is_an_error_of_the_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        error = core.InvalidArgument("tanh: it must rain")
        error.add_note("on Mondays")
        raise error

    monkeypatch.setattr("fluidcore.gradcheck.all_ops.check_example", refuse)
    assert command.main(["op", "tanh"]) == 3
    err = capsys.readouterr().err
    assert err == "fluidcore gradcheck: tanh: it must rain\n  on Mondays\n"


def test_a_terminal_gets_a_bar_and_colours(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert command.main(["op", "tanh", "--dtype", "float64", *QUICK]) == 0
    out = capsys.readouterr().out
    assert "tanh                         float64   ok" in out
    assert "\x1b[32m" in out


def test_an_interrupt_is_exit_code_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fluidcore.gradcheck.all_ops.check_example", interrupt)
    assert command.main(["op", "tanh"]) == 130
