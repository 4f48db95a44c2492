"""Tests of `fluidcore profile`."""

from pathlib import Path

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import cli, layers
from fluidcore.profiler.saved import profile_saved


@pytest.fixture
def model(tmp_path: Path) -> str:
    words = layers.data("words", [3], dtype="int64")
    weight = layers.data("weight", [3, 1])
    out = layers.elementwise_mul(layers.embedding(words, [10, 4]), weight)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    fluid.io.save_inference_model(tmp_path / "model", ["words", "weight"], [out], exe)
    return str(tmp_path / "model")


def test_a_saved_model_is_fed_what_it_declares(model: str) -> None:
    recorded = profile_saved(model, batch=5, runs=2)
    rows = {row.type: row for row in recorded}
    assert rows["lookup_table_v2"].calls == rows["elementwise_mul"].calls == 2
    assert rows["elementwise_mul"].bytes == 2 * 4 * (2 * 5 * 3 * 4 + 5 * 3)
    assert rows["elementwise_mul"].line == "operator 1 of block 0"


def test_profiling_leaves_the_scope_alone(model: str) -> None:
    table = fluid.default_main_program().global_block().all_parameters()[0].name
    before = np.array(fluid.global_scope().find_var(table).get_tensor())
    fluid.global_scope().find_var(table).get_tensor().set(before + 1)
    profile_saved(model, batch=1, runs=1)
    np.testing.assert_array_equal(
        np.array(fluid.global_scope().find_var(table).get_tensor()), before + 1
    )


def test_the_command_prints_a_table_and_writes_a_trace(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "trace.json"
    arguments = ["profile", model, "--batch", "2", "--runs", "3", "--types", "--trace", str(trace)]
    assert cli.main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[0] == "operator"
    assert lines[-1].endswith(" ms in the operators of a run")
    assert trace.exists()


def test_a_model_that_is_not_there_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["profile", "/no/model"]) == 1
    assert "no file /no/model" in capsys.readouterr().err


def test_the_command_shows_the_steps_of_a_run(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["show", "--plan", "--batch", "4", model]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "block 0:",
        "  lookup_table_v2: operator 0 of block 0 (lookup_table_v2)",
        "    embedding_0.tmp_0 float32 [4, 3, 4], at 0",
        "  elementwise_mul: operator 1 of block 0 (elementwise_mul)",
        "    elementwise_mul_0.tmp_0 float32 [4, 3, 4], in the result",
        "temporaries: 192 bytes",
    ]
