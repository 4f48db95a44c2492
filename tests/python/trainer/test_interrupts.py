import signal
import threading

import pytest
from small_training import QUIET, Line, feeds

import fluidcore as fluid


def pressing(line, told, kind=fluid.BeginStepEvent, times=1):
    """A handler that presses Ctrl-C in the second step, and tells what comes."""

    def handler(event):
        told.append((type(event).__name__, getattr(event, "step", None)))
        if isinstance(event, kind) and getattr(event, "step", 1) == 1:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)

    return handler


def test_ctrl_c_waits_for_the_end_of_the_step_and_makes_a_checkpoint(tmp_path):
    line, told = Line(), []
    with pytest.raises(KeyboardInterrupt) as caught:
        line.trainer.train(
            feeds([1.0], [1.0], [1.0]),
            2,
            pressing(line, told),
            checkpoint_dir=tmp_path,
            checkpoint_on_interrupt=True,
            **QUIET,
        )
    assert told[-1] == ("EndStepEvent", 1)
    assert line.w == 1 - 2 * 0.125
    assert fluid.checkpoint.steps(tmp_path) == [2]
    assert caught.value.__notes__ == [f"Trainer.train: the checkpoint of step 2 is in {tmp_path}"]
    assert line.trainer.history.stopped == "interrupt"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_does_not_wait(tmp_path):
    line, told = Line(), []
    with pytest.raises(KeyboardInterrupt):
        line.trainer.train(
            feeds([1.0], [1.0], [1.0]),
            2,
            pressing(line, told, times=2),
            checkpoint_dir=tmp_path,
            checkpoint_on_interrupt=True,
            **QUIET,
        )
    assert told[-1] == ("BeginStepEvent", 1)
    assert fluid.checkpoint.steps(tmp_path) == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_without_the_option_ctrl_c_ends_at_once():
    line, told = Line(), []
    with pytest.raises(KeyboardInterrupt):
        line.trainer.train(feeds([1.0], [1.0]), 2, pressing(line, told), **QUIET)
    assert told[-1] == ("BeginStepEvent", 1)
    assert line.trainer.history.stopped == "interrupt"


def test_ctrl_c_at_the_very_end_is_not_lost(tmp_path):
    line = Line()
    with pytest.raises(KeyboardInterrupt):
        line.trainer.train(
            feeds([1.0]),
            1,
            pressing(line, [], kind=fluid.EndEpochEvent),
            checkpoint_dir=tmp_path,
            checkpoint_on_interrupt=True,
            **QUIET,
        )
    assert len(line.trainer.history) == 1
    assert fluid.checkpoint.best(tmp_path) == 1


def test_a_handler_of_the_users_own_stays(tmp_path):
    line, pressed = Line(), []
    before = signal.signal(signal.SIGINT, lambda *_: pressed.append(1))
    try:
        history = line.trainer.train(
            feeds([1.0], [1.0]),
            1,
            pressing(line, []),
            checkpoint_dir=tmp_path,
            checkpoint_on_interrupt=True,
            **QUIET,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    assert (pressed, history.stopped) == ([1], None)


def test_it_trains_in_other_threads_too(tmp_path):
    line, found = Line(scope=fluid.Scope()), []
    options = {"checkpoint_dir": tmp_path, "checkpoint_on_interrupt": True, **QUIET}
    thread = threading.Thread(
        target=lambda: found.append(line.trainer.train(feeds([1.0]), 2, **options))
    )
    thread.start()
    thread.join()
    assert found[0].steps == 2
