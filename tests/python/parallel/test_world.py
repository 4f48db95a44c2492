"""`world()` where there is no MPI, or no other process."""

import subprocess
import sys

import pytest

import fluidcore as fluid
from fluidcore import core
from fluidcore.parallel import processes


def test_without_mpi4py_the_error_names_the_extra(monkeypatch):
    monkeypatch.setattr(processes, "_world", None)
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(core.NotFound, match=r"write pip install 'fluidcore-dl\[mpi\]'"):
        fluid.parallel.world()


def test_the_only_process_is_told_so_once_and_works():
    code = """
import warnings
import numpy as np
import fluidcore as fluid
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    world = fluid.parallel.world()
    assert fluid.parallel.world() is world
(warning,) = caught
assert "this is the only process; start several with mpiexec" in str(warning.message)
loss = fluid.layers.mean(fluid.layers.fc(fluid.layers.data("x", [3]), 2))
fluid.parallel.DistributedOptimizer(fluid.optimizer.SGD(0.1), world).minimize(loss)
exe = fluid.Executor(communicator=world)
exe.run(fluid.default_startup_program())
exe.run(feed={"x": np.ones((2, 3), np.float32)})
for settings in ({"timeout": 5}, {"deterministic": True}):
    try:
        fluid.parallel.world(**settings)
    except fluid.InvalidArgument as error:
        assert "all calls must have the arguments of the first one" in str(error)
    else:
        raise AssertionError(settings)
print(world.rank, world.size)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout) == (0, "0 1\n"), run.stderr
