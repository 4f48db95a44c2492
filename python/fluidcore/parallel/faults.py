"""How a process of several ends when one of them fails."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from types import FrameType, TracebackType

from fluidcore import core
from fluidcore.parallel.mpi import MpiCommunicator

_PATIENCE = 2.0  # seconds for the others to hear of a failure, and to say so


def leave_on_failure(communicator: MpiCommunicator) -> None:
    """Lets an error that ends this process end the others, and SIGTERM be an error.

    A process that would wait in MPI's finalization for one that has failed would never end: it
    leaves at once, with exit status 1, after its traceback.
    """
    shown = sys.excepthook

    def show(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        shown(kind, error, traceback)
        communicator.fail(f"{kind.__name__}: {error}")

    def leave() -> None:
        failed = bool(communicator.progress.failure)
        communicator.progress.close(_PATIENCE)
        if failed:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(1)

    def terminated(_number: int, _frame: FrameType | None) -> None:
        ended = ", ".join(map(str, communicator.ended()))
        why = f"rank {ended} has ended without a word" if ended else "mpiexec has sent SIGTERM"
        awaited = communicator.awaited() or "no operation of all ranks"
        raise core.RankFailed(f"{awaited}: {why}; rank {communicator.rank} ends, too")

    sys.excepthook = show
    atexit.register(leave)
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, terminated)
