import numpy as np
import pytest
from small_training import QUIET, X, Y, feeds

import fluidcore as fluid
from fluidcore import layers
from fluidcore.trainer.startup import initialize_missing, updates


def line_in(main, startup):
    with fluid.program_guard(main, startup):
        x = layers.data("x", [1])
        return layers.mean(layers.fc(x, 1, param_attr="w", bias_attr="b"))


def test_only_what_has_no_value_is_initialized():
    main, startup, scope = fluid.Program(), fluid.Program(), fluid.Scope()
    line_in(main, startup)
    executor = fluid.Executor()
    scope.var("b").get_tensor().set(np.full(1, 7, np.float32))
    assert initialize_missing(main, startup, executor, scope) == ["w"]
    assert scope.find_var("b").get_tensor().get_float_element(0) == 7
    assert initialize_missing(main, startup, executor, scope) == []


def test_a_startup_program_of_another_program_is_refused():
    main, startup = fluid.Program(), fluid.Program()
    trainer = fluid.Trainer(line_in(main, startup), fluid.optimizer.SGD(0.1))
    with pytest.raises(fluid.InvalidArgument) as caught:
        trainer.train(feeds([1.0]), 1, **QUIET)
    assert str(caught.value) == (
        "Trainer: the startup program must initialize all variables that live between runs, got "
        "one without ['w', 'b']; give startup_program="
    )


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda: fluid.amp.decorate(fluid.optimizer.Adam(0.05)),
        lambda: fluid.optimizer.GradientAccumulation(fluid.optimizer.Adam(0.05), steps=2),
    ],
    ids=["amp", "accumulation"],
)
def test_optimizers_that_wrap_others_train_and_are_seen_to_update(optimizer):
    x, y = layers.data("x", [6]), layers.data("y", [1])
    loss = layers.mean(layers.square_error_cost(layers.fc(x, 1), y))
    trainer = fluid.Trainer(loss, optimizer())
    assert updates(trainer.program)
    assert not updates(trainer.test_program)
    loader = fluid.DataLoader({"x": X, "y": Y}, 4)
    history = trainer.train(loader, 8, evaluate=loader, **QUIET)
    assert history["val_loss"][-1] < history["val_loss"][0]
