"""A Communicator over MPI."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fluidcore import core
from fluidcore.base.checks import check_number
from fluidcore.parallel.progress import Operation, Progress


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _add_up(parts: NDArray[Any], sums: NDArray[Any]) -> None:
    """Sums = those of the rows, from the first one on."""
    np.copyto(sums, parts[0])
    for part in parts[1:]:
        np.add(sums, part, out=sums)


class MpiCommunicator(core.Communicator):
    """A Communicator over one of mpi4py, whose group it uses from then on; `world` makes one.

    Args:
        comm: A communicator of mpi4py.
        timeout: As of `world`.
        deterministic: As of `world`.
    """

    def __init__(self, comm: Any, timeout: float = 300.0, deterministic: bool = False) -> None:
        self.timeout = check_number("parallel.world: timeout", timeout)
        if self.timeout <= 0:
            raise core.InvalidArgument(f"parallel.world: timeout must be above 0, got {timeout!r}")
        super().__init__(comm.Get_rank(), comm.Get_size())
        self.deterministic = bool(deterministic)
        self._comm = comm.Dup()
        self.progress = Progress(comm.Dup(), self.timeout)
        self._open: dict[int, Operation] = {}
        self._begun = 0
        self._awaited = -1
        self._processes: list[tuple[str, int]] = comm.allgather((os.uname().nodename, os.getpid()))

    def iallreduce(self, own: NDArray[Any], sums: NDArray[Any], label: str) -> int:
        """Begins a sum over the ranks.

        The arrays keep their memory, so that MPI may write there after a run that has failed.
        """
        from mpi4py import MPI

        if not self.deterministic:
            return self._begin(label, lambda: self._comm.Iallreduce(own, sums, MPI.SUM))
        parts = np.empty((self.size, own.size), own.dtype)
        return self._begin(
            label, lambda: self._comm.Iallgather(own, parts), lambda: _add_up(parts, sums)
        )

    def ireduce_scatter(self, own: NDArray[Any], part: NDArray[Any], label: str) -> int:
        """Begins a sum over the ranks, of which each gets its part; keeps the arrays likewise."""
        from mpi4py import MPI

        if not self.deterministic:
            return self._begin(label, lambda: self._comm.Ireduce_scatter_block(own, part, MPI.SUM))
        parts = np.empty((self.size, part.size), own.dtype)
        return self._begin(
            label, lambda: self._comm.Ialltoall(own, parts), lambda: _add_up(parts, part)
        )

    def ibroadcast(self, elements: NDArray[Any], root: int, label: str) -> int:
        """Begins to give all ranks the bytes of one."""
        held = elements.copy()
        return self._begin(
            label, lambda: self._comm.Ibcast(held, root), lambda: np.copyto(elements, held)
        )

    def iallgather(self, own: NDArray[Any], all: NDArray[Any], label: str) -> int:
        """Begins to give all ranks the bytes of all, by rank."""
        mine, held = own.copy(), np.empty_like(all)
        return self._begin(
            label, lambda: self._comm.Iallgather(mine, held), lambda: np.copyto(all, held)
        )

    def wait(self, request: int) -> None:
        """Waits for an operation.

        Raises:
            core.RankFailed: Another rank has failed, or was not heard of in time.
        """
        self._awaited = request
        self.progress.wait(self._open[request])
        self._open.pop(request).finish()

    def check(self) -> None:
        """Looks whether another rank has failed.

        Raises:
            core.RankFailed: One has.
        """
        if self.progress.failure:
            raise core.RankFailed(self.progress.failure)

    def fail(self, why: str) -> None:
        """Tells the other ranks that this one cannot go on."""
        self.progress.fail(why)

    def ended(self) -> list[int]:
        """The ranks on this host whose processes are no more."""
        host = os.uname().nodename
        return [
            rank
            for rank, (other, process) in enumerate(self._processes)
            if other == host and not _is_running(process)
        ]

    def awaited(self) -> str:
        """What this process waits for; "" for nothing."""
        operation = self._open.get(self._awaited)
        return "" if operation is None else operation.label

    def _begin(self, label: str, start: Any, finish: Any = lambda: None) -> int:
        if self.progress.failure:
            raise core.RankFailed(f"{label}: {self.progress.failure}")
        operation = Operation(self._begun, label, start, finish)
        self._open[operation.number] = operation
        self._begun += 1
        self.progress.begin(operation)
        return operation.number
