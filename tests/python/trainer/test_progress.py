import io
import re

import pytest
from small_training import Line, Small, feeds

from fluidcore.trainer.progress import Bars, Lines, Silence, display


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    """A second has gone at each look."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        self.now += 1.0
        return self.now


def shown(made):
    for epoch in range(2):
        made.begin_epoch(epoch, 10, 0, 2)
        made.step({"loss": 0.5}, 100)
        made.step({"loss": 0.25}, 100)
        made.end_steps()
        made.end_epoch({"loss": 0.375, "val_auc": 0.98765432, "both": [1, 2]})
    made.close()


def test_a_line_says_metrics_and_rate():
    out = io.StringIO()
    shown(Lines(out, Clock()))
    assert out.getvalue() == (
        "epoch  1/10   loss 0.375   val_auc 0.9877   200 samples/s\n"
        "epoch  2/10   loss 0.375   val_auc 0.9877   200 samples/s\n"
    )


@pytest.mark.usefixtures("no_thread_remains")
def test_a_terminal_gets_a_bar_with_loss_rate_and_remaining_time_and_keeps_the_lines(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    out = Terminal()
    shown(Bars(out, Clock()))
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", out.getvalue())
    assert "epoch  1/10   loss 0.375   val_auc 0.9877   67 samples/s" in text
    assert "2/2 loss 0.25   100 samples/s" in text


def test_what_is_shown_depends_on_where_the_output_goes():
    assert type(display(True, Terminal())) is Bars
    assert type(display(True, io.StringIO())) is Lines
    assert type(display(False, Terminal())) is Silence


def test_without_an_output_nothing_is_shown(monkeypatch):
    monkeypatch.setattr("sys.stdout", None)
    assert len(Line().trainer.train(feeds([2.0]), 2)) == 2


def test_a_training_prints_a_line_for_each_epoch_where_there_is_no_terminal(capsys):
    Line().trainer.train(feeds([2.0]), 2)
    lines = capsys.readouterr().out.splitlines()
    assert [re.sub(r"[\d,]+ samples", "N samples", each) for each in lines] == [
        "epoch 1/2   loss 2   N samples/s",
        "epoch 2/2   loss 1.5   N samples/s",
    ]


def test_progress_can_be_silent(capsys):
    Small().train(1)
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("no_thread_remains")
def test_an_error_removes_the_bar(monkeypatch):
    out = Terminal()
    monkeypatch.setattr("sys.stdout", out)
    with pytest.raises(LookupError):
        Line().trainer.train(feeds([2.0]), 2, lambda event: {}["no"])
