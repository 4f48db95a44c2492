"""Executor: runs programs; the Scope where variables live between runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from fluidcore import core, threads
from fluidcore.checks import check_name
from fluidcore.dtypes import numpy_dtype
from fluidcore.program import Program, Variable, default_main_program
from fluidcore.threads import get_num_threads, set_num_threads

__all__ = ["Executor", "get_num_threads", "global_scope", "scope_guard", "set_num_threads"]

Scope: TypeAlias = core.Scope

_scope: ContextVar[Scope] = ContextVar("fluidcore_scope", default=core.Scope())  # noqa: B039


def global_scope() -> Scope:
    """The Scope that runs use when not told otherwise."""
    return _scope.get()


@contextmanager
def scope_guard(scope: Scope) -> Iterator[None]:
    """Makes another Scope the global one inside the `with` block, in this thread only."""
    if not isinstance(scope, core.Scope):
        raise TypeError(f"scope must be a Scope, got {type(scope).__name__}")
    token = _scope.set(scope)
    try:
        yield
    finally:
        _scope.reset(token)


class Executor:
    """Runs programs.

    The first run of a program with certain shapes and fetches prepares everything; later runs only
    calculate. With the environment variable FLUIDCORE_CHECK_NAN=1, a run stops with an error that
    names the operator that made the first NaN.

    Args:
        place: CPUPlace(), the default.
    """

    def __init__(self, place: core.CPUPlace | core.CUDAPlace | None = None) -> None:
        if place is not None and not isinstance(place, (core.CPUPlace, core.CUDAPlace)):
            raise TypeError(f"place must be CPUPlace() or CUDAPlace(i), got {place!r}")
        self.place = core.CPUPlace() if place is None else place
        self._core = core.Executor(self.place)
        self._check_nan = os.environ.get("FLUIDCORE_CHECK_NAN", "") not in ("", "0")
        # A program, its revision, and the element types of fed variables then: in one tuple, as
        # several threads may run several programs.
        self._fed: tuple[Program | None, int, dict[str, np.dtype[Any]]] = (None, -1, {})

    def run(
        self,
        program: Program | None = None,
        feed: Mapping[str, Any] | None = None,
        fetch_list: Sequence[Variable | str] | None = None,
        scope: Scope | None = None,
        return_numpy: bool = True,
        timeout: float | None = None,
    ) -> list[Any]:
        """Runs a program once.

        Between two operators, those of loops included, the run sees whether a signal waits: what
        its handler raises, such as KeyboardInterrupt, ends it. An operator that has begun is not
        interrupted.

        Args:
            program: None for the default main program.
            feed: Name -> array, Tensor, number or list; anything with `__dlpack__` too. Arrays
                must have the variable's element type; numbers and lists are converted to it.
            fetch_list: Variables, or names, whose values are wanted.
            scope: Where variables live between runs; None for the global scope.
            return_numpy: Whether to return NumPy arrays, else Tensors.
            timeout: Seconds after which the run ends with an error; None for no limit.

        Returns:
            The fetched values, in the order of `fetch_list`.

        Raises:
            core.Error: A value does not fit, with the operator and the user's line as a note. The
                scope is as it was before the run.
            core.TimedOut: The time was over, with the operator that would have come next; a
                TimeoutError, too. The scope is as it was before the run.
        """
        if program is None:
            program = default_main_program()
        elif not isinstance(program, Program):
            raise TypeError(f"program must be a Program, got {type(program).__name__}")
        if scope is None:
            scope = _scope.get()
        elif not isinstance(scope, core.Scope):
            raise TypeError(f"scope must be a Scope, got {type(scope).__name__}")
        fetches: list[str] = []
        if fetch_list is not None:
            if isinstance(fetch_list, (str, Variable)):
                raise TypeError(f"fetch_list must be a list, got {fetch_list!r}; write [...]")
            for item in fetch_list:
                if isinstance(item, str):
                    fetches.append(item)
                elif isinstance(item, Variable):
                    fetches.append(item.desc.name())
                else:
                    raise TypeError(f"fetch_list must hold Variables or names, got {item!r}")
        if timeout is not None and not isinstance(timeout, Real):
            raise TypeError(f"timeout must be a number of seconds or None, got {timeout!r}")
        arrays = self._arrays(program, feed) if feed else {}
        return self._core.run(
            program.desc,
            arrays,
            fetches,
            scope,
            threads._num_threads,
            self._check_nan,
            return_numpy,
            timeout,
        )

    def _arrays(self, program: Program, feed: Mapping[str, Any]) -> dict[str, Any]:
        if not isinstance(feed, (dict, Mapping)):  # a dict is seen at once
            raise TypeError(f"feed must map names to values, got {type(feed).__name__}")
        revision = program.desc.revision()
        known, known_revision, dtypes = self._fed
        if program is not known or revision != known_revision:
            dtypes = {}
            self._fed = (program, revision, dtypes)
        arrays = {}
        for name, value in feed.items():
            dtype = dtypes.get(name)
            if dtype is None:
                check_name("a name in feed", name)
                declared = program.global_block().desc.find_var(name)
                if declared is None:  # the core says so, and which name is near
                    arrays[name] = value
                    continue
                dtype = dtypes[name] = numpy_dtype(declared.dtype())
            if type(value) is np.ndarray and value.dtype is dtype:
                arrays[name] = value
            else:
                arrays[name] = _converted(name, value, dtype)
        return arrays

    def close(self) -> None:
        """Forgets everything prepared; the next run prepares anew."""
        self._core.close()


def _converted(name: str, value: Any, dtype: np.dtype[Any]) -> Any:
    """What the core is given for a fed value that is not just the right array."""
    if isinstance(value, np.ma.MaskedArray):
        raise core.InvalidArgument(
            f"feed '{name}': must be without a mask, got a masked array; write {name}.filled(...)"
        )
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype != dtype:
            raise _wrong_dtype(
                name, str(value.dtype), f"write {name}.astype('{dtype.name}')", dtype
            )
        return np.asarray(value)
    if not isinstance(value, core.Tensor) and hasattr(value, "__dlpack__"):
        value = core.Tensor.from_dlpack(value)
    if isinstance(value, core.Tensor):
        if value.is_initialized() and value.dtype() != dtype.name:
            raise _wrong_dtype(name, value.dtype(), f"feed a {dtype.name} tensor", dtype)
        return value
    if isinstance(value, Variable):
        raise TypeError(f"feed '{name}': must be data, got {value!r}")
    try:
        raw = np.asarray(value)
        kind = raw.dtype.kind
        loses = kind not in "biuf" or (kind == "f" and dtype.kind in "iub")
        loses |= kind != "b" and dtype.kind == "b"
        if loses and raw.size:
            raise TypeError(f"{raw.dtype} does not convert to {dtype.name}")
        with np.errstate(over="ignore"):
            array = np.asarray(value, dtype)
            if kind == "f" and np.any(np.isinf(array) & ~np.isinf(raw)):
                raise OverflowError(f"a number is too large for {dtype.name}")
        return array
    except (TypeError, ValueError, OverflowError) as error:
        raise core.InvalidArgument(
            f"feed '{name}': must be an array, a Tensor, or numbers that {dtype.name} can hold, "
            f"got {type(value).__name__}: {error}"
        ) from None


def _wrong_dtype(name: str, got: str, cure: str, dtype: np.dtype[Any]) -> core.InvalidArgument:
    return core.InvalidArgument(
        f"feed '{name}': must be {dtype.name} as the variable, got {got}; {cure}"
    )
