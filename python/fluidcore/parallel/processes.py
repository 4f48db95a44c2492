"""The processes that mpiexec has started, as ranks of a Communicator."""

from __future__ import annotations

from fluidcore import core
from fluidcore.base.call_site import warn
from fluidcore.parallel.faults import leave_on_failure
from fluidcore.parallel.mpi import MpiCommunicator

_world: MpiCommunicator | None = None


def world(*, timeout: float = 300.0, deterministic: bool = False) -> MpiCommunicator:
    """This process among those that `mpiexec -n 4 python train.py` has started.

    The first call starts MPI; later ones give the same. A process that was not started by mpiexec
    is the only one, and is told so once. From then on an error that ends this process ends the
    others, too, with an error that says which rank failed and why.

    Args:
        timeout: Seconds that a rank may wait for the others in one operation.
        deterministic: Whether sums are made in the order of the ranks, so that runs with as many
            processes have equal bits, whatever algorithm MPI has; it takes more communication.

    Raises:
        core.NotFound: mpi4py is not installed.
        core.InvalidArgument: MPI lets no thread of its own drive it; or a later call has other
            arguments.
    """
    global _world
    if _world is None:
        try:
            from mpi4py import MPI
        except ImportError as error:
            raise core.NotFound(
                f"parallel.world: mpi4py must be installed, got {error}; write "
                "pip install 'fluidcore-dl[mpi]'"
            ) from None
        if MPI.Query_thread() < MPI.THREAD_SERIALIZED:
            raise core.InvalidArgument(
                "parallel.world: MPI must let a thread of its own drive it, got thread level "
                f"{MPI.Query_thread()}; write mpi4py.rc.thread_level = 'multiple' before the import"
            )
        _world = MpiCommunicator(MPI.COMM_WORLD, timeout, deterministic)
        if _world.size == 1:
            warn(
                "parallel.world: this is the only process; start several with "
                "mpiexec -n 4 python train.py"
            )
        else:
            leave_on_failure(_world)
    elif (_world.timeout, _world.deterministic) != (float(timeout), bool(deterministic)):
        raise core.InvalidArgument(
            f"parallel.world: all calls must have the arguments of the first one, timeout="
            f"{_world.timeout:g} and deterministic={_world.deterministic}, got {timeout!r} and "
            f"{deterministic!r}"
        )
    return _world
