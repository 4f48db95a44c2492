"""What is saved can be loaded: the same results, and the same gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from networks import NETWORKS
from op_case import assert_close
from runtimes import Array, by_reference, checked
from saved import Saved
from test_every_operator import every_type, runs

import fluidcore as fluid
from fluidcore import layers
from fluidcore.onnx import Unsupported, load
from fluidcore.onnx.writing import to_model

# These have no operators to read them: random numbers, and rows chosen at run time.
NOT_READ = {
    *("bernoulli", "multinomial", "randint", "randint_batch_size_like", "randperm"),
    *("uniform_random", "uniform_random_batch_size_like"),
    *("split_lod_tensor", "max_pool3d_with_index"),
}


@every_type
def test_an_operator_comes_back_with_the_same_results(op_type: str) -> None:
    loaded = 0
    for run in runs(op_type):
        with fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
            try:
                model = load(run.model)
            except Unsupported:
                continue
            loaded += 1
            run.compare(fluid.Executor().run(model.program, run.feed, model.fetches))
    assert (loaded > 0) != (op_type in NOT_READ)


def gradients(
    program: fluid.Program, targets: Sequence[fluid.Variable], wrt: Sequence[str], feed: object
) -> list[Array]:
    """Of the mean of the squares of the targets, by some variables."""
    block = program.global_block()
    with fluid.program_guard(program, fluid.Program()):
        cost = layers.sums([layers.mean(layers.square(target)) for target in targets])
        found = fluid.gradients([cost], [block.var(name) for name in wrt])
        return [np.array(g) for g in fluid.Executor().run(program, feed, fetch_list=found)]


@pytest.mark.parametrize("network", NETWORKS, ids=lambda build: build.__name__)
def test_a_network_comes_back_with_the_same_results_and_gradients(
    network: Callable[[], Saved],
) -> None:
    first = network()
    trained = [p.name for p in first.program.all_parameters() if not p.stop_gradient]
    shapes = {name: value.shape for name, value in first.feed.items()}
    with fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        model = load(first.model, shapes=shapes)
        got = fluid.Executor().run(model.program, first.feed, model.fetches)
        assert {p.name for p in model.program.all_parameters()} >= set(trained)
        got_gradients = gradients(model.program, model.fetches, trained, first.feed)
    for want, result in zip(first.wanted, got, strict=True):
        assert_close(result, want, 1e-5, "the result")
    test = first.program
    targets = [test.global_block().var(name) for name in first.fetches]
    wanted = gradients(test, targets, trained, first.feed)
    for name, want, gradient in zip(trained, wanted, got_gradients, strict=True):
        assert_close(gradient, want, 1e-4, f"the gradient of {name}")


@pytest.mark.parametrize("network", NETWORKS, ids=lambda build: build.__name__)
def test_a_network_that_was_loaded_can_be_saved_again(network: Callable[[], Saved]) -> None:
    first = network()
    shapes = {name: value.shape for name, value in first.feed.items()}
    with fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        model = load(first.model, shapes=shapes)
        again = checked(to_model(model.program, model.feeds, model.fetches, model.scope))
    for want, result in zip(first.wanted, by_reference(again, first.feed), strict=True):
        assert_close(result, want, 1e-5, "the result")
