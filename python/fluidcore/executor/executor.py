"""Executor: runs programs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple, NoReturn

import numpy as np

from fluidcore import core
from fluidcore.base.checks import check_name, is_whole
from fluidcore.base.dtypes import numpy_dtype
from fluidcore.executor import cuda_libraries, printing, profiling, threads
from fluidcore.executor.agreement import Agreement
from fluidcore.executor.fed_state import is_state, set_in_scope
from fluidcore.executor.feeding import as_declared
from fluidcore.executor.scopes import Scope, global_scope
from fluidcore.program import Program, Variable, default_main_program
from fluidcore.program.arguments import check_owner
from fluidcore.program.prints import printed_values


class _Declared(NamedTuple):
    """A fed variable, and what an array must be to be taken as it is."""

    desc: core.VarDesc
    dtype: np.dtype[Any]
    rank: int
    is_state: bool  # lives between runs, and the program writes it: it is set, not fed

    @classmethod
    def of(cls, program: core.ProgramDesc, desc: core.VarDesc) -> _Declared:
        dtype, rank = numpy_dtype(desc.dtype()), len(desc.shape())
        return cls(desc, dtype, rank, is_state(program, desc))


class RandomState(NamedTuple):
    """What random operators draw from: a seed, and how often the program has run."""

    seed: int
    runs: int


def _checked(
    program: Program | None, fetch_list: Sequence[Variable | str] | None, scope: Scope | None
) -> tuple[Program, list[str], Scope]:
    """The arguments of a run, with names for what is fetched."""
    if program is None:
        program = default_main_program()
    elif not isinstance(program, Program):
        raise TypeError(f"program must be a Program, got {type(program).__name__}")
    if scope is None:
        scope = global_scope()
    elif not isinstance(scope, core.Scope):
        raise TypeError(f"scope must be a Scope, got {type(scope).__name__}")
    fetches: list[str] = []
    if fetch_list is not None:
        if isinstance(fetch_list, (str, Variable)):
            raise TypeError(f"fetch_list must be a list, got {fetch_list!r}; write [...]")
        for item in fetch_list:
            if isinstance(item, str):
                fetches.append(check_name("a name in fetch_list", item))
            elif isinstance(item, Variable):
                if item.block.program is not program:
                    check_owner("fetch_list", item, program)
                fetches.append(item.desc.name())
            else:
                raise TypeError(f"fetch_list must hold Variables or names, got {item!r}")
    return program, fetches, scope


def _skipped_passes(text: str) -> list[str]:
    """The passes of "-a,-b"."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if not word.startswith("-"):
            raise core.InvalidArgument(
                f'FLUIDCORE_PASSES: each pass must be switched off, as in "-fuse_rows", '
                f"got {word!r}"
            )
    return [word[1:] for word in words]


