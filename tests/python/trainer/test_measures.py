import pytest
from small_training import Line

import fluidcore as fluid
from fluidcore import layers
from fluidcore.program import Program, program_guard


def measured(metrics):
    x = layers.data("x", [3])
    loss = layers.mean(x)
    return fluid.Trainer(loss, metrics=metrics(x) if callable(metrics) else metrics)


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        (
            {"loss": 1},
            "Trainer: a name in metrics must not be 'loss' nor begin with 'val_', which are those "
            "of the trainer itself, got 'loss'",
        ),
        (
            lambda x: {"x": x},
            "Trainer: metric 'x' must be one number, got 'x' [-1, 3]; take its mean, "
            "layers.mean(...)",
        ),
    ],
)
def test_a_metric_that_cannot_be_is_refused(metrics, message):
    with pytest.raises(fluid.InvalidArgument) as caught:
        measured(metrics)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ({"a": 3}, "Trainer: metric 'a' must be a Variable, got int 3"),
        ({3: 3}, "Trainer: a name in metrics must be a str, got int 3"),
        (
            {"a": fluid.metrics.Auc()},
            "Trainer: metric 'a' must be a Variable, got Auc Auc('Auc'); write (metric, [variables "
            "that it is updated with])",
        ),
        (
            lambda x: {"a": (fluid.metrics.Auc("b"), ["x"])},
            "Trainer: metric 'a' must be given Variables, got 'x'",
        ),
        (
            {"a": (1, 2)},
            "Trainer: metric 'a' must be a Variable, or a metric of fluid.metrics with the "
            "Variables that it is updated with, (metric, [...]), got (1, 2)",
        ),
    ],
)
def test_a_metric_of_another_type_is_refused(metrics, message):
    with pytest.raises(TypeError) as caught:
        measured(metrics)
    assert str(caught.value) == message


def test_a_metric_of_another_program_is_refused():
    with program_guard(Program()):
        other = layers.mean(layers.data("z", [1]))
    with pytest.raises(fluid.InvalidArgument) as caught:
        measured({"other": other})
    assert str(caught.value) == (
        "Trainer: metric 'other': the Variables must belong to the program or to one that it is a "
        "clone of, got 'mean_0.tmp_0' of another one; write 'mean_0.tmp_0' if the variable of this "
        "name is meant"
    )


def test_a_loss_must_be_one_floating_number():
    x, label = layers.data("x", [3]), layers.data("n", [1], dtype="int64")
    with pytest.raises(fluid.InvalidArgument) as caught:
        fluid.Trainer(x)
    assert str(caught.value) == (
        "Trainer: loss must be one number, got 'x' [-1, 3]; take its mean, layers.mean(...)"
    )
    with pytest.raises(fluid.InvalidArgument) as caught:
        fluid.Trainer(layers.reduce_sum(label))
    assert str(caught.value).startswith("Trainer: loss must be floating, got Variable(")


def test_the_metric_that_is_given_is_not_changed():
    auc = fluid.metrics.Auc()
    line = Line()
    p = layers.sigmoid(line.x)
    label = layers.cast(layers.greater_than(line.x, -line.x), "float32")
    trainer = fluid.Trainer(line.loss, metrics={"auc": (auc, [p, label])})
    assert trainer.evaluate([{"x": [[1.0], [-1.0]]}])["auc"] == 1.0
    with pytest.raises(fluid.InvalidArgument):
        auc.eval()


def test_an_error_of_a_metric_over_batches_names_the_metric():
    line = Line()
    trainer = fluid.Trainer(line.loss, metrics={"auc": (fluid.metrics.Auc(), [line.x, line.x])})
    with pytest.raises(fluid.InvalidArgument) as caught:
        trainer.evaluate([{"x": [[7.0]]}])
    assert caught.value.__notes__[-2:] == [
        "in metric 'auc' of the Trainer, updated with ['x', 'x']",
        "in batch 0 of Trainer.evaluate: loader",
    ]
    with pytest.raises(fluid.InvalidArgument, match="both classes") as caught:
        trainer.evaluate([{"x": [[1.0]]}])
    assert caught.value.__notes__ == ["in metric 'auc' of the Trainer"]
