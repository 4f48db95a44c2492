"""Children in which mutants are tried."""

import mmap
import os
import signal
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from checker_mutants.edits import Mutant


@dataclass
class Trial:
    """A mutant that is tried on tests.

    Attributes:
        mutant: The edit.
        names: Of the tests, in order.
        pid: Of the child.
        at: Which test it runs, shared with it.
        end: When it is ended, on the monotonic clock.
        status: Of the child in the end.
    """

    mutant: Mutant
    names: Sequence[str]
    pid: int
    at: mmap.mmap
    end: float
    status: int = 0

    def ended(self) -> bool:
        """Whether the child is done; one that takes too long is ended."""
        found, self.status = os.waitpid(self.pid, os.WNOHANG)
        if not found and time.monotonic() > self.end:
            os.kill(self.pid, signal.SIGKILL)
            found, self.status = os.waitpid(self.pid, 0)
        return bool(found)

    def killer(self) -> str:
        """The test that failed or had no end, "" if there is none."""
        if self.status == 0:
            return ""
        return self.names[int.from_bytes(self.at[:])]


def fork(job: Callable[[], bool], *, quiet: bool = True) -> int:
    """A child that ends with 0 if the job says True."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        if quiet:
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
        status = 0 if job() else 1
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def waited() -> int:
    """The next child that ends."""
    pid, status = os.wait()
    if status:
        pytest.exit("mutate_checker: the tests cannot be run")
    return pid