class Executor:
    """Runs programs.

    The first run of a program with certain shapes and fetches prepares everything; later runs only
    calculate. With the environment variable FLUIDCORE_CHECK_NAN=1, a run stops with an error that
    names the operator that made the first NaN. FLUIDCORE_PASSES="-fuse_rows,-channels_last" does
    without passes over the plan; docs/profiling.md says what these do.

    Args:
        place: CPUPlace(), the default, or CUDAPlace(i), where the build has kernels for GPUs. What
            is fed from the host is copied there; variables of the scope must be there, as those
            that a startup program of this Executor made are, or moved by `scope.to(place)`.
        allow_cpu_fallback: Whether operators that have no kernel for a GPU run on the CPU, with
            copies there and back, which `plan` shows; else they are an error.
        communicator: The ranks that run the same programs side by side, as
            `fluid.parallel.world()`, or None. Before the first run of a program with collective
            operators they make sure that it is the same on all. Each rank draws other random
            numbers. A run that fails ends those of the other ranks, with its error.
    """

    def __init__(
        self,
        place: core.CPUPlace | core.CUDAPlace | None = None,
        *,
        allow_cpu_fallback: bool = False,
        communicator: core.Communicator | None = None,
    ) -> None:
        if place is not None and not isinstance(place, (core.CPUPlace, core.CUDAPlace)):
            raise TypeError(f"place must be CPUPlace() or CUDAPlace(i), got {place!r}")
        if not (communicator is None or isinstance(communicator, core.Communicator)):
            raise TypeError(
                f"communicator must be a Communicator or None, got {communicator!r}; write "
                "fluid.parallel.world()"
            )
        self.place = core.CPUPlace() if place is None else place
        self.communicator = communicator
        self._agreement = None if communicator is None else Agreement(communicator)
        waits = os.environ.get("FLUIDCORE_CUDA_SYNC", "") not in ("", "0")
        if isinstance(self.place, core.CUDAPlace):
            cuda_libraries.load(cuda_libraries.CUBLAS)
            if communicator is not None and communicator.size > 1:
                cuda_libraries.load(cuda_libraries.NCCL)
        self._core = core.Executor(self.place, allow_cpu_fallback, waits)
        self._check_nan = os.environ.get("FLUIDCORE_CHECK_NAN", "") not in ("", "0")
        self._skipped_passes = _skipped_passes(os.environ.get("FLUIDCORE_PASSES", ""))
        # A program, its revision, and the fed variables then: in one tuple, as several threads may
        # run several programs.
        self._fed: tuple[Program | None, int, dict[str, _Declared]] = (None, -1, {})

    def transport(self) -> str:
        """How the ranks exchange what is on their devices: "nccl", or through the "host".

        GPUs exchange by NCCL where every rank has a GPU of its own, a build with NCCL and the
        library. All ranks call this, at the same place among their runs.

        Raises:
            core.InvalidArgument: There is no communicator.
            core.RankFailed: Another rank has failed.
        """
        if self.communicator is None:
            raise core.InvalidArgument("transport: the Executor must have a communicator, got none")
        return self.communicator.transport(self.place)

    def run(
        self,
        program: Program | None = None,
        feed: Mapping[str, Any] | None = None,
        fetch_list: Sequence[Variable | str] | None = None,
        scope: Scope | None = None,
        return_numpy: bool = True,
        timeout: float | None = None,
        *,
        feed_var_name: str = "feed",
        fetch_var_name: str = "fetch",
        use_program_cache: bool = False,
    ) -> list[Any]:
        """Runs a program once.

        Between two operators, those of loops included, the run sees whether a signal waits: what
        its handler raises, such as KeyboardInterrupt, ends it. An operator that has begun is not
        interrupted.

        Args:
            program: None for the default main program.
            feed: Name -> array, Tensor, number or list; anything with `__dlpack__` too. They are
                converted to the variable's element type where that loses nothing; a float64 array
                for a float32 variable is rounded, with a warning. A last extent of 1 may be
                missing. A persistable variable that the program writes has the value in the scope
                from then on, as if it had been set there.
            fetch_list: Variables of the program, or of one that it is a clone of, or names, whose
                values are wanted.
            scope: Where variables live between runs; None for the global scope.
            return_numpy: Whether to return NumPy arrays, else Tensors.
            timeout: Seconds after which the run ends with an error; None for no limit.
            feed_var_name: Accepted for Fluid's sake, which had a variable for all that is fed.
            fetch_var_name: Likewise of all that is fetched.
            use_program_cache: Accepted for Fluid's sake; what is prepared is always kept.

        Returns:
            The fetched values, in the order of `fetch_list`.

        Raises:
            core.Error: A value does not fit, with the operator and the user's line as a note. The
                scope is as it was before the run.
            core.RankFailed: Another rank of the communicator has failed, with its error, or was not
                heard of in time; a ConnectionError, too. The scope is as it was before the run.
            core.TimedOut: The time was over, with the operator that would have come next; a
                TimeoutError, too. The scope is as it was before the run.
        """
        del feed_var_name, fetch_var_name, use_program_cache
        program, fetches, scope = _checked(program, fetch_list, scope)
        if timeout is not None and not isinstance(timeout, Real):
            raise TypeError(f"timeout must be a number of seconds or None, got {timeout!r}")
        states: dict[str, Any] = {}
        arrays = self._arrays(program, feed, states) if feed else {}
        printed = printed_values(program.desc, program.prints) if program.prints else ()
        wanted = [*fetches, *(each.name for each in printed)] if printed else fetches
        if self._agreement is not None:
            self._agreement.check(program, wanted)
        if states:
            with set_in_scope(scope, states):
                results = self._run(program, arrays, wanted, scope, return_numpy, timeout)
        else:
            results = self._run(program, arrays, wanted, scope, return_numpy, timeout)
        if not printed:
            return results
        printing.show(printed, results[len(fetches) :])
        return results[: len(fetches)]

    def _run(
        self,
        program: Program,
        arrays: dict[str, Any],
        fetches: list[str],
        scope: Scope,
        return_numpy: bool,
        timeout: float | None,
    ) -> list[Any]:
        return self._core.run(
            program.desc,
            arrays,
            fetches,
            scope,
            threads._num_threads,
            self._check_nan,
            return_numpy,
            timeout,
            profiling._profile,
            self._skipped_passes,
            self.communicator,
        )

    def plan(
        self,
        program: Program | None = None,
        feed: Mapping[str, Any] | None = None,
        fetch_list: Sequence[Variable | str] | None = None,
        scope: Scope | None = None,
    ) -> str:
        """The steps that `run` would take with these arguments, as text; nothing is calculated.

        A line for each step, with the operators that it does: pruning has left out what the fetches
        do not need, passes have put operators together.

        Args:
            program: As in `run`.
            feed: As in `run`; only shapes matter.
            fetch_list: As in `run`.
            scope: As in `run`.

        Raises:
            core.Error: As in `run`.
        """
        program, fetches, scope = _checked(program, fetch_list, scope)
        arrays = self._arrays(program, feed, {}) if feed else {}
        return self._core.listing(program.desc, arrays, fetches, scope, self._skipped_passes)

    def random_state(self, program: Program | None = None) -> RandomState:
        """What the random operators of a program draw from in its next run.

        With the values in the scope and what is fed, all that a run depends on.

        Args:
            program: None for the default main program.
        """
        program, _, _ = _checked(program, None, None)
        return RandomState(*self._core.next_state(program.desc))

    def set_random_state(self, state: RandomState, program: Program | None = None) -> None:
        """Goes on from a state that this or another Executor was in.

        Args:
            state: What `random_state` gave. Its seed becomes that of every program of this
                Executor that has no `random_seed` of its own.
            program: None for the default main program.

        Raises:
            core.InvalidArgument: The program has a `random_seed`, and the state another one.
        """
        program, _, _ = _checked(program, None, None)
        if not (
            isinstance(state, tuple)
            and len(state) == 2
            and all(is_whole(each) and 0 <= each < 2**64 for each in state)
        ):
            raise TypeError(f"state must be what random_state() gave, got {state!r}")
        self._core.set_next_state(program.desc, *state)

    def _arrays(
        self, program: Program, feed: Mapping[str, Any], states: dict[str, Any]
    ) -> dict[str, Any]:
        """What is fed, as arrays; those of variables that the program writes go to `states`."""
        if not isinstance(feed, (dict, Mapping)):  # a dict is seen at once
            raise TypeError(f"feed must map names to values, got {type(feed).__name__}")
        revision = program.desc.revision()
        known, known_revision, variables = self._fed
        if program is not known or revision != known_revision:
            variables = {}
            self._fed = (program, revision, variables)
        arrays = {}
        for name, value in feed.items():
            variable = variables.get(name)
            if variable is None:
                check_name("a name in feed", name)
                declared = program.global_block().desc.find_var(name)
                if declared is None:  # the core says so, and which name is near
                    arrays[name] = value
                    continue
                variable = variables[name] = _Declared.of(program.desc, declared)
            is_array = type(value) is np.ndarray
            if is_array and value.dtype is variable.dtype and value.ndim == variable.rank:
                arrays[name] = value
            else:
                arrays[name] = as_declared(program, name, value, variable.desc)
            if variable.is_state:
                states[name] = arrays.pop(name)
        return arrays

    def __repr__(self) -> str:
        plans = self._core.cached_plans()
        held = f", {plans} prepared" if plans else ""
        return f"Executor({self.place!r}{held})"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "an Executor cannot be pickled or copied, as it holds what is prepared for this "
            "process; make a new one, Executor()"
        )

    def close(self) -> None:
        """Forgets everything prepared; the next run prepares anew."""
        self._core.close()
