import pytest
from small_training import Line, feeds

import fluidcore as fluid


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        (
            {"epochs": 0},
            fluid.InvalidArgument,
            "Trainer.train: epochs must be a whole number of at least 1, got 0",
        ),
        (
            {"epochs": 1.5},
            TypeError,
            "Trainer.train: epochs must be a whole number of at least 1, got float 1.5",
        ),
        (
            {"checkpoint_every": 0},
            fluid.InvalidArgument,
            "Trainer.train: checkpoint_every must be a whole number of at least 1, got 0",
        ),
        (
            {"resume": True},
            fluid.InvalidArgument,
            "Trainer.train: resume must come with a checkpoint_dir, got none",
        ),
        (
            {"checkpoint_on_interrupt": True},
            fluid.InvalidArgument,
            "Trainer.train: checkpoint_on_interrupt must come with a checkpoint_dir, got none",
        ),
        (
            {"early_stopping": 3},
            TypeError,
            "Trainer.train: early_stopping must be an EarlyStopping, got 3; write "
            "fluid.EarlyStopping(patience=...)",
        ),
        (
            {"event_handler": 3},
            TypeError,
            "Trainer.train: event_handler must be a function of an event, or a list of them, got 3",
        ),
        (
            {"monitor": "val_loss"},
            fluid.NotFound,
            "Trainer.train: monitor must be a metric, got 'val_loss'; there are: loss; did you "
            "mean 'loss'?",
        ),
        (
            {"mode": "least"},
            fluid.InvalidArgument,
            "Trainer.train: mode must be 'min' or 'max', got 'least'",
        ),
    ],
)
def test_an_option_that_cannot_be_is_refused_before_anything_runs(options, kind, message):
    line = Line()
    with pytest.raises(kind) as caught:
        line.trainer.train(feeds([1.0]), **{"epochs": 1, **options})
    assert str(caught.value) == message
    assert fluid.global_scope().find_var("w") is None
    assert line.trainer.history is None
