"""Variables of loops and branches that gradients do not pass."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from backward_programs import Built

import fluidcore as fluid
from fluidcore import core, layers
from fluidcore.gradcheck import GradCheckReport, GradientChecker, Verdict
from fluidcore.gradcheck.adapters.program import program_target
from fluidcore.gradcheck.program.replayed_values import REPLAYED, frozen_sites

X = np.array([[0.5, 1.0, -1.0], [0.25, 2.0, 1.5]], np.float32)


def _x() -> fluid.Variable:
    return layers.data("x", [2, 3], append_batch_size=False, stop_gradient=False)


def _stopped(x: fluid.Variable) -> fluid.Variable:
    y = layers.tanh(x)
    y.stop_gradient = True
    return y


def _step(p: fluid.Variable) -> fluid.Variable:
    q = _stopped(p)
    return p * q + q


def loop() -> fluid.Variable:
    """Another value in each of three steps."""
    y, _ = layers.while_loop(lambda p, i: i < 3, lambda p, i: (_step(p), i + 1), [_x(), 0])
    return layers.reduce_sum(y * y)


def branch() -> fluid.Variable:
    """In one of two branches."""
    x = _x()
    y = layers.cond(layers.reduce_sum(x) > 0.0, lambda: _step(x), lambda: x * x)
    return layers.reduce_sum(y)


def branch_in_loop() -> fluid.Variable:
    """In a branch that only some steps of a loop run."""

    def body(p: fluid.Variable, i: fluid.Variable) -> tuple[fluid.Variable, fluid.Variable]:
        return layers.cond(i < 2, lambda: _step(p), lambda: layers.sin(p)), i + 1

    y, _ = layers.while_loop(lambda p, i: i < 4, body, [_x(), 0])
    return layers.reduce_sum(y)


def recurrent() -> fluid.Variable:
    """In the step block of a recurrent network."""
    xs = layers.data("x", [2, 3], append_batch_size=False, stop_gradient=False)
    w = layers.create_parameter([3], "float32", "w")
    first = layers.scale(w, scale=0.5)
    rnn = layers.StaticRNN()
    with rnn.step():
        x = rnn.step_input(xs)
        h = rnn.memory(init=first)
        new = layers.tanh(x * w + h * _stopped(h))
        rnn.update_memory(h, new)
        rnn.step_output(new)
    return layers.reduce_sum(rnn())


MODELS = [loop, branch, branch_in_loop, recurrent]


def made(model: Callable[[], fluid.Variable], with_gradients: bool) -> Built:
    main, startup, scope = fluid.Program(), fluid.Program(), fluid.Scope()
    startup.random_seed = 5
    with (
        fluid.program_guard(main, startup),
        fluid.unique_name.guard(),
        fluid.scope_guard(scope),
    ):
        loss = model()
        if with_gradients:
            names = [p.name for p in main.all_parameters()]
            fluid.gradients(loss, [main.global_block().var(name) for name in ["x", *names]])
        fluid.Executor().run(startup)
    return Built(main, loss.name, scope, {"x": X})


def checked(built: Built, **settings: Any) -> GradCheckReport:
    return GradientChecker().check_program(
        built.program,
        built.feed,
        built.loss,
        scope=built.scope,
        raise_exception=False,
        **settings,
    )


@pytest.mark.parametrize("with_gradients", [False, True])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_what_gradients_do_not_pass_in_a_block_is_a_constant(
    model: Callable[[], fluid.Variable], with_gradients: bool
) -> None:
    built = made(model, with_gradients)
    text = str(built.program)
    report = checked(built)
    assert report, str(report)
    assert str(built.program) == text


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_wrong_gradient_beside_such_a_constant_is_found_and_named(
    model: Callable[[], fluid.Variable],
) -> None:
    built = made(model, True)
    desc = built.program.desc
    wrong = [
        (index, op)
        for index in range(1, desc.num_blocks())
        for op in desc.block(index).ops()
        if op.type() == "elementwise_mul_grad" and op.input("Y")[0].startswith("tanh")
    ]
    index, op = wrong[0]
    op.set_input("X", op.input("Out@GRAD"))
    op.set_input("Y", op.input("Out@GRAD"))
    report = checked(built)
    assert report.verdict is Verdict.FAIL
    assert report.culprit is not None
    assert (report.culprit.block, report.culprit.op_type) == (index, "elementwise_mul_grad"), str(
        report
    )


def test_masks_that_only_gradients_read_and_what_does_not_move_are_left_alone() -> None:
    def with_dropout() -> fluid.Variable:
        def body(p: Any, i: Any) -> Any:
            still = layers.fill_constant([1], "float32", 2.0)
            return layers.dropout(p, 0.5, seed=3) * still, i + 1

        y, _ = layers.while_loop(lambda p, i: i < 3, body, [_x(), 0])
        return layers.reduce_sum(y)

    built = made(with_dropout, False)
    assert frozen_sites(built.program.desc, [built.loss], ["x"], set()) == []
    assert checked(built)


def test_programs_without_such_variables_are_not_changed() -> None:
    built = made(lambda: layers.reduce_sum(layers.tanh(_x())), False)
    target = program_target(built.program, built.feed, built.loss, scope=built.scope)
    assert not any(name.startswith(REPLAYED) for name in target.values)
    assert isinstance(target.program.desc, core.ProgramDesc)
