import numpy as np
import pytest
from small_training import QUIET, Line, Small, X, Y, feeds

import fluidcore as fluid
from fluidcore import layers


def test_it_does_what_the_loop_by_hand_does_bit_for_bit():
    small = Small()
    history = small.train(3)
    by_hand = Small()
    executor, scope = fluid.Executor(), fluid.Scope()
    executor.run(by_hand.startup, scope=scope)
    for epoch in range(3):
        total = count = 0
        for batch in by_hand.loader:
            (loss,) = executor.run(by_hand.main, batch, [by_hand.loss], scope)
            total += loss.item() * len(batch["x"])
            count += len(batch["x"])
        assert history["loss"][epoch] == total / count
    for name, value in small.values().items():
        assert np.array(scope.find_var(name).get_tensor()).tolist() == value


def test_the_history_has_the_metrics_of_every_epoch():
    small = Small()
    history = small.train(2)
    assert history is small.trainer.history
    assert [(each.epoch, each.steps, each.samples) for each in history.epochs] == [
        (0, 6, 22),
        (1, 6, 22),
    ]
    names = ["loss", "size", "auc", "both", "val_loss", "val_size", "val_auc", "val_both"]
    assert list(history.epochs[0].metrics) == names
    assert all(len(history[name]) == 2 for name in names)
    assert (history.steps, history.stopped) == (12, None)


def test_an_evaluation_is_weighted_by_samples_and_changes_nothing():
    small = Small()
    small.train(1)
    before = small.values()
    found = small.trainer.evaluate(small.tests)
    (logit, loss) = small.trainer.executor.run(
        small.trainer.test_program,
        {"x": X[:9], "y": Y[:9]},
        [small.logit, small.loss],
        small.trainer.scope,
    )
    assert found["loss"] == pytest.approx(loss.item(), rel=1e-5)
    assert found["size"] == pytest.approx(np.abs(logit).mean(), rel=1e-5)
    auc = fluid.metrics.Auc(num_thresholds=15)
    auc.update(1 / (1 + np.exp(-logit)), Y[:9])
    assert found["auc"] == auc.eval()
    assert small.values() == before


def test_the_program_for_tests_is_the_one_before_minimize():
    small = Small()
    types = [op.type for op in small.trainer.test_program.global_block().ops]
    assert types[:3] == ["mul", "elementwise_add", "batch_norm"]
    assert not any("grad" in each or each == "adam" for each in types)
    dropout = next(op for op in small.trainer.test_program.global_block().ops if "drop" in op.type)
    assert dropout.attr("is_test") is True


def test_a_program_that_updates_its_parameters_already_is_evaluated_without_updates():
    small = Small()
    again = fluid.Trainer(
        small.loss,
        metrics={"size": small.size},
        startup_program=small.startup,
        scope=small.trainer.scope,
    )
    ours, given = (
        [op.type for op in each.test_program.global_block().ops] for each in (again, small.trainer)
    )
    assert ours == [each for each in given if each != "sigmoid"]  # which only other metrics read
    again.train(small.loader, 1, **QUIET)
    batches = [{"x": X[:5], "y": Y[:5]}, {"x": X[5:], "y": Y[5:]}]
    found = small.trainer.evaluate(batches)
    assert again.evaluate(batches) == {name: found[name] for name in ("loss", "size")}


def test_what_only_the_training_needs_may_be_fed_to_an_evaluation():
    x, unused = layers.data("x", [1]), layers.data("unused", [1])
    loss = layers.mean(layers.fc(x, 1))
    fluid.optimizer.SGD(0.1).minimize(loss)
    trainer = fluid.Trainer(loss)
    one = np.ones((2, 1), np.float32)
    assert unused.name not in trainer.test_program.global_block().vars
    assert "loss" in trainer.evaluate([{"x": one, "unused": one}])
    with pytest.raises(fluid.NotFound) as caught:
        trainer.evaluate([{"x": one, "unusd": one}])
    assert str(caught.value).startswith("feed: no variable 'unusd' in the program")
    assert caught.value.__notes__[-1] == "in batch 0 of Trainer.evaluate: loader"


def test_what_has_a_value_keeps_it():
    line = Line()
    fluid.global_scope().var("w").get_tensor().set(np.full((1, 1), 5, np.float32))
    line.trainer.train(feeds([2.0]), 1, **QUIET)
    assert line.w == 5 - 0.125 * 2


