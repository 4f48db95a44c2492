"""The number of threads that runs use."""

from __future__ import annotations

import operator
import os

from fluidcore import core


def _default() -> int:
    usable = len(os.sched_getaffinity(0))
    wanted = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return min(int(wanted), usable) if wanted.isdigit() and int(wanted) > 0 else usable


_num_threads = _default()


def get_num_threads() -> int:
    """The number of threads that runs use."""
    return _num_threads


def set_num_threads(count: int) -> None:
    """Sets the number of threads that runs use; OMP_NUM_THREADS or all cores at first."""
    global _num_threads
    count = operator.index(count)
    if count < 1:
        raise core.InvalidArgument(f"set_num_threads: there must be at least 1, got {count}")
    _num_threads = count
