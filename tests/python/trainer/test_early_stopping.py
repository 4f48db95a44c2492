import pytest
from small_training import QUIET, Line, feeds

import fluidcore as fluid
from fluidcore.trainer.early_stopping import Patience


def waited(costs, **options):
    patience = Patience(fluid.EarlyStopping(**options))
    for number, cost in enumerate(costs):
        if patience.is_over:
            return number
        patience.see(cost)
    return None


def test_it_waits_for_an_improvement():
    assert waited([5, 4, 4, 4, 3], patience=2) == 4
    assert waited([5, 4, 4, 3, 3, 2], patience=2) is None
    assert waited([5, 4.5, 4.2, 4], patience=2, min_delta=1) == 3
    assert waited([None, None, 1], patience=2) == 2
    assert waited([None, 2, 1], patience=2) is None


def test_a_training_that_gets_no_better_ends():
    line = Line()  # w x falls with every step
    options = {"early_stopping": fluid.EarlyStopping(patience=2), **QUIET}
    assert line.trainer.train(feeds([1.0]), 4, **options).stopped is None
    history = line.trainer.train(feeds([1.0]), 9, mode="max", **options)
    assert (len(history), history.stopped) == (3, "early_stopping")
    assert history.best().epoch == 0


def test_the_evaluation_is_what_counts():
    history = Line().trainer.train(
        feeds([1.0]),
        9,
        evaluate=feeds([0.0]),
        early_stopping=fluid.EarlyStopping(patience=1),
        **QUIET,
    )
    assert (len(history), history.monitor) == (2, "val_loss")


def test_settings_that_cannot_be_are_refused():
    with pytest.raises(fluid.InvalidArgument) as caught:
        fluid.EarlyStopping(patience=0)
    assert str(caught.value) == (
        "EarlyStopping: patience must be a whole number of at least 1, got 0"
    )
    with pytest.raises(ValueError, match="EarlyStopping: min_delta must be at least 0, got -1"):
        fluid.EarlyStopping(patience=1, min_delta=-1)
    assert repr(fluid.EarlyStopping(2, 0.5)) == "EarlyStopping(patience=2, min_delta=0.5)"
