"""Tasks in several processes: threads do not help where most of the work is Python's."""

from __future__ import annotations

import gc
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

from fluidcore.base.op_library import add_op_library

T = TypeVar("T")


def in_processes(
    tasks: Sequence[Callable[[], T]], jobs: int, libraries: Sequence[str] = ()
) -> Iterator[T]:
    """The results of tasks, in their order, each as soon as those before it are there.

    Args:
        tasks: What can be pickled, as its result: a partial of a function of a module.
        jobs: Processes, at most one for each task; with 1 the tasks run in this one.
        libraries: Of operators, which this process has loaded.
    """
    jobs = min(jobs, len(tasks))
    if jobs <= 1:
        for task in tasks:
            yield task()
        return
    context = multiprocessing.get_context("spawn")  # threads of other frameworks do not fork
    with ProcessPoolExecutor(jobs, context, _begin, (libraries,)) as pool:
        yield from pool.map(_call, tasks)


def _call(task: Callable[[], T]) -> T:
    return task()


def _begin(libraries: Sequence[str]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets them
    for path in libraries:
        add_op_library(path)
    gc.set_threshold(20_000, 50, 100)  # checks leave hardly a cycle to be found
