"""A training that is interrupted and resumed is the uninterrupted one, bit for bit."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from small_training import QUIET, Line, Small, X, Y, feeds

import fluidcore as fluid

pytestmark = pytest.mark.usefixtures("no_thread_remains")
EPOCHS = 4


class Interrupt:
    """Raises Ctrl-C's exception in a certain event."""

    def __init__(self, kind, number):
        self.kind = kind
        self.number = number

    def __call__(self, event):
        number = getattr(event, "global_step", event.epoch)
        if isinstance(event, self.kind) and number == self.number:
            raise KeyboardInterrupt


def steps_of(told):
    return [each for each in told if isinstance(each, (fluid.EndStepEvent, fluid.EndEpochEvent))]


def uninterrupted(tmp_path, **options):
    small = Small()
    told = []
    folder = tmp_path / "whole"
    history = small.train(EPOCHS, told.append, checkpoint_dir=folder, **options)
    return small, history, steps_of(told)


@pytest.mark.parametrize(
    ("kind", "number", "steps"),
    [
        (fluid.EndStepEvent, 8, 9),  # in the middle of an epoch
        (fluid.BeginStepEvent, 9, 9),  # the loader has given the batch already
        (fluid.EndStepEvent, 11, 12),  # after the last step of an epoch, before its evaluation
        (fluid.EndEpochEvent, 1, 12),
        (fluid.BeginEpochEvent, 2, 12),
    ],
)
def test_an_interrupted_training_goes_on_bit_for_bit(tmp_path, kind, number, steps):
    whole, expected, told = uninterrupted(tmp_path)
    folder = tmp_path / "parts"
    options = {"checkpoint_dir": folder, "checkpoint_on_interrupt": True, "resume": True}
    first = Small()
    before = []
    with pytest.raises(KeyboardInterrupt) as caught:
        first.train(EPOCHS, before.append, Interrupt(kind, number), **options)
    assert caught.value.__notes__ == [
        f"Trainer.train: the checkpoint of step {steps} is in {folder}"
    ]
    assert first.trainer.history.stopped == "interrupt"
    assert fluid.checkpoint.steps(folder)[-1] == steps
    second = Small()
    second.trainer.evaluate(second.tests)  # what was before does not matter
    after = []
    history = second.train(EPOCHS, after.append, **options)
    assert history.epochs == expected.epochs
    assert (history.steps, history.stopped) == (EPOCHS * 6, None)
    assert second.state() == whole.state()
    assert all(each in steps_of(before) + steps_of(after) for each in told)


def test_an_interrupt_within_the_evaluation_repeats_only_the_evaluation(tmp_path):
    whole, expected, _ = uninterrupted(tmp_path)
    first = Small()
    options = {"checkpoint_dir": tmp_path / "parts", "checkpoint_on_interrupt": True}

    class Tests(list):
        def __iter__(self):
            raise KeyboardInterrupt

    first.train(1, **options)
    with pytest.raises(KeyboardInterrupt):
        first.train(EPOCHS, evaluate=Tests(), resume=True, **options)
    assert first.trainer.history.steps == 12
    second = Small()
    second.tests.load_state_dict({**second.tests.state_dict(), "epoch": 1})
    told = []
    history = second.train(EPOCHS, told.append, resume=True, **options)
    assert told[:2] == [
        fluid.BeginEpochEvent(1),
        fluid.EndEpochEvent(1, expected.epochs[1].metrics),
    ]
    assert history.epochs == expected.epochs
    assert second.values() == whole.values()


def test_a_checkpoint_within_an_epoch_is_enough_after_a_crash(tmp_path):
    whole, expected, _ = uninterrupted(tmp_path)
    folder = tmp_path / "parts"
    first = Small()

    def crash(event):
        if isinstance(event, fluid.EndStepEvent) and event.global_step == 10:
            raise SystemError

    with pytest.raises(SystemError):
        first.train(EPOCHS, crash, checkpoint_dir=folder, checkpoint_every=4)
    assert fluid.checkpoint.steps(folder) == [4, 6, 8]
    second = Small()
    history = second.train(EPOCHS, checkpoint_dir=folder, checkpoint_every=4, resume=True)
    assert history.epochs == expected.epochs
    assert second.state() == whole.state()


