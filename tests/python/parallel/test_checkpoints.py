"""Rank 0 writes, all ranks read, as many as before or not."""

import os

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers
from fluidcore.optimizer import Adam

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 3))


class Training:
    """A network with Adam, a loader and an executor."""

    def __init__(self, communicator, **options):
        x = layers.data("x", [3], dtype="float64")
        loss = layers.mean(layers.square(layers.fc(layers.fc(x, 4, act="tanh"), 1) - 1.0))
        fluid.default_main_program().random_seed = 5
        fluid.default_startup_program().random_seed = 5
        self.shown = fluid.parallel.average(loss, communicator)
        fluid.parallel.DistributedOptimizer(Adam(0.05), communicator, **options).minimize(loss)
        self.exe = fluid.Executor(communicator=communicator)
        self.exe.run(fluid.default_startup_program())
        self.loader = fluid.DataLoader(
            (X,), 4, shuffle=True, feed_list=[x], communicator=communicator
        )

    def run(self, epochs=1):
        return [
            self.exe.run(feed=batch, fetch_list=[self.shown])[0].item()
            for _ in range(epochs)
            for batch in self.loader
        ]

    def save(self, folder, step):
        return fluid.checkpoint.save(folder, step, self.exe, reader=self.loader)

    def load(self, folder):
        return fluid.checkpoint.load(folder, self.exe, reader=self.loader)


@pytest.mark.parametrize("first", [1, 2, 4])
@pytest.mark.parametrize("second", [1, 2])
@pytest.mark.parametrize("shard_state", [False, True])
def test_another_number_of_ranks_goes_on_with_the_same_losses(tmp_path, first, second, shard_state):
    def begin(communicator):
        training = Training(communicator, shard_state=shard_state)
        training.run()
        training.save(tmp_path, 1)
        return training.run()

    def go_on(communicator):
        training = Training(communicator, shard_state=shard_state)
        assert training.load(tmp_path).step == 1
        return training.run()

    expected = fluid.parallel.run_in_threads(first, begin)[0]
    for losses in fluid.parallel.run_in_threads(second, go_on):
        np.testing.assert_allclose(losses, expected, rtol=1e-12)


def test_as_many_ranks_go_on_bit_for_bit(tmp_path):
    def begin(communicator):
        training = Training(communicator)
        training.run()
        training.save(tmp_path, 1)
        return training.run()

    def go_on(communicator):
        training = Training(communicator)
        training.load(tmp_path)
        return training.run()

    expected = fluid.parallel.run_in_threads(2, begin)
    assert fluid.parallel.run_in_threads(2, go_on) == expected


def test_where_rank_0_cannot_write_all_ranks_learn_why(tmp_path):
    (tmp_path / "file").touch()

    def run(communicator):
        training = Training(communicator)
        with pytest.raises((OSError, fluid.RankFailed)) as caught:
            training.save(tmp_path / "file", 1)
        return str(caught.value)

    first, second = fluid.parallel.run_in_threads(2, run)
    assert "the wait until rank 0 has written a checkpoint: rank 0 has failed: " in second
    assert os.listdir(tmp_path) == ["file"]
    del first


def test_another_program_is_still_refused(tmp_path):
    def begin(communicator):
        Training(communicator).save(tmp_path, 1)

    def go_on(communicator):
        training = Training(communicator)
        fluid.default_main_program().random_seed = 6
        with pytest.raises(fluid.InvalidArgument, match="random_seed 5 in place of 6"):
            training.load(tmp_path)

    fluid.parallel.run_in_threads(2, begin)
    fluid.parallel.run_in_threads(1, go_on)
