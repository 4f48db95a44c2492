import math

import pytest

import fluidcore as fluid
from fluidcore.trainer import EpochRecord, History


def history(*losses, monitor="loss", mode="min"):
    made = History(monitor, mode)
    made.epochs = [EpochRecord(n, 2, 8, {"loss": loss}) for n, loss in enumerate(losses)]
    return made


def test_the_best_epoch_is_the_first_of_equals_and_never_nan():
    assert history(3.0, 1.0, 1.0, math.nan).best().epoch == 1
    assert history(math.nan, 3.0, 1.0, mode="max").best().epoch == 1
    assert history(3.0, 1.0, mode="max").best("loss", "min").epoch == 1


def test_a_column_is_a_metric_of_all_epochs_that_have_it():
    made = history(3.0, 1.0)
    made.epochs.append(EpochRecord(2, 2, 8, {"loss": 2.0, "val_loss": 5.0}))
    assert made["loss"] == [3.0, 1.0, 2.0]
    assert made["val_loss"] == [5.0]
    assert len(made) == 3


def test_what_is_not_there_is_an_error():
    with pytest.raises(fluid.NotFound) as caught:
        history(1.0)["lss"]
    assert str(caught.value) == (
        "History: no metric 'lss' in 1 epochs; they have: loss; did you mean 'loss'?"
    )
    with pytest.raises(fluid.NotFound) as caught:
        history(math.nan).best()
    assert str(caught.value) == (
        "History.best: there must be an epoch with a number for 'loss', got none in 1 epochs"
    )
    with pytest.raises(fluid.InvalidArgument) as caught:
        history(1.0).best(mode="least")
    assert str(caught.value) == "History.best: mode must be 'min' or 'max', got 'least'"


def test_it_says_what_it_is():
    made = history(1.0)
    made.steps, made.stopped = 2, "stop"
    assert repr(made) == "History(1 epochs, 2 steps, last {'loss': 1.0}, stopped by stop)"