def test_what_a_handler_evaluates_is_resumed_too(tmp_path):
    def train(small, name, *handlers):
        def look(event):
            if isinstance(event, (fluid.EndStepEvent, fluid.EndEpochEvent)):
                small.trainer.evaluate(small.tests)

        folder = tmp_path / name
        options = {"checkpoint_dir": folder, "checkpoint_every": 4, "resume": True}
        return small.train(EPOCHS, look, *handlers, **options)

    whole, first, second = Small(), Small(), Small()
    expected = train(whole, "whole")
    with pytest.raises(KeyboardInterrupt):
        train(first, "parts", Interrupt(fluid.EndStepEvent, 9))
    assert train(second, "parts").epochs == expected.epochs
    assert second.state() == whole.state()


def test_a_seed_that_was_drawn_by_chance_is_resumed_too(tmp_path):
    first = Small(seed=0)
    history = first.train(2, checkpoint_dir=tmp_path / "a", checkpoint_every=4, keep_last=None)
    folder = "step_00000008"
    shutil.copytree(tmp_path / "a" / folder, tmp_path / "b" / folder)
    second = Small(seed=0)
    again = second.train(2, checkpoint_dir=tmp_path / "b", resume=True)
    assert again.epochs == history.epochs
    assert second.state() == first.state()


def test_another_process_resumes(tmp_path):
    whole = Small()
    whole.train(EPOCHS)
    options = {"checkpoint_dir": tmp_path, "checkpoint_on_interrupt": True}
    with pytest.raises(KeyboardInterrupt):
        Small().train(EPOCHS, Interrupt(fluid.EndStepEvent, 8), **options)
    text = (
        "import json; from small_training import Small; small = Small(); "
        f"small.train({EPOCHS}, checkpoint_dir={os.fspath(tmp_path)!r}, resume=True); "
        "print(json.dumps(small.values()))"
    )
    environment = {**os.environ, "PYTHONPATH": os.fspath(Path(__file__).parent)}
    command = [sys.executable, "-c", text]
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(printed.stdout) == whole.values()


def test_a_stopped_training_goes_on_too(tmp_path):
    whole, expected, _ = uninterrupted(tmp_path)
    folder = tmp_path / "parts"
    first = Small()

    def stop(event):
        if isinstance(event, fluid.EndStepEvent) and event.global_step == 13:
            first.trainer.stop()

    assert first.train(EPOCHS, stop, checkpoint_dir=folder).stopped == "stop"
    second = Small()
    assert second.train(EPOCHS, checkpoint_dir=folder, resume=True).epochs == expected.epochs
    assert second.state() == whole.state()


def test_early_stopping_and_its_end_are_resumed(tmp_path):
    options = {
        "early_stopping": fluid.EarlyStopping(patience=3),
        "mode": "max",  # of the loss, so that it gets no better
        "resume": True,
        **QUIET,
    }
    batches = feeds([1.0], [1.0])
    whole = Line().trainer.train(batches, 9, checkpoint_dir=tmp_path / "whole", **options)
    assert (len(whole), whole.stopped) == (4, "early_stopping")
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
        line = Line(scope=fluid.Scope())
        parts = {"checkpoint_dir": tmp_path / "parts", **options}
        assert line.trainer.train(batches, 2, **parts).stopped is None
        history = line.trainer.train(batches, 9, **parts)
        assert (history.epochs, history.stopped) == (whole.epochs, "early_stopping")
        told = []
        again = line.trainer.train(batches, 9, told.append, **parts)
        assert (again.epochs, again.stopped, told) == (whole.epochs, "early_stopping", [])


def test_more_epochs_than_before_go_on_and_no_more_do_nothing(tmp_path):
    whole, expected, _ = uninterrupted(tmp_path)
    small = Small()
    options = {"checkpoint_dir": tmp_path / "parts", "resume": True}
    assert len(small.train(2, **options)) == 2
    told = []
    assert len(small.train(1, told.append, **options)) == 2
    assert told == []
    assert small.train(EPOCHS, **options).epochs == expected.epochs
    assert small.state() == whole.state()


