"""Training under mpiexec, and how it ends when one process fails."""

import json
import time
from pathlib import Path

import numpy as np
import pytest
from mpi_run import mpiexec
from ranked_training import alone, assert_alike

from fluidcore.optimizer import Adam

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "data_parallel.py"

TRAIN = """
import json, sys
import fluidcore as fluid
from ranked_training import train

world = fluid.parallel.world(deterministic="deterministic" in sys.argv)
losses, values = train(world, fluid.optimizer.Adam, sparse="sparse" in sys.argv)
if world.rank == world.size - 1:
    print(json.dumps([losses, {name: value.tolist() for name, value in values.items()}]))
"""

# Rank 1 fails in its 20th step.
FAIL = """
import os, signal, sys, time
import numpy as np
import fluidcore as fluid

world = fluid.parallel.world(timeout=2)
x = fluid.layers.data("x", [3])
loss = fluid.layers.mean(fluid.layers.fc(x, 2))
fluid.parallel.DistributedOptimizer(fluid.optimizer.SGD(0.1), world).minimize(loss)
exe = fluid.Executor(communicator=world)
exe.run(fluid.default_startup_program())
for step in range(40):
    if step == 20 and world.rank == 1:
        if "raise" in sys.argv: raise ValueError("no more samples")
        if "kill" in sys.argv: os.kill(os.getpid(), signal.SIGKILL)
        if "hang" in sys.argv: time.sleep(1000)
        if "end" in sys.argv: sys.exit()
        if "other" in sys.argv: exe.run(fluid.default_startup_program())
    exe.run(feed={"x": np.ones((2, 3), np.float32)})
"""


PROFILE = """
import numpy as np
import fluidcore as fluid

world = fluid.parallel.world()
x = fluid.layers.data("x", [256])
for _ in range(4):
    x = fluid.layers.fc(x, 256, act="relu", bias_attr=False)
optimizer = fluid.parallel.DistributedOptimizer(fluid.optimizer.SGD(0.1), world, bucket_mb=0.1)
optimizer.minimize(fluid.layers.mean(x))
exe = fluid.Executor(communicator=world)
exe.run(fluid.default_startup_program())
with fluid.profiler.profile() as profile:
    for run in range(10):
        exe.run(feed={"x": np.ones((2048, 256), np.float32)})
sums = [each for each in profile.communications() if each.label.startswith("c_")]
if world.rank == 0:
    print(*(each.label for each in sums), sep=chr(10))
    assert all(0 <= each.overlap <= each.seconds for each in sums), sums
    assert sum(each.overlap for each in sums) > 0, sums
"""


def result_of(run):
    assert run.returncode == 0, run.stderr
    losses, values = json.loads(run.stdout)
    return losses, {name: np.array(value) for name, value in values.items()}


@pytest.mark.parametrize(("size", "arguments"), [(2, []), (3, ["deterministic"]), (2, ["sparse"])])
def test_processes_agree_with_one(size, arguments):
    expected = alone(Adam, sparse="sparse" in arguments)
    assert_alike(result_of(mpiexec(size, TRAIN, *arguments)), expected)


def test_a_profile_has_the_sums_and_what_ran_beside_them():
    run = mpiexec(2, PROFILE)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == [
        f"c_allreduce_sum of fc_{layer}.w_0@GRAD" for _ in range(10) for layer in (3, 2, 1, 0)
    ]


def test_the_example_trains_and_one_process_shows_it():
    run = mpiexec(2, EXAMPLE)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert [line[:9] for line in lines] == ["epoch  5:", "epoch 10:", "epoch 15:"]
    assert "accuracy 9" in lines[-1]


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("raise", "rank 1 has failed: ValueError: no more samples"),
        ("kill", "rank 1 has ended without a word; rank 0 ends, too"),
        ("hang", "rank 1 must begin it within 2 s, got nothing from it"),
        ("end", "rank 1 has come to its end and will not begin it"),
        (
            "other",
            "all ranks must begin the same operation, got other ones: rank 1 waits for "
            "c_broadcast of fc_0.w_0",
        ),
    ],
)
def test_a_rank_that_fails_is_named_with_the_operator_and_the_others_end(how, why):
    begin = time.monotonic()
    run = mpiexec(2, FAIL, how)
    assert time.monotonic() - begin < 30
    assert run.returncode != 0
    assert f"c_allreduce_sum of fc_0.b_0@GRAD, fc_0.w_0@GRAD: {why}" in run.stderr
    assert "operator 8 of block 0 (c_wait), added at" in run.stderr
