"""The gradient of all ranks is proven, and a wrong one is found."""

import numpy as np
import pytest
from mpi_run import mpiexec

import fluidcore as fluid
from fluidcore import layers
from fluidcore.gradcheck import GradientError, Verdict

X = np.random.default_rng(1).normal(size=(7, 3))


def prepared(communicator, dropout=0.0):
    x = layers.data("x", [3], dtype="float64")
    samples = layers.data("samples", [2], dtype="int64", append_batch_size=False)
    h = layers.fc(x, 4, act="tanh")
    h = layers.dropout(h, dropout) if dropout else h
    loss = layers.mean(layers.square(layers.fc(h, 1) - 0.5))
    fluid.default_main_program().random_seed = fluid.default_startup_program().random_seed = 4
    grads = fluid.append_backward(loss)
    fluid.parallel.data_parallel(loss.block.program, grads, communicator, samples=samples)
    exe = fluid.Executor(communicator=communicator)
    exe.run(fluid.default_startup_program())
    own = X[communicator.rank :: communicator.size]
    feed = {"x": own, "samples": np.array([len(own), len(X)])}
    return loss, grads, feed, exe, samples


def checked(communicator, **options):
    loss, grads, feed, exe, samples = prepared(communicator, **options)
    return fluid.parallel.check_gradients(loss, grads, feed, exe, samples=samples)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_gradients_of_all_ranks_are_proven(size):
    first, *others = fluid.parallel.run_in_threads(size, checked)
    assert first.verdict is Verdict.PASS
    assert others == [None] * (size - 1)


def test_so_are_those_of_a_program_that_draws_random_numbers():
    first, _ = fluid.parallel.run_in_threads(2, lambda ranks: checked(ranks, dropout=0.3))
    assert first.verdict is Verdict.PASS


def test_a_sum_that_counts_a_rank_twice_is_found():
    def run(communicator):
        loss, grads, feed, exe, _ = prepared(communicator)
        feed["samples"][0] = len(X)
        if communicator.rank == 0:
            with pytest.raises(GradientError):
                fluid.parallel.check_gradients(loss, grads, feed, exe)
        else:
            assert fluid.parallel.check_gradients(loss, grads, feed, exe) is None

    fluid.parallel.run_in_threads(2, run)


def test_so_are_those_of_two_processes():
    program = """
import fluidcore as fluid
from test_gradients import checked

report = checked(fluid.parallel.world())
print("" if report is None else report.verdict.name, end="")
"""
    run = mpiexec(2, program)
    assert (run.returncode, run.stdout) == (0, "PASS"), run.stderr


def test_nothing_of_the_scope_changes():
    def run(communicator):
        loss, grads, feed, exe, samples = prepared(communicator)
        before = {p.name: np.array(fluid.fetch_var(p.name)) for p, _ in grads}
        fluid.parallel.check_gradients(loss, grads, feed, exe, samples=samples)
        for name, value in before.items():
            np.testing.assert_array_equal(fluid.fetch_var(name), value)

    fluid.parallel.run_in_threads(2, run)


def test_updates_and_a_missing_communicator_are_refused():
    def run(communicator):
        loss, grads, feed, exe, _ = prepared(communicator)
        with pytest.raises(fluid.InvalidArgument, match="must have a communicator, got none"):
            fluid.parallel.check_gradients(loss, grads, feed, fluid.Executor())
        fluid.optimizer.SGD(0.1).apply_gradients(grads)
        with pytest.raises(fluid.InvalidArgument, match="must not update parameters, got sgd"):
            fluid.parallel.check_gradients(loss, grads, feed, exe)

    fluid.parallel.run_in_threads(2, run)
