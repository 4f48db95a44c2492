"""The power of the checker: it may not drop. The seeds are not those it was tuned on."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fluidcore.gradcheck.cases import program_names
from tests.power.__main__ import main
from tests.power.planted import operator_case, program_case
from tests.power.run import Plan, run

OPERATORS = (
    *("tanh", "relu", "softmax", "matmul", "conv2d", "elementwise_mul", "elementwise_div"),
    *("reduce_mean", "batch_norm", "lookup_table", "gelu", "softmax_with_cross_entropy"),
)


def power(plan):
    powers = {}
    for _, _, powers in run(plan):  # noqa: B007
        pass
    return powers["fluidcore"]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_no_operator_is_accused_and_every_bug_is_found(dtype):
    found = power(Plan(["fluidcore"], dtype, range(1000, 1002), 3, OPERATORS))
    assert found.wrongly_accused == []
    assert found.undecided.found == 0
    assert found.missed == []


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_wrong_operators_of_programs_are_found_and_named(dtype):
    names = program_names()[::4]
    found = power(Plan(["fluidcore"], dtype, [1000], 3, names, programs=True))
    assert found.wrongly_accused == []
    assert found.missed == []
    assert found.located.found == found.located.total > 0


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_the_power_over_all_operators_stays(dtype):
    found = power(Plan(["fluidcore"], dtype, range(2000, 2005), 4))
    assert found.wrongly_accused == []
    assert found.useful.rate >= 0.995
    assert found.undecided.rate <= 0.005


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_program_is_judged_right_and_the_operators_are_named(dtype):
    found = power(Plan(["fluidcore"], dtype, range(2000, 2003), 6, programs=True))
    assert found.wrongly_accused == []
    assert found.useful.rate >= 0.995
    assert found.located.rate >= 0.99


def test_the_same_seed_plants_the_same_bugs():
    a, b = (operator_case("matmul", 1000, "float64", 4) for _ in range(2))
    assert [bug.target.who for bug in a.bugs] == [bug.target.who for bug in b.bugs]
    assert len(a.bugs) == 4
    np.testing.assert_array_equal(a.right.inputs[0].value, b.right.inputs[0].value)


def test_a_program_has_one_wrong_operator_at_a_time():
    case = program_case(program_names()[0], 1000, "float64", 3)
    assert len(case.bugs) == 3
    assert all(bug.place is not None for bug in case.bugs)


def test_the_command_prints_the_table_and_fails_only_for_accusations(capsys):
    assert main(["--types", "tanh", "--dtypes", "float64", "--seeds", "1"]) == 0
    assert "| fluidcore | 0 of 1 | 0 of 1 | 100.0 % of 4 " in capsys.readouterr().out


def test_the_command_measures_the_judgement_without_float64(capsys):
    command = ["--native", "--dtypes", "bfloat16", "--seeds", "1", "--bugs", "1"]
    assert main([*command, "--types", "tanh", "--against", "fluidcore,fluidcore-native"]) == 0
    printed = capsys.readouterr().out
    rows = [line for line in printed.splitlines() if line.startswith("| fluidcore")]
    assert [row.split(" | ")[0] for row in rows] == ["| fluidcore-native", "| fluidcore"]
    assert main([*command, "--types", "batch_norm"]) == 0
    printed = capsys.readouterr().out
    assert ("| 1 of 1 |" in printed) == ("  inconclusive: batch_norm bfloat16" in printed)


def test_wrong_arguments_of_the_command_are_told(capsys):
    assert main(["--types", "tanh", "--seeds", "0"]) == 3
    assert "--seeds must be 1 or more, got 0" in capsys.readouterr().err
    assert main(["--types", "tanh", "--against", "tensorflow"]) == 3
    assert "no checker is called 'tensorflow'" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="3"):
        main(["--dtypes", "float33"])
    assert "got 'float33'; did you mean 'float32'?" in capsys.readouterr().err
    assert main(["--programs", "--dtypes", "float16"]) == 3
    assert "programs are in float64, float32, got float16" in capsys.readouterr().err


def test_the_measurement_is_a_command_and_runs_in_several_processes():
    command = ["--types", "tanh,exp", "--dtypes", "float64", "--seeds", "1", "--bugs", "1"]
    run = subprocess.run(
        [sys.executable, "-m", "tests.power", *command, "--jobs", "2"],
        cwd=Path(__file__).resolve().parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "| fluidcore | 0 of 2 | 0 of 2 | 100.0 % of 2 " in run.stdout
