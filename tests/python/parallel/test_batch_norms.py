"""Batch norms with the statistics of all ranks."""

import numpy as np
import pytest
from ranked_training import alone, assert_alike, on_ranks

import fluidcore as fluid
from fluidcore import core, layers
from fluidcore.gradcheck import Verdict
from fluidcore.optimizer import SGD, Adam

TWO = core.thread_group(2)[0]
SYNC = {"sync_batch_norm": True}
X = np.random.default_rng(2).normal(size=(7, 4, 2))


@pytest.fixture(autouse=True)
def fresh():
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
        yield


def types(program=None):
    return [op.type for op in (program or fluid.default_main_program()).global_block().ops]


def network(dtype="float32"):
    x = layers.data("x", [4, 2], dtype=dtype)
    return layers.mean(layers.square(layers.fc(layers.batch_norm(x), 1)))


@pytest.mark.parametrize("size", [2, 3])
def test_ranks_agree_with_one_process_though_batches_do_not_divide(size):
    expected = alone(Adam, batch_norm=True, batch_size=7)
    for result in on_ranks(size, Adam, batch_norm=True, batch_size=7, distributed=SYNC):
        assert_alike(result, expected, rtol=1e-10)


def test_without_it_each_rank_has_its_own():
    expected = alone(Adam, batch_norm=True)
    for result in on_ranks(2, Adam, batch_norm=True):
        assert not np.allclose(result[0], expected[0], rtol=1e-3)


@pytest.mark.parametrize("order", [1, 2])
def test_their_gradients_are_proven(order):
    def checked(communicator):
        loss = network("float64")
        samples = layers.data("samples", [2], dtype="int64", append_batch_size=False)
        fluid.default_startup_program().random_seed = 4
        program = loss.block.program
        fluid.parallel.synchronize_batch_norms(program, communicator, samples=samples)
        if order == 2:
            scale = program.global_block().var("batch_norm_0.w_0")
            loss = layers.mean(layers.square(fluid.calc_gradient(loss, scale)))
        grads = fluid.append_backward(loss)
        fluid.parallel.data_parallel(program, grads, communicator, samples=samples)
        exe = fluid.Executor(communicator=communicator)
        exe.run(fluid.default_startup_program())
        own = X[communicator.rank :: communicator.size]
        feed = {"x": own, "samples": np.array([len(own), len(X)])}
        return fluid.parallel.check_gradients(loss, grads, feed, exe, samples=samples)

    first, _ = fluid.parallel.run_in_threads(2, checked)
    assert first.verdict is Verdict.PASS


def test_the_text_shows_them_and_a_program_for_test_has_none():
    loss = network()
    fluid.parallel.DistributedOptimizer(SGD(0.1), TWO, sync_batch_norm=True).minimize(loss)
    assert types()[0] == "c_batch_norm"
    assert "c_batch_norm_grad" in types()
    test = fluid.default_main_program().clone(for_test=True)
    assert types(test)[0] == "batch_norm"
    assert types(test.prune([loss.name])) == [
        "batch_norm",
        "mul",
        "elementwise_add",
        "square",
        "mean",
    ]


def test_with_one_rank_nothing_changes():
    loss = network()
    (one,) = core.thread_group(1)
    fluid.parallel.DistributedOptimizer(SGD(0.1), one, sync_batch_norm=True).minimize(loss)
    assert types()[0] == "batch_norm"


def test_after_an_error_the_program_is_as_before():
    loss = network()
    before = str(fluid.default_main_program())
    optimizer = fluid.parallel.DistributedOptimizer(SGD(0.1), TWO, sync_batch_norm=True)
    with pytest.raises(fluid.Error):
        optimizer.minimize(loss, parameter_list=["nothing"])
    assert str(fluid.default_main_program()) == before


def test_after_backward_it_is_too_late():
    loss = network()
    fluid.append_backward(loss)
    with pytest.raises(fluid.InvalidArgument, match="call it before append_backward"):
        fluid.parallel.synchronize_batch_norms(loss.block.program, TWO)


def test_a_checkpoint_is_that_of_one_process(tmp_path):
    def begin(communicator):
        fluid.parallel.DistributedOptimizer(SGD(0.1), communicator, **SYNC).minimize(network())
        exe = fluid.Executor(communicator=communicator)
        exe.run(fluid.default_startup_program())
        fluid.checkpoint.save(tmp_path, 1, exe)

    fluid.parallel.run_in_threads(2, begin)
    SGD(0.1).minimize(network())
    assert fluid.checkpoint.load(tmp_path, fluid.Executor()).step == 1
