from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from training import Batches, Training

import fluidcore as fluid


@pytest.mark.parametrize("seed", [0, 7])
def test_a_resumed_training_is_the_uninterrupted_one_bit_for_bit(tmp_path: Path, seed: int) -> None:
    first = Training(seed=seed)
    first.run(5)
    first.save(tmp_path, 5)
    expected = first.run(6)
    second = Training(seed=seed)
    second.run(2)
    assert second.load(tmp_path) == (5, None)
    assert second.run(6) == expected
    assert second.state() == first.state()


def test_another_process_resumes(tmp_path: Path) -> None:
    first = Training()
    first.run(3)
    first.save(tmp_path, 3)
    text = (
        "from training import Training\n"
        f"again = Training(); again.load({os.fspath(tmp_path)!r}); print(again.run(4))"
    )
    environment = {**os.environ, "PYTHONPATH": os.fspath(Path(__file__).parent)}
    command = [sys.executable, "-c", text]
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(printed.stdout) == first.run(4)


def test_without_the_state_of_random_numbers_the_losses_differ(tmp_path: Path) -> None:
    first = Training()
    first.run(3)
    first.save(tmp_path, 3)
    expected = first.run(3)
    first.load(tmp_path)
    first.executor.set_random_state(fluid.executor.RandomState(1, 2), first.program)
    assert first.run(3) != expected


def test_the_last_ones_and_the_best_stay(tmp_path: Path) -> None:
    training = Training()
    for step, metric in enumerate([0.5, 0.1, 0.1, 0.7, 0.9]):
        training.save(tmp_path, step, metric=metric, keep_last=2, keep_best=1)
    assert fluid.checkpoint.steps(tmp_path) == [2, 3, 4]
    assert fluid.checkpoint.best(tmp_path) == 2
    assert training.load(tmp_path, step=2) == (2, 0.1)
    assert training.load(tmp_path).step == 4


def test_a_step_can_be_saved_again(tmp_path: Path) -> None:
    training = Training()
    training.save(tmp_path, 1)
    training.run(2)
    training.save(tmp_path, 1, metric=3)
    expected = training.state()
    training.run(1)
    assert training.load(tmp_path) == (1, 3.0)
    assert training.state() == expected
    assert os.listdir(tmp_path) == ["step_00000001"]


@pytest.mark.parametrize("file", ["program.json", "params.safetensors", "state.json"])
def test_a_full_disk_leaves_what_was_saved(
    tmp_path: Path, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = Training()
    training.save(tmp_path, 1)
    expected = training.state()
    training.run(2)
    replace = os.replace

    def fail(source: Any, target: Any) -> None:
        if os.fspath(target).endswith(file):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), target)
        replace(source, target)

    for step in (1, 2):
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", fail)
            with pytest.raises(OSError, match="No space left on device; what was saved before is"):
                training.save(tmp_path, step)
    assert os.listdir(tmp_path) == ["step_00000001"]
    training.load(tmp_path)
    assert training.state() == expected


@pytest.mark.parametrize("moment", ["before the old one was moved", "after it was moved"])
def test_what_a_killed_save_left_is_put_right_by_the_next_one(tmp_path: Path, moment: str) -> None:
    training = Training()
    training.save(tmp_path, 1)
    saved = tmp_path / "step_00000001"
    (tmp_path / "step_00000001.new").mkdir()
    if moment.startswith("after"):
        saved.rename(tmp_path / "step_00000001.old")
    training.save(tmp_path, 2)
    assert sorted(os.listdir(tmp_path)) == ["step_00000001", "step_00000002"]
    training.load(tmp_path, step=1)


def refused(training: Training, dirname: Path, **options: Any) -> str:
    """The error of a load, which changes nothing."""
    before = training.state()
    with pytest.raises(fluid.Error) as error:
        training.load(dirname, **options)
    assert training.state() == before
    return str(error.value).replace(os.fspath(dirname), "DIR")


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            {"hidden": 4},
            "variable 'fc_0.w_0' with shape [6, 5] in place of [6, 4]; "
            "variable 'fc_0.tmp_0' with shape [-1, 5] in place of [-1, 4]; "
            "variable 'fc_0.b_0' with shape [5] in place of [4]; "
            "variable 'fc_0.tmp_1' with shape [-1, 5] in place of [-1, 4]; "
            "variable 'batch_norm_0.w_0' with shape [5] in place of [4]; ",
        ),
        (
            {"dropout": 0.25},
            "operator 3, dropout, with dropout_prob 0.5 in place of 0.25; ",
        ),
        ({"seed": 9}, "random_seed 0 in place of 9"),
    ],
)
def test_another_program_is_refused_and_what_differs_is_named(
    tmp_path: Path, other: dict[str, Any], message: str
) -> None:
    Training().save(tmp_path, 1)
    start = "checkpoint.load: the program must be the saved one, DIR/step_00000001/program.json, "
    assert refused(Training(**other), tmp_path).startswith(f"{start}which has {message}")


