"""Training on several processes, each with its part of every batch.

A program becomes data parallel by a transformation that its text shows: collective operators around
the gradients. It runs under MPI, as `mpiexec -n 4 python train.py`:

    world = fluid.parallel.world()
    optimizer = fluid.parallel.DistributedOptimizer(fluid.optimizer.Adam(1e-3), world)
    optimizer.minimize(loss)
    exe = fluid.Executor(communicator=world)
    loader = fluid.DataLoader((images, labels), 64, communicator=world, ...)
"""

from fluidcore.core import Communicator
from fluidcore.parallel.averages import average
from fluidcore.parallel.batch_norms import synchronize_batch_norms
from fluidcore.parallel.collectives import data_parallel
from fluidcore.parallel.gradients import check_gradients
from fluidcore.parallel.mpi import MpiCommunicator
from fluidcore.parallel.optimizer import DistributedOptimizer
from fluidcore.parallel.processes import world
from fluidcore.parallel.threads import run_in_threads

__all__ = [
    "Communicator",
    "DistributedOptimizer",
    "MpiCommunicator",
    "average",
    "check_gradients",
    "data_parallel",
    "run_in_threads",
    "synchronize_batch_norms",
    "world",
]
