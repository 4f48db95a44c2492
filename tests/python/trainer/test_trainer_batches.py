import numpy as np
import pytest
from small_training import QUIET, Line, feeds

import fluidcore as fluid
from fluidcore import layers


def reader():
    yield (np.float32(1),)
    yield (np.float32(3),)
    yield (np.float32(5),)


def test_a_reader_of_fluid_is_fed_by_a_feeder():
    line = Line()
    trainer = fluid.Trainer(line.loss, feeder=fluid.DataFeeder([line.x]))
    history = trainer.train(fluid.batch(reader, 2), 2, evaluate=feeds([1.0]), **QUIET)
    assert [each.samples for each in history.epochs] == [3, 3]
    assert [each.steps for each in history.epochs] == [2, 2]


@pytest.mark.parametrize(
    ("loader", "message"),
    [
        (
            {"x": 1},
            "Trainer.train: loader must be a DataLoader, an iterable of dicts, or a reader, got "
            "dict; write [batch] for one batch",
        ),
        (
            3,
            "Trainer.train: loader must be a DataLoader, an iterable of dicts, or a reader, got "
            "int",
        ),
        (
            [(1, 2)],
            "Trainer.train: loader must give dicts of what is fed, got tuple; give "
            "feed_list=[...] to the DataLoader, or feeder=fluid.DataFeeder([...]) to the Trainer "
            "of a reader",
        ),
    ],
)
def test_a_loader_of_something_else_is_refused(loader, message):
    with pytest.raises(TypeError) as caught:
        Line().trainer.train(loader, 1, **QUIET)
    assert str(caught.value) == message


def test_a_loader_without_batches_is_refused():
    line = Line()
    with pytest.raises(fluid.InvalidArgument) as caught:
        line.trainer.train([], 1, **QUIET)
    assert str(caught.value) == (
        "Trainer.train: loader must give a batch in every epoch, got none in epoch 0"
    )
    with pytest.raises(fluid.InvalidArgument) as caught:
        line.trainer.train(iter(feeds([1.0])), 2, **QUIET)
    assert str(caught.value) == (
        "Trainer.train: loader must give a batch in every epoch, got none in epoch 1; an iterator "
        "can be gone through once, give a list or a DataLoader"
    )
    with pytest.raises(fluid.InvalidArgument) as caught:
        line.trainer.train(feeds([1.0]), 1, evaluate=[], **QUIET)
    assert str(caught.value) == "Trainer.train: evaluate must give a batch, got none"
    with pytest.raises(fluid.InvalidArgument) as caught:
        line.trainer.evaluate([])
    assert str(caught.value) == "Trainer.evaluate: loader must give a batch, got none"


def test_a_batch_that_lacks_a_variable_is_an_error_that_names_the_step():
    line = Line()
    before = line.trainer.train(feeds([1.0]), 1, **QUIET)
    w = line.w
    with pytest.raises(fluid.InvalidArgument, match="'x' must be fed") as caught:
        line.trainer.train([feeds([0.0])[0], {}], 1, **QUIET)
    assert caught.value.__notes__[-1] == "in epoch 0, step 1 of Trainer.train, counted from 0"
    assert line.w == w
    assert len(before) == 1
    assert line.trainer.history.steps == 1


def test_batches_whose_samples_cannot_be_counted_are_refused():
    x, z = layers.data("x", [1]), layers.data("z", [1])
    trainer = fluid.Trainer(layers.mean(x) + layers.mean(z))
    batch = {"x": [[1.0]], "z": [[1.0], [2.0]]}
    with pytest.raises(fluid.InvalidArgument) as caught:
        trainer.evaluate([batch])
    assert str(caught.value) == (
        "Trainer: the first extents of what is fed, the number of samples, must be equal, got "
        "{'x': 1, 'z': 2}; give Trainer(..., samples=lambda feed: ...), which counts them"
    )


def test_tensors_have_samples_too_and_what_has_a_fixed_extent_none():
    x = layers.data("x", [1])
    fixed = layers.data("fixed", [2], append_batch_size=False)
    trainer = fluid.Trainer(layers.mean(x) + layers.mean(fixed))
    tensor = fluid.Tensor()
    tensor.set(np.array([[1.0], [4.0], [4.0]], np.float32))
    one = {"x": [[1.0]], "fixed": [0.0, 0.0]}
    assert trainer.evaluate([one, {**one, "x": tensor}])["loss"] == 10 / 4
