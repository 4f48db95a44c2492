"""Ranks that are about to run different programs find out before anything runs."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers
from fluidcore.optimizer import SGD


def on_two_ranks(make):
    """What each of two ranks raises."""

    def run(communicator):
        try:
            make(communicator)
        except Exception as error:
            return error
        return None

    return fluid.parallel.run_in_threads(2, run)


def minimized(communicator, width=2, loss_of=layers.mean):
    x = layers.data("x", [3])
    loss = loss_of(layers.fc(x, width))
    fluid.parallel.DistributedOptimizer(SGD(0.1), communicator).minimize(loss)
    exe = fluid.Executor(communicator=communicator)
    exe.run(fluid.default_startup_program())
    return exe, loss


def test_layers_of_different_widths():
    errors = on_two_ranks(lambda ranks: minimized(ranks, width=2 + ranks.rank))
    for error in errors:
        assert isinstance(error, fluid.InvalidArgument)
        assert "all ranks must run the same program, got in rank 1 another one than" in str(error)
        assert "variable 'fc_0.w_0' with shape [3, 3] in place of [3, 2]" in str(error)


def test_a_loss_that_ranks_disagree_about():
    def make(ranks):
        exe, loss = minimized(ranks, loss_of=(layers.mean, layers.reduce_sum)[ranks.rank])
        exe.run(feed={"x": np.ones((2, 3), np.float32)}, fetch_list=[loss])

    for error in on_two_ranks(make):
        assert "reduce_sum in place of mean" in str(error)


def test_different_fetches():
    def make(ranks):
        exe, loss = minimized(ranks)
        exe.run(feed={"x": np.ones((2, 3), np.float32)}, fetch_list=[loss] * ranks.rank)

    for error in on_two_ranks(make):
        assert "fetches ['mean_0.tmp_0'] in place of []" in str(error)


def test_programs_without_collective_operators_may_differ():
    def make(ranks):
        x = layers.data("x", [3])
        exe = fluid.Executor(communicator=ranks)
        if ranks.rank == 0:
            exe.run(feed={"x": np.ones((2, 3), np.float32)}, fetch_list=[layers.mean(x)])

    assert on_two_ranks(make) == [None, None]


def test_a_parameter_that_was_made_after_the_transformation():
    def make(ranks):
        minimized(ranks)
        SGD(0.1).minimize(layers.mean(layers.fc(layers.data("z", [3]), 1)))
        exe = fluid.Executor(communicator=ranks)
        exe.run(feed={name: np.ones((2, 3), np.float32) for name in "xz"})

    for error in on_two_ranks(make):
        assert isinstance(error, fluid.InvalidArgument)
        assert "got that of one rank for ['fc_1.w_0', 'fc_1.b_0']" in str(error)


def test_the_error_of_one_rank_reaches_the_others():
    def make(ranks):
        exe, loss = minimized(ranks)
        width = 3 + ranks.rank
        exe.run(feed={"x": np.ones((2, width), np.float32)}, fetch_list=[loss])

    first, second = on_two_ranks(make)
    assert isinstance(first, fluid.RankFailed)
    assert "rank 1 has failed: " in str(first)
    assert isinstance(second, fluid.InvalidArgument)


@pytest.mark.parametrize("wrong", [0, "world", None])
def test_a_communicator_that_is_none(wrong):
    if wrong is not None:
        with pytest.raises(TypeError, match="communicator must be a Communicator or None"):
            fluid.Executor(communicator=wrong)
    with pytest.raises(TypeError, match="communicator must be a Communicator, got"):
        fluid.parallel.DistributedOptimizer(SGD(0.1), wrong)
