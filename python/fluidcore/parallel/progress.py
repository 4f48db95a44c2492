"""The thread of a process that drives its MPI operations while it calculates."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from fluidcore import core
from fluidcore.executor.profiling import current_profile

_TESTS = 64  # of one poll
_POLLS_AT_ONCE = 4  # before the thread sleeps between polls
_SLEEP = 50e-6  # seconds
_LISTEN = 0.01  # seconds between looks for messages of other ranks
_ANSWERS = 1.0  # seconds that a late rank has to say where it is


class Operation:
    """A collective operation, from its beginning to its end.

    Args:
        number: How many this rank began before.
        label: What it is for.
        start: Begins it; gives the request of MPI.
        finish: Called by who has waited, after it.
    """

    def __init__(
        self, number: int, label: str, start: Callable[[], Any], finish: Callable[[], None]
    ) -> None:
        self.number = number
        self.label = label
        self.start: Callable[[], Any] | None = start
        self.finish = finish
        self.done = threading.Event()
        self.request: Any = None  # while it runs; it and `start` keep the memory
        self.has_failed = False
        self.deadline = 0.0
        self.begun = 0.0  # when it was started, by time.monotonic()


class Progress:
    """Starts operations in their order, polls them, and hears of other ranks that have failed.

    All calls of MPI are made by this thread.

    Args:
        notices: A communicator of mpi4py, for messages about failures alone.
        timeout: Seconds that an operation may take before the others are asked where they are.
    """

    def __init__(self, notices: Any, timeout: float) -> None:
        self._notices = notices
        self._timeout = timeout
        self._rank: int = notices.Get_rank()
        self._others = [rank for rank in range(notices.Get_size()) if rank != self._rank]
        self._new: deque[Operation] = deque()
        self._begun: deque[Operation] = deque()
        self._changed = threading.Condition()
        self._failed: set[int] = set()  # ranks that know of a failure
        self._left: set[int] = set()  # ranks that have come to their end
        self._silent: set[int] = set()  # ranks that were asked in vain
        self._where: dict[int, str] = {}  # the answers of ranks, while they are asked
        self._is_closed = False
        self._is_awaited = False  # the processor has nothing else to do
        self.failure = ""  # why no operation ends any more
        self._thread = threading.Thread(target=self._run, name="fluidcore-mpi", daemon=True)
        self._thread.start()

    def begin(self, operation: Operation) -> None:
        """Lets the thread start an operation."""
        with self._changed:
            self._new.append(operation)
            self._changed.notify()

    def wait(self, operation: Operation) -> None:
        """Waits until an operation has ended.

        Raises:
            core.RankFailed: It will not.
        """
        self._is_awaited = True
        try:
            while not operation.done.wait(0.1):
                if self.failure:
                    raise core.RankFailed(f"{operation.label}: {self.failure}")
        finally:
            self._is_awaited = False
        if operation.has_failed:
            raise core.RankFailed(f"{operation.label}: {self.failure}")

    def fail(self, why: str) -> None:
        """Tells the other ranks that this one cannot go on."""
        with self._changed:
            if not self.failure:
                self.failure = f"rank {self._rank} has failed: {why}"
            self._changed.notify()

    def close(self, patience: float = 0.0) -> None:
        """Ends the thread, and tells the other ranks.

        Args:
            patience: Seconds to wait until all other ranks have heard of a failure.
        """
        deadline = time.monotonic() + patience
        while self.failure and set(self._others) - self._failed - self._left - self._silent:
            if time.monotonic() > deadline:
                break
            time.sleep(_LISTEN)
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join(1.0)

    def _run(self) -> None:
        polls = 0
        next_look = 0.0
        has_told = False
        while not self._is_closed:
            with self._changed:
                if not (self._new or self._begun or self.failure or self._is_closed):
                    self._changed.wait()
                new = list(self._new)
                self._new.clear()
            now = time.monotonic()
            if self.failure:
                if not has_told:
                    self._tell("failed", self.failure)
                    has_told = True
                self._give_up(new)
                self._listen()
                time.sleep(_LISTEN)
                continue
            for operation in new:
                self._start(operation, now)
            polls = 0 if new or self._poll() else polls + 1
            if now >= next_look:
                next_look = now + _LISTEN
                self._listen()
                if self._begun and now > self._begun[0].deadline:
                    self._ask(self._begun[0])
            if polls > _POLLS_AT_ONCE:
                time.sleep(0.0 if self._is_awaited else _SLEEP)
        self._tell("left", "")

    def _start(self, operation: Operation, now: float) -> None:
        assert operation.start is not None
        operation.deadline = now + (_ANSWERS if self._left else self._timeout)
        try:
            operation.begun = time.monotonic()
            operation.request = operation.start()
        except Exception as error:
            self.fail(f"rank {self._rank} cannot begin it: {error}")
        self._begun.append(operation)

    def _poll(self) -> bool:
        """Whether an operation has ended."""
        ended = False
        while self._begun and not self.failure:
            test = self._begun[0].request.Test
            try:
                # Each call moves a small part of a large operation.
                if not any(test() for _ in range(_TESTS)):
                    break
            except Exception as error:
                self.fail(f"rank {self._rank} has lost the others: {error}")
                break
            done = self._begun.popleft()
            if (profile := current_profile()) is not None:
                profile.add_communication(done.label, time.monotonic() - done.begun)
            done.start = done.request = test = None
            done.done.set()
            ended = True
        return ended

    def _give_up(self, new: list[Operation]) -> None:
        for operation in (*self._begun, *new):
            operation.has_failed = True
            operation.done.set()
        self._begun.clear()

    def _tell(self, kind: str, text: str) -> None:
        for rank in self._others:
            self._notices.isend((kind, text), dest=rank)

    def _listen(self) -> None:
        while self._notices.iprobe():
            rank, (kind, text) = self._received()
            if kind == "failed":
                self._failed.add(rank)
                self.failure = self.failure or text
            elif kind == "left":
                self._left.add(rank)
                soon = time.monotonic() + _ANSWERS  # for what is on its way
                for operation in self._begun:
                    operation.deadline = min(operation.deadline, soon)
            elif kind == "where":
                here = self._begun[0].label if self._begun else ""
                self._notices.isend(("here", here), dest=rank)
            else:
                self._where[rank] = text

    def _received(self) -> tuple[int, tuple[str, str]]:
        from mpi4py import MPI

        status = MPI.Status()
        message = self._notices.recv(status=status)
        return status.Get_source(), message

    def _ask(self, late: Operation) -> None:
        """The time of an operation is over: finds out which ranks it waits for."""
        self._where = {}
        self._tell("where", late.label)
        end = time.monotonic() + _ANSWERS
        while time.monotonic() < end and not self.failure:
            self._listen()
            time.sleep(_LISTEN)
        if self.failure or late.request.Test():
            return
        left = sorted(self._left)
        self._silent = {rank for rank in self._others if not self._where.get(rank)}
        others = [rank for rank in self._others if self._where.get(rank, late.label) != late.label]
        if left:
            why = f"rank {', '.join(map(str, left))} has come to its end and will not begin it"
        elif self._silent:
            ranks = ", ".join(map(str, sorted(self._silent)))
            why = f"rank {ranks} must begin it within {self._timeout:g} s, got nothing from it"
        elif others:
            places = ", ".join(f"rank {rank} waits for {self._where[rank]}" for rank in others)
            why = f"all ranks must begin the same operation, got other ones: {places}"
        else:
            why = f"it must end within {self._timeout:g} s, got no end on any rank"
        self.failure = why
