"""Items worked on by threads, ahead of who wants them: in order, bounded, and ended cleanly.

Threads, no processes: they share arrays without copies and pickles, cost no second interpreter, and
NumPy, files and Executor.run release the GIL.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class _Outcome(NamedTuple):
    """What became of the item of this number."""

    number: int
    value: Any
    error: BaseException | None


class _Source(Generic[Item, Result]):
    """The items, taken by one thread at a time, and what is done to each by many."""

    def __init__(
        self,
        items: Iterator[Item],
        function: Callable[[Item], Result],
        describe: Callable[[int], str] | None,
    ) -> None:
        self._items = items
        self._function = function
        self._describe = describe
        self._lock = threading.Lock()
        self._taken = 0

    def step(self) -> _Outcome | None:
        """Takes an item and works on it; None if there is none."""
        with self._lock:
            number = self._taken
            self._taken += 1
            try:
                item = next(self._items)
            except StopIteration:
                return None
            except BaseException as error:
                return self._failed(number, error)
        try:
            return _Outcome(number, self._function(item), None)
        except BaseException as error:
            return self._failed(number, error)

    def _failed(self, number: int, error: BaseException) -> _Outcome:
        if self._describe is not None:
            error.add_note(self._describe(number))
        return _Outcome(number, None, error)


class _Window:
    """The items that are worked on, or done and not wanted yet: at most `ahead`."""

    def __init__(
        self, step: Callable[[], _Outcome | None], threads: int, ahead: int, ordered: bool
    ) -> None:
        from concurrent.futures import ThreadPoolExecutor
        from queue import SimpleQueue

        self._step = step
        self._ahead = ahead
        self._ordered = ordered
        self._name = f"fluidcore-data-{id(self):x}"  # of the threads, with a number behind it
        self._pool = ThreadPoolExecutor(threads, self._name)
        self._done: SimpleQueue[_Outcome | None] = SimpleQueue()
        self._waiting: dict[int, _Outcome] = {}  # by their places in the results
        self._running = self._came = self._given = 0
        self._is_open = True

    def fill(self) -> None:
        """Begins as many items as there is room for."""
        while self._is_open and self._running + len(self._waiting) < self._ahead:
            self._pool.submit(self._work)
            self._running += 1

    def take(self) -> _Outcome | None:
        """The next outcome, waited for; None after the last."""
        while self._running and self._given not in self._waiting:
            outcome = self._done.get()
            self._running -= 1
            if outcome is None:
                self._is_open = False
            else:
                place = outcome.number if self._ordered else self._came
                self._waiting[place] = outcome
                self._came += 1
        self._given += 1
        return self._waiting.pop(self._given - 1, None)

    def end(self) -> None:
        """Waits for what has begun; no thread is alive afterwards.

        When Python collects garbage in one of these threads, that one waits for none.
        """
        self._pool.shutdown(wait=False, cancel_futures=True)
        if self._is_own(threading.current_thread()):
            return
        # The pool itself does not know of a thread whose start Ctrl-C has interrupted.
        for thread in filter(self._is_own, threading.enumerate()):
            _join(thread)

    def _is_own(self, thread: threading.Thread) -> bool:
        return thread.name.startswith(f"{self._name}_")

    def _work(self) -> None:
        self._done.put(self._step())


def _join(thread: threading.Thread) -> None:
    """Waits for the end of a thread; a moment for its start, which may have been interrupted."""
    for _ in range(100):
        try:
            thread.join()
        except RuntimeError:  # it has not started yet
            time.sleep(0.001)
        else:
            return


def worked(
    items: Iterator[Item],
    function: Callable[[Item], Result],
    *,
    threads: int,
    ahead: int,
    ordered: bool = True,
    describe: Callable[[int], str] | None = None,
) -> Generator[Result, None, None]:
    """The results of a function of each item, calculated by threads that begin with the first.

    When the iterator ends, is closed or collected, or an exception such as KeyboardInterrupt comes
    out of it, the threads finish what they have begun, and none is alive afterwards.

    Args:
        items: Taken by one thread at a time, and always in their order.
        function: Called by several threads at once.
        threads: How many, at least 1.
        ahead: How many items at most are worked on, or done and not wanted yet; at least 1.
        ordered: Whether the results are in the order of the items, else in that of their ends.
        describe: The text of a note, from the number of an item, for what is raised in a thread.

    Raises:
        BaseException: What an item or the function raises, with its traceback, in its turn.
    """
    window = _Window(_Source(items, function, describe).step, threads, ahead, ordered)
    try:
        window.fill()
        while (outcome := window.take()) is not None:
            if outcome.error is not None:
                try:
                    raise outcome.error
                finally:
                    del outcome  # its traceback holds this frame
            window.fill()
            yield outcome.value
    finally:
        window.end()