def test_batches_without_a_position_are_passed_over(tmp_path):
    batches = feeds([1.0], [2.0], [3.0])
    line = Line()
    expected = line.trainer.train(batches, 2, **QUIET)
    w = line.w
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
        again = Line(scope=fluid.Scope())
        options = {"checkpoint_dir": tmp_path, "checkpoint_on_interrupt": True, **QUIET}
        with pytest.raises(KeyboardInterrupt):
            again.trainer.train(batches, 2, Interrupt(fluid.EndStepEvent, 3), **options)
        history = again.trainer.train(batches, 2, resume=True, **options)
        assert history.epochs == expected.epochs
        found = again.trainer.scope.find_var("w").get_tensor()
        assert float(found.get_float_element(0)) == w


def test_a_checkpoint_in_the_event_of_the_end_of_an_epoch_has_its_metric(tmp_path):
    options = {"checkpoint_dir": tmp_path, "checkpoint_on_interrupt": True}
    small = Small()
    with pytest.raises(KeyboardInterrupt):
        small.train(EPOCHS, Interrupt(fluid.EndEpochEvent, 0), **options)
    assert fluid.checkpoint.best(tmp_path) == 6


def test_the_best_checkpoints_stay(tmp_path):
    small = Small()
    history = small.train(EPOCHS, checkpoint_dir=tmp_path, keep_last=1, keep_best=1)
    best = history.best()
    assert fluid.checkpoint.best(tmp_path) == (best.epoch + 1) * 6
    assert set(fluid.checkpoint.steps(tmp_path)) == {(best.epoch + 1) * 6, EPOCHS * 6}
    loaded = fluid.checkpoint.load(
        tmp_path,
        small.trainer.executor,
        small.main,
        small.trainer.scope,
        step=fluid.checkpoint.best(tmp_path),
    )
    assert loaded.metric == best.metrics["val_loss"]


def test_a_checkpoint_of_a_trainer_can_be_loaded_by_hand(tmp_path):
    small = Small()
    small.train(1, checkpoint_dir=tmp_path)
    other = Small()
    found = fluid.checkpoint.load(
        tmp_path, other.trainer.executor, other.main, other.trainer.scope, reader=other.loader
    )
    assert found.step == 6
    assert other.loader.state_dict() == small.loader.state_dict()
    assert other.values() == small.values()


def test_a_folder_with_checkpoints_is_not_mixed_up(tmp_path):
    small = Small()
    small.train(1, checkpoint_dir=tmp_path)
    before = small.state()
    with pytest.raises(fluid.InvalidArgument) as caught:
        small.train(1, checkpoint_dir=tmp_path)
    assert str(caught.value) == (
        f"Trainer.train: checkpoint_dir must be without checkpoints, got {tmp_path} with those of "
        "steps [6]; give resume=True to go on, or another folder"
    )
    assert small.state() == before


def test_a_checkpoint_of_another_program_is_refused(tmp_path):
    Small().train(1, checkpoint_dir=tmp_path)
    other = Small(hidden=7)
    other.train(1)
    before = other.state()
    with pytest.raises(fluid.InvalidArgument, match="the program must be the saved one") as caught:
        other.train(2, checkpoint_dir=tmp_path, resume=True)
    assert "variable 'fc_0.w_0' with shape [6, 5] in place of [6, 7]" in str(caught.value)
    assert other.state() == before


def test_a_checkpoint_that_no_trainer_wrote_is_refused(tmp_path):
    small = Small()
    small.train(1)
    trainer = small.trainer
    fluid.checkpoint.save(tmp_path, 3, trainer.executor, small.main, trainer.scope)
    with pytest.raises(fluid.InvalidArgument, match="must hold the position of a reader"):
        small.train(2, checkpoint_dir=tmp_path, resume=True)
    fluid.checkpoint.save(
        tmp_path, 3, trainer.executor, small.main, trainer.scope, reader=small.loader
    )
    before = small.state()
    with pytest.raises(fluid.InvalidArgument) as caught:
        small.train(2, checkpoint_dir=tmp_path, resume=True)
    assert str(caught.value) == (
        "Trainer.train: the checkpoint must be one that Trainer.train wrote, got one of "
        "checkpoint.save; load it with checkpoint.load, and train without resume"
    )
    assert small.state() == before


