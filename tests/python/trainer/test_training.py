import math
import re
import threading

import numpy as np
import pytest
from small_training import QUIET, Line, Small, X, Y, feeds

import fluidcore as fluid
from fluidcore import layers

pytestmark = pytest.mark.usefixtures("no_thread_remains")


def test_a_handler_is_told_of_every_epoch_and_step_in_their_order():
    told = []
    Line().trainer.train(feeds([2.0], [4.0]), 2, [told.append], evaluate=feeds([1.0]), **QUIET)
    assert [(type(each).__name__, *each) for each in told if isinstance(each, tuple)] == [
        ("BeginEpochEvent", 0),
        ("EndStepEvent", 0, 0, 0, {"loss": 2.0}),
        ("EndStepEvent", 0, 1, 1, {"loss": 3.0}),
        ("EndEpochEvent", 0, {"loss": 2.5, "val_loss": 0.25}),
        ("BeginEpochEvent", 1),
        ("EndStepEvent", 1, 0, 2, {"loss": 0.5}),
        ("EndStepEvent", 1, 1, 3, {"loss": 0.0}),
        ("EndEpochEvent", 1, {"loss": 0.25, "val_loss": -0.5}),
    ]
    assert [repr(each) for each in told if isinstance(each, fluid.BeginStepEvent)][1] == (
        "BeginStepEvent(epoch=0, step=1, global_step=1, fetch_metrics=True)"
    )


def test_a_step_without_metrics_is_done_and_does_not_count_in_the_mean():
    line = Line()
    told = []

    def handler(event):
        if isinstance(event, fluid.BeginStepEvent):
            event.fetch_metrics = event.step == 0
        if isinstance(event, fluid.EndStepEvent):
            told.append(event.metrics)

    history = line.trainer.train(feeds([2.0], [4.0]), 1, handler, **QUIET)
    assert told == [{"loss": 2.0}, {}]
    assert history["loss"] == [2.0]
    assert (history.epochs[0].steps, history.epochs[0].samples) == (2, 1)
    assert line.w == 1 - 0.125 * 6


@pytest.mark.parametrize(
    ("kind", "epochs", "steps"),
    [
        (fluid.BeginEpochEvent, 1, 2),
        (fluid.BeginStepEvent, 1, 2),
        (fluid.EndStepEvent, 1, 3),
        (fluid.EndEpochEvent, 2, 4),
    ],
)
def test_stop_ends_after_the_present_step_or_event(kind, epochs, steps):
    line = Line()

    def handler(event):
        if isinstance(event, kind) and event.epoch == 1:
            line.trainer.stop()

    history = line.trainer.train(feeds([1.0], [1.0]), 3, handler, **QUIET)
    assert (len(history), history.steps, history.stopped) == (epochs, steps, "stop")
    assert line.w == 1 - 0.125 * steps


def test_stop_in_the_last_event_changes_nothing():
    line = Line()
    history = line.trainer.train(feeds([1.0]), 1, lambda event: None, **QUIET)
    assert history.stopped is None
    stop = lambda event: isinstance(event, fluid.EndEpochEvent) and line.trainer.stop()  # noqa: E731
    assert line.trainer.train(feeds([1.0]), 1, stop, **QUIET).stopped is None


class Closing:
    """A handler that raises in one step, and can be closed."""

    def __init__(self, step):
        self.step = step
        self.closed = 0

    def __call__(self, event):
        if isinstance(event, fluid.EndStepEvent) and event.global_step == self.step:
            raise LookupError("of the handler")

    def close(self):
        self.closed += 1


def test_an_error_of_a_handler_ends_the_training_and_leaves_all_in_order():
    small = Small()
    handler, other = Closing(step=8), Closing(step=99)
    with pytest.raises(LookupError, match="of the handler"):
        small.train(3, handler, other)
    assert (handler.closed, other.closed) == (1, 1)
    assert (len(small.trainer.history), small.trainer.history.steps) == (1, 9)
    assert not [each for each in threading.enumerate() if "fluidcore" in each.name]
    again = Small()
    again.train(3, lambda event: again.trainer.stop() if again_at(event, 8) else None)
    assert small.values() == again.values()
    assert len(small.train(1, other)) == 1


def again_at(event, step):
    return isinstance(event, fluid.EndStepEvent) and event.global_step == step


def test_an_error_of_the_loader_ends_the_training_with_the_steps_before():
    line = Line()

    def batches():
        yield feeds([1.0])[0]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        line.trainer.train(batches, 1, **QUIET)
    assert line.w == 1 - 0.125


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_is_an_error_that_names_the_step(bad, tmp_path):
    line = Line()
    batches = feeds([1.0], [bad])
    with pytest.raises(fluid.InvalidArgument) as caught:
        line.trainer.train(batches, 1, checkpoint_dir=tmp_path, checkpoint_every=1, **QUIET)
    assert str(caught.value) == (
        f"Trainer.train: the loss must be finite, got {bad} in epoch 0, step 1, counted from 0; "
        "with the environment variable FLUIDCORE_CHECK_NAN=1 the run names the operator that made "
        f"the first NaN; the last checkpoint is that of step 1 in {tmp_path}"
    )
    assert fluid.checkpoint.steps(tmp_path) == [1]


def test_with_the_environment_variable_the_run_names_the_operator(monkeypatch):
    monkeypatch.setenv("FLUIDCORE_CHECK_NAN", "1")
    line = Line()
    with pytest.raises(fluid.InvalidArgument) as caught:
        line.trainer.train(feeds([1.0], [math.nan]), 1, **QUIET)
    assert str(caught.value).startswith("mul: output 'fc_0.tmp_0' must be free of NaN")
    assert caught.value.__notes__[-1] == "in epoch 0, step 1 of Trainer.train, counted from 0"
    assert line.w == 1 - 0.125  # a run with an error changes nothing


def test_a_loss_that_is_not_finite_may_be_let_pass():
    history = Line().trainer.train(
        feeds([math.nan]),
        3,
        stop_on_nan=False,
        early_stopping=fluid.EarlyStopping(patience=2),
        **QUIET,
    )
    assert [math.isnan(each) for each in history["loss"]] == [True, True]


def test_what_is_monitored_must_be_one_number():
    with pytest.raises(fluid.InvalidArgument) as caught:
        Small().train(1, monitor="both")
    assert re.sub(r"\[.*\]", "[...]", str(caught.value)) == (
        "Trainer.train: the metric to monitor must be one number, got [...] for 'both'; give "
        "another monitor="
    )


def test_what_a_handler_does_to_the_scope_counts():
    line = Line()

    def halve(event):
        if isinstance(event, fluid.EndEpochEvent):
            rate = fluid.global_scope().find_var("learning_rate_0").get_tensor()
            rate.set(np.array(rate) / 2)

    line.trainer.train(feeds([1.0]), 3, halve, **QUIET)
    assert line.w == 1 - 0.125 - 0.0625 - 0.03125


def test_the_docs_loop_with_a_schedule_and_an_evaluation_does_not_count_twice():
    x = layers.data("x", [6])
    y = layers.data("y", [1])
    rate = fluid.learning_rate_decay.piecewise_decay([6, 12], [0.1, 0.01, 0.001])
    loss = layers.mean(layers.square_error_cost(layers.fc(x, 1), y))
    trainer = fluid.Trainer(loss, fluid.optimizer.SGD(rate), {"rate": rate})
    loader = fluid.DataLoader({"x": X, "y": Y}, 4)
    history = trainer.train(loader, 3, evaluate=loader, **QUIET)
    assert history["rate"] == pytest.approx([0.1, 0.01, 0.001])
