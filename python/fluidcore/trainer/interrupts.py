"""Ctrl-C that waits until a step is done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupts:
    """What Ctrl-C has asked for.

    Attributes:
        is_waiting: Ctrl-C has come, and has not been obeyed yet.
        is_urgent: It has come a second time.
    """

    def __init__(self) -> None:
        self.is_waiting = self.is_urgent = False

    def obey(self) -> None:
        """Raises KeyboardInterrupt if Ctrl-C waits."""
        if self.is_waiting:
            self.is_waiting = False
            raise KeyboardInterrupt

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.is_waiting:
            self.is_urgent, self.is_waiting = True, False
            signal.default_int_handler(number, frame)
        self.is_waiting = True


@contextmanager
def deferred_interrupts(active: bool) -> Iterator[Interrupts]:
    """Ctrl-C inside the `with` waits for `obey`, or for the end; a second one does not wait.

    Where Ctrl-C has another handler than Python's own, or in other threads than the main one, all
    stays as it is.
    """
    interrupts = Interrupts()
    if (
        not active
        or threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield interrupts
        return
    signal.signal(signal.SIGINT, interrupts._note)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupts.obey()