def test_a_missing_checkpoint_is_an_error(tmp_path: Path) -> None:
    training = Training()
    expected = "checkpoint.load: there must be a checkpoint in DIR, got none"
    assert refused(training, tmp_path) == expected
    assert refused(training, tmp_path / "nowhere").endswith("a checkpoint in DIR, got none")
    training.save(tmp_path, 4)
    expected = (
        "checkpoint.load: there must be a checkpoint of step 5 in DIR, got those of steps [4]"
    )
    assert refused(training, tmp_path, step=5) == expected
    with pytest.raises(
        fluid.NotFound, match=r"must be a checkpoint with a metric in .*, got steps"
    ):
        fluid.checkpoint.best(tmp_path)


@pytest.mark.parametrize("file", ["program.json", "params.safetensors", "state.json"])
@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_a_damaged_checkpoint_is_an_error(tmp_path: Path, file: str, damage: str) -> None:
    training = Training()
    path = Path(training.save(tmp_path, 1)) / file
    training.run(1)
    if damage == "missing":
        path.unlink()
        assert file in refused(training, tmp_path)
    else:
        path.write_bytes(path.read_bytes()[:40])
        refused(training, tmp_path)


@pytest.mark.parametrize(
    "state", [[], {}, {"format": "fluidcore checkpoint"}, {"format": "other", "step": 1}]
)
def test_a_state_of_something_else_is_an_error(tmp_path: Path, state: Any) -> None:
    training = Training()
    (Path(training.save(tmp_path, 1)) / "state.json").write_text(json.dumps(state))
    assert "DIR/step_00000001/state.json must be" in refused(training, tmp_path)


def test_a_reader_that_fails_changes_nothing(tmp_path: Path) -> None:
    training = Training()
    training.save(tmp_path, 1)
    training.run(1)
    before = training.state()

    class Broken(Batches):
        def load_state_dict(self, state: dict[str, Any]) -> None:
            raise RuntimeError("no such position")

    training.batches, batches = Broken(), training.batches
    with pytest.raises(RuntimeError, match="no such position"):
        training.load(tmp_path)
    training.batches = batches
    assert training.state() == before


def test_a_position_that_was_not_saved_is_an_error(tmp_path: Path) -> None:
    training = Training()
    fluid.checkpoint.save(tmp_path, 1, training.executor, training.program, training.scope)
    assert refused(training, tmp_path) == (
        "checkpoint.load: DIR/step_00000001 must hold the position of a reader, got none; "
        "give save(reader=...)"
    )


@pytest.mark.parametrize(
    ("step", "options", "message"),
    [
        (-1, {}, "step must be 0 or more, got -1"),
        (1.5, {}, "step must be 0 or more, got 1.5"),
        (True, {}, "step must be 0 or more, got True"),
        (1, {"metric": float("nan")}, "metric must be a number, got nan"),
        (1, {"metric": "low"}, "metric must be a number, got 'low'"),
        (1, {"keep_last": 0}, "keep_last must be at least 1 or None, got 0"),
        (1, {"keep_best": -1}, "keep_best must be at least 0, got -1"),
    ],
)
def test_wrong_arguments_are_errors(
    tmp_path: Path, step: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(fluid.InvalidArgument, match=f"^checkpoint.save: {message}$"):
        Training().save(tmp_path, step, **options)
    assert os.listdir(tmp_path) == []


def test_a_position_that_json_cannot_hold_is_an_error(tmp_path: Path) -> None:
    training = Training()
    training.batches.position = np.int64(3)  # type: ignore[assignment]
    with pytest.raises(fluid.InvalidArgument, match=r"the reader must be of what JSON"):
        training.save(tmp_path, 1)
    assert os.listdir(tmp_path) == []


def test_variables_without_values_are_an_error(tmp_path: Path) -> None:
    training = Training()
    training.scope = fluid.Scope()
    with pytest.raises(fluid.NotFound, match="run the startup program first"):
        training.save(tmp_path, 1)
    assert os.listdir(tmp_path) == []