def changed(path, change):
    path = path / "step_00000006" / "state.json"
    state = json.loads(path.read_text())
    change(state["reader"]["trainer"])
    path.write_text(json.dumps(state))


@pytest.mark.parametrize(
    ("options", "change", "message"),
    [
        (
            {"monitor": "loss"},
            lambda own: None,
            "Trainer.train: monitor and mode must be those of the checkpoint, ('val_loss', 'min'), "
            "got ('loss', 'min')",
        ),
        (
            {},
            lambda own: own["totals"]["sums"].pop("size"),
            "Trainer.train: the metrics must be those of the checkpoint, ['loss', 'auc', 'both'], "
            "got ['loss', 'size', 'auc', 'both']",
        ),
        (
            {},
            lambda own: own.pop("history"),
            "Trainer.train: the state in the checkpoint must be whole, got a damaged one: "
            "KeyError('history')",
        ),
        (
            {},
            lambda own: own.update(has_position=False),
            "Trainer.train: the loader must be as that of the checkpoint, without state_dict, got "
            "one with",
        ),
    ],
)
def test_a_checkpoint_of_another_training_is_refused(tmp_path, options, change, message):
    Small().train(1, checkpoint_dir=tmp_path)
    changed(tmp_path, change)
    small = Small()
    small.train(1)
    before = small.state()
    with pytest.raises(fluid.InvalidArgument) as caught:
        small.train(2, checkpoint_dir=tmp_path, resume=True, **options)
    assert str(caught.value) == message
    assert small.state() == before


def test_an_evaluation_on_other_data_is_refused_and_moves_nothing(tmp_path):
    Small().train(1, checkpoint_dir=tmp_path)
    small = Small()
    small.train(2)
    before = small.state()
    other = fluid.DataLoader({"x": X, "y": Y}, 5)
    with pytest.raises(fluid.InvalidArgument, match="must be of a loader like this one"):
        small.train(2, checkpoint_dir=tmp_path, resume=True, evaluate=other)
    assert small.state() == before


def test_a_loader_with_a_key_of_the_trainers_name_is_refused(tmp_path):
    class Loader(list):
        def state_dict(self):
            return {"trainer": 1}

        def load_state_dict(self, state):
            pass

    with pytest.raises(fluid.InvalidArgument) as caught:
        Line().trainer.train(Loader(feeds([1.0])), 1, checkpoint_dir=tmp_path, **QUIET)
    assert str(caught.value) == (
        "Trainer.train: state_dict() of the loader must have no key 'trainer', got ['trainer']"
    )


def test_training_and_evaluating_on_one_loader_is_resumed(tmp_path):
    whole, parts = Small(), Small()
    expected = whole.train(3, evaluate=whole.loader)
    options = {"checkpoint_dir": tmp_path, "checkpoint_on_interrupt": True}
    with pytest.raises(KeyboardInterrupt):
        parts.train(3, Interrupt(fluid.EndStepEvent, 8), evaluate=parts.loader, **options)
    again = Small()
    history = again.train(3, evaluate=again.loader, resume=True, **options)
    assert history.epochs == expected.epochs
    assert again.values() == whole.values()


def test_a_metric_whose_state_cannot_be_saved_is_an_error_that_says_what(tmp_path):
    class Odd(fluid.metrics.MetricBase):
        def reset(self):
            self.seen = {1}

        def update(self, *args):
            pass

        def eval(self):
            return 1.0

    line = Line()
    trainer = fluid.Trainer(line.loss, metrics={"odd": (Odd(), [line.x])})
    with pytest.raises(TypeError) as caught:
        trainer.train(feeds([1.0]), 1, checkpoint_dir=tmp_path, **QUIET)
    assert str(caught.value) == (
        "Trainer.train: 'seen' of metric 'odd' must be a number, text, an array or a list of "
        "these, so that it can be saved in a checkpoint, got set"
    )
