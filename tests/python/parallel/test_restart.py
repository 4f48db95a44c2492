"""A training whose ranks are killed again and again comes to the end of an undisturbed one."""

import json
import os

import numpy as np
import pytest
from mpi_run import mpiexec

TRAIN = """
import json, os, signal, sys
import numpy as np
import fluidcore as fluid
from fluidcore import layers

folder, victim, doomed, steps = sys.argv[1], *map(int, sys.argv[2:])
world = fluid.parallel.world(timeout=20)
x = layers.data("x", [4])
h = layers.dropout(layers.fc(x, 8, act="tanh"), 0.2)
loss = layers.mean(layers.square(layers.fc(h, 1) - 1.0))
fluid.default_main_program().random_seed = fluid.default_startup_program().random_seed = 2
fluid.parallel.DistributedOptimizer(fluid.optimizer.Adam(0.01), world).minimize(loss)
exe = fluid.Executor(communicator=world)
exe.run(fluid.default_startup_program())
data = np.random.default_rng(0).normal(size=(32, 4)).astype(np.float32)
loader = fluid.DataLoader((data,), 8, shuffle=True, feed_list=[x], communicator=world)
done = 0
if fluid.checkpoint.steps(folder):
    done = fluid.checkpoint.load(folder, exe, reader=loader).step
while done < steps:
    for batch in loader:
        if world.rank == victim and done == doomed:
            os.kill(os.getpid(), signal.SIGKILL)
        exe.run(feed=batch)
        done += 1
        if done % 2 == 0:
            fluid.checkpoint.save(folder, done, exe, reader=loader, keep_last=2)
if world.rank == 0:
    names = [p.name for p in fluid.default_main_program().global_block().all_parameters()]
    print(json.dumps([fluid.fetch_var(name).tolist() for name in names]))
"""


def train(folder, victim, doomed, steps):
    return mpiexec(2, TRAIN, str(folder), str(victim), str(doomed), str(steps))


def values_of(run):
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def outlives(kills, folder):
    """Trains with so many kills of a random rank, each before the first step after a checkpoint."""
    random = np.random.default_rng(kills)
    steps = 4 * (kills // 2 + 2)
    expected = values_of(train(folder / "undisturbed", -1, -1, steps))
    disturbed = folder / "disturbed"
    for kill in range(kills):
        run = train(disturbed, random.integers(2), 2 * kill + random.integers(1, 3), steps)
        assert run.returncode != 0
        assert "has ended without a word" in run.stderr
        left = os.listdir(disturbed) if disturbed.exists() else []
        assert all(name.startswith("step_") and name[5:].isdigit() for name in left)
    assert values_of(train(disturbed, -1, -1, steps)) == expected


def test_a_kill(tmp_path):
    outlives(1, tmp_path)


@pytest.mark.slow
def test_twenty_kills(tmp_path):
    outlives(20, tmp_path)