def test_a_second_training_goes_on_with_the_values_and_counts_anew():
    line = Line()
    first = line.trainer.train(feeds([2.0]), 1, **QUIET)
    second = line.trainer.train(feeds([2.0]), 1, **QUIET)
    assert (first["loss"], second["loss"]) == ([2.0], [1.5])
    assert second.epochs[0].epoch == 0
    assert line.w == 0.5


def test_the_mean_of_an_epoch_counts_samples_not_batches():
    history = Line().trainer.train(feeds([4.0, 4.0, 4.0], [8.0]), 1, **QUIET)
    assert history["loss"] == [(3 * 4.0 + 1 * 4.0) / 4]  # w is 0.5 in the second step


def test_a_function_counts_the_samples():
    line = Line(samples=lambda feed: 3)
    assert line.trainer.train(feeds([4.0], [8.0]), 1, **QUIET).epochs[0].samples == 6


def test_a_program_may_be_a_clone_of_that_of_the_loss():
    x = layers.data("x", [1])
    loss = layers.mean(layers.fc(x, 1))
    clone = fluid.default_main_program().clone()
    trainer = fluid.Trainer(loss, fluid.optimizer.SGD(0.1), program=clone)
    assert trainer.loss.block.program is clone
    assert len(fluid.default_main_program().global_block().ops) == 3
    assert len(trainer.train(feeds([1.0]), 2, **QUIET)) == 2


def test_it_says_what_it_is():
    assert repr(Line().trainer) == (
        "Trainer('mean_0.tmp_0', metrics=[], Program(1 blocks, 6 operators))"
    )


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        (
            {"loss": "mean_0.tmp_0"},
            TypeError,
            "Trainer: loss must be a Variable, got str 'mean_0.tmp_0'",
        ),
        (
            {"optimizer": 0.1},
            TypeError,
            "Trainer: optimizer must have minimize(loss), got 0.1",
        ),
        ({"program": 3}, TypeError, "Trainer: program must be a Program, got int"),
        ({"executor": 3}, TypeError, "Trainer: executor must be an Executor, got int"),
        ({"samples": 3}, TypeError, "Trainer: samples must be a function, got 3"),
        ({"metrics": [1]}, TypeError, "Trainer: metrics must map names to Variables, got list"),
    ],
)
def test_an_argument_of_another_type_is_refused(change, kind, message):
    loss = layers.mean(layers.fc(layers.data("x", [1]), 1))
    with pytest.raises(kind) as caught:
        fluid.Trainer(**{"loss": loss, "optimizer": fluid.optimizer.SGD(0.1), **change})
    assert str(caught.value) == message
    assert len(fluid.default_main_program().global_block().ops) == 3


def test_a_program_that_is_minimized_twice_is_refused():
    line = Line()
    with pytest.raises(fluid.InvalidArgument) as caught:
        fluid.Trainer(line.loss, fluid.optimizer.SGD(0.1))
    assert str(caught.value) == (
        "Trainer: a program that an optimizer is given for must not update its parameters yet, got "
        "sgd of 'w'; leave out optimizer=, or the call of minimize"
    )


def test_a_program_that_updates_nothing_can_be_evaluated_and_not_trained():
    trainer = fluid.Trainer(layers.mean(layers.fc(layers.data("x", [1]), 1)))
    assert list(trainer.evaluate(feeds([1.0]))) == ["loss"]
    with pytest.raises(fluid.InvalidArgument) as caught:
        trainer.train(feeds([1.0]), 1)
    assert str(caught.value) == (
        "Trainer.train: the program must update its parameters, got one without an operator that "
        "does; give optimizer= to the Trainer"
    )


def test_it_is_not_trained_within_a_training():
    line = Line()
    with pytest.raises(fluid.InvalidArgument) as caught:
        line.trainer.train(
            feeds([1.0]), 1, lambda event: line.trainer.train(feeds([1.0]), 1), **QUIET
        )
    assert str(caught.value) == (
        "Trainer.train: must not be called while it runs, got a call from an event handler or "
        "another thread"
    )
    line.trainer.stop()  # does nothing outside
    assert len(line.trainer.train(feeds([1.0]), 1, **QUIET)) == 1
