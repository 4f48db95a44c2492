"""The profiler with the name and the arguments that it had in Fluid."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from fluidcore import core
from fluidcore.executor.profiling import current_profile, set_profile
from fluidcore.profiler.profile import OperatorTime, Profile, profile

_KEYS: dict[str, Callable[[OperatorTime], float]] = {
    "total": lambda row: row.seconds,
    "calls": lambda row: row.calls,
    "ave": lambda row: row.seconds / row.calls,
    "max": lambda row: row.longest,
    "min": lambda row: row.shortest,
}


@contextmanager
def profiler(
    state: str = "All",
    sorted_key: str | None = None,
    profile_path: str | os.PathLike[str] | None = None,
) -> Iterator[Profile]:
    """Records the operators that run inside the `with` block, and prints the types at its end.

    Args:
        state: "CPU", "GPU" or "All"; all the same here.
        sorted_key: What the greatest of comes first: "total" time, the default, "calls", or the
            "ave"rage, "max" or "min" time of a call.
        profile_path: Where a trace is written; None for none.

    Yields:
        The profile.

    Raises:
        core.InvalidArgument: There is no such state or key.
    """
    _check_state("profiler", state)
    key = _key("profiler", sorted_key)
    with profile(profile_path) as recorded:
        yield recorded
        recorded._core = current_profile() or recorded._core  # reset_profiler began another one
    print(recorded.table(by_type=True, key=key))


def start_profiler(state: str = "All") -> None:
    """Records the operators that run from now on, in any thread.

    Args:
        state: As of `profiler`.

    Raises:
        core.InvalidArgument: There is no such state.
    """
    _check_state("start_profiler", state)
    set_profile(core.Profile())


def stop_profiler(
    sorted_key: str | None = None, profile_path: str | os.PathLike[str] | None = None
) -> None:
    """Prints what was recorded, and ends it.

    Args:
        sorted_key: As of `profiler`, and so is profile_path.
        profile_path: Where a trace is written; None for none.

    Raises:
        core.InvalidArgument: There is no such key, or nothing was started.
        OSError: The trace cannot be written there.
    """
    key = _key("stop_profiler", sorted_key)
    recorded = Profile()
    started = set_profile(None)
    if started is None:
        raise core.InvalidArgument(
            "stop_profiler: must come after start_profiler, got none that was started"
        )
    recorded._core = started
    print(recorded.table(by_type=True, key=key))
    if profile_path is not None:
        recorded.save(profile_path)


def reset_profiler() -> None:
    """Forgets what was recorded so far; the recording goes on."""
    if current_profile() is not None:
        set_profile(core.Profile())


@contextmanager
def cuda_profiler(
    output_file: str, output_mode: str | None = None, config: Iterable[str] | None = None
) -> Iterator[None]:
    """Does nothing: nothing runs on a GPU in this build. The arguments are accepted."""
    del output_file, output_mode, config
    yield


def _check_state(what: str, state: str) -> None:
    if state not in ("CPU", "GPU", "All"):
        raise core.InvalidArgument(f'{what}: state must be "CPU", "GPU" or "All", got {state!r}')


def _key(what: str, sorted_key: str | None) -> Callable[[OperatorTime], float]:
    key = "total" if sorted_key in (None, "default") else sorted_key
    if key not in _KEYS:
        raise core.InvalidArgument(
            f"{what}: sorted_key must be one of {', '.join(_KEYS)}, got {sorted_key!r}"
        )
    return _KEYS[key]
