"""Ranks that are threads of this process, to try and to test programs for several."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from fluidcore import core, unique_name
from fluidcore.base.checks import check_number, check_whole
from fluidcore.executor import scope_guard
from fluidcore.program import Program, program_guard

T = TypeVar("T")


def run_in_threads(
    size: int, function: Callable[[core.Communicator], T], *, timeout: float = 60.0
) -> list[T]:
    """Calls a function on as many threads at once, each with its own Communicator.

    Each has default programs, names and a global scope of its own, as a process has; it needs an
    Executor of its own, too. Sums are made in the order of the ranks.

    Args:
        size: How many.
        function: Called with the communicator of its rank.
        timeout: Seconds that a rank may wait for the others in one operation.

    Returns:
        What the calls returned, by rank.

    Raises:
        core.InvalidArgument: An argument is not as above.
        Exception: That of the rank that failed first; the other ranks then fail, too.
    """
    check_whole("parallel.run_in_threads: size", size, 1)
    ranks = core.thread_group(size, check_number("parallel.run_in_threads: timeout", timeout))
    results: dict[int, T] = {}
    errors: list[BaseException] = []

    def run(communicator: core.Communicator) -> None:
        try:
            with (
                program_guard(Program(), Program()),
                unique_name.guard(),
                scope_guard(core.Scope()),
            ):
                results[communicator.rank] = function(communicator)
        except BaseException as error:
            errors.append(error)
            communicator.fail(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=run, args=(rank,)) for rank in ranks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return [results[rank] for rank in range(size)]
