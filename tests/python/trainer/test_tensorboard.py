import importlib.util
import sys
from types import SimpleNamespace

import pytest
from small_training import QUIET, Line, feeds

import fluidcore as fluid
from fluidcore.trainer import TensorBoard


class Writer:
    """What tensorboardX has, as far as it is used."""

    def __init__(self, logdir, told):
        self.told = told
        told.append(("open", logdir))

    def add_scalar(self, name, value, step):
        self.told.append((name, value, step))

    def flush(self):
        self.told.append("flush")

    def close(self):
        self.told.append("close")


@pytest.fixture
def told(monkeypatch):
    told = []
    module = SimpleNamespace(SummaryWriter=lambda logdir: Writer(logdir, told))
    monkeypatch.setitem(sys.modules, "tensorboardX", module)
    return told


def test_steps_and_epochs_are_written_and_the_file_is_closed(told):
    board = TensorBoard("runs/1")
    Line().trainer.train(feeds([2.0], [4.0]), 1, board, evaluate=feeds([0.0]), **QUIET)
    assert told == [
        ("open", "runs/1"),
        ("step/loss", 2.0, 0),
        ("step/loss", 3.0, 1),
        ("epoch/loss", 2.5, 0),
        ("epoch/val_loss", 0.0, 0),
        "flush",
        "close",
    ]
    board.close()
    assert told[-2:] == ["flush", "close"]


def test_it_is_closed_after_an_error_and_opened_again(told):
    board = TensorBoard("runs/1")
    line = Line()
    with pytest.raises(fluid.InvalidArgument):
        line.trainer.train([*feeds([2.0]), {}], 1, [board], **QUIET)
    assert told[-1] == "close"
    line.trainer.train(feeds([2.0]), 1, [board], **QUIET)
    assert told.count(("open", "runs/1")) == told.count("close") == 2
    assert repr(board) == "TensorBoard('runs/1')"


def test_an_epoch_without_numbers_opens_the_file_all_the_same(told):
    def skip(event):
        if isinstance(event, fluid.BeginStepEvent):
            event.fetch_metrics = False

    Line().trainer.train(feeds([2.0]), 1, [skip, TensorBoard("runs/1")], **QUIET)
    assert told == [("open", "runs/1"), "flush", "close"]


def test_a_missing_package_is_named_with_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ImportError) as caught:
        TensorBoard("runs/1")
    assert str(caught.value) == (
        "TensorBoard: tensorboardX must be installed, got none; run pip install "
        "'fluidcore-dl[tensorboard]'"
    )


@pytest.mark.skipif(importlib.util.find_spec("tensorboardX") is None, reason="no tensorboardX")
def test_the_real_one_writes_a_file(tmp_path):
    Line().trainer.train(feeds([2.0]), 1, TensorBoard(tmp_path), **QUIET)
    (file,) = tmp_path.glob("events.out.tfevents.*")
    assert b"epoch/loss" in file.read_bytes()
