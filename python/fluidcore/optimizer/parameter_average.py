"""What averages of parameters share: they take the place of the parameters for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from fluidcore import core, layers
from fluidcore.base.checks import check_name
from fluidcore.base.dtypes import HALF
from fluidcore.base.settings import Settings
from fluidcore.executor import Executor, global_scope
from fluidcore.io.array_file import Arrays
from fluidcore.io.persistables import set_values, values
from fluidcore.layers.helper import atomic
from fluidcore.program import Variable, default_main_program


class ParameterAverage(Settings):
    """The base of averages of parameters: variables of the program that each run updates.

    Args:
        name: Starts the names of the variables; None for the parameter's.
    """

    type = "parameter_average"

    def __init__(self, name: str | None = None) -> None:
        self.name = None if name is None else check_name(f"{self.type}: name", name)
        self._averages: list[tuple[Variable, Variable]] = []  # a parameter and its average
        self._updates: Variable | None = None  # how many there were, int64 [1]
        # Where the averages are applied, and the parameters as they were before.
        self._replaced: tuple[core.Scope, Arrays] | None = None

    @atomic
    def update(self) -> None:
        """Appends the operators that update the averages to the default main program.

        Call it once, after `minimize`, so that each run ends with it. All trainable parameters
        that the program then has are averaged, float32 for those of 16 bits; statistics, such as
        those of batch_norm, are not.

        Raises:
            core.InvalidArgument: There is no trainable parameter, or it was called before.
        """
        if self._updates is not None:
            raise core.InvalidArgument(
                f"{self.type}: update must be called once, got a second call; make another "
                f"{type(self).__name__} for another program"
            )
        parameters = [p for p in default_main_program().all_parameters() if p.trainable]
        if not parameters:
            raise core.InvalidArgument(
                f"{self.type}: the program must have a trainable parameter, got none; call update "
                "after the layers"
            )
        updates = self._state("updates", [1], "int64")
        layers.increment(updates)
        self._begin_update(updates)
        averages: list[tuple[Variable, Variable]] = []
        for param in parameters:
            dtype = "float32" if param.dtype in HALF else param.dtype
            average = self._state(f"{param.name}_{self.type}", param.shape, dtype)
            value = param if param.dtype == dtype else layers.cast(param, dtype)
            self._append_update(average, value, updates)
            averages.append((param, average))
        self._end_update(updates)
        self._updates, self._averages = updates, averages

    def _begin_update(self, updates: Variable) -> None:
        """Appends what comes before the updates of all averages."""

    def _end_update(self, updates: Variable) -> None:
        """Appends what comes after the updates of all averages."""

    def _append_update(self, average: Variable, value: Variable, updates: Variable) -> None:
        """Appends what updates an average.

        Args:
            average: Starts as 0.
            value: The parameter, of the dtype of the average.
            updates: How many there are with this one; int64 [1].
        """
        raise NotImplementedError

    def _result(self, held: Arrays, average: Variable, updates: int) -> NDArray[np.float64]:
        """What takes the place of the parameter, after some updates.

        Args:
            held: The values of `_states`.
            average: Of the parameter.
            updates: How many there were.
        """
        del updates
        return held[average.name].astype(np.float64)

    def _state(self, name: str, shape: tuple[int, ...] | list[int], dtype: str) -> Variable:
        prefixed = f"{self.name}_{name}" if self.name else name
        unique = default_main_program().global_block().unique_name(prefixed)
        return layers.create_global_var(shape, 0.0, dtype, persistable=True, name=unique)

    @contextmanager
    def apply(self, executor: Executor | None = None, need_restore: bool = True) -> Iterator[None]:
        """Inside the `with` the parameters of the global scope are their averages.

        Args:
            executor: Accepted for Fluid's sake.
            need_restore: Whether the end of the `with` brings back the parameters; False leaves
                that to `restore`.

        Raises:
            core.InvalidArgument: `update` was not called or no run updated the averages; or they
                are applied already.
            core.NotFound: A variable has no value in the global scope.
        """
        del executor
        if self._replaced is not None:
            raise core.InvalidArgument(
                f"{self.type}: apply must come after restore, got averages that are applied already"
            )
        parameters, averages = self._values()
        scope = global_scope()
        set_values(averages, scope)
        self._replaced = scope, parameters
        try:
            yield
        finally:
            if need_restore and self._replaced is not None:
                self.restore()

    def restore(self, executor: Executor | None = None) -> None:
        """Brings back the parameters as they were before `apply`.

        Args:
            executor: Accepted for Fluid's sake.

        Raises:
            core.InvalidArgument: The averages are not applied.
        """
        del executor
        if self._replaced is None:
            raise core.InvalidArgument(f"{self.type}: restore must come after apply, got none")
        scope, parameters = self._replaced
        set_values(parameters, scope)
        self._replaced = None

    def _values(self) -> tuple[Arrays, Arrays]:
        """The parameters as they are, and what takes their place."""
        states = self._states()
        held = values([*states, *(param for param, _ in self._averages)], self.type)
        updates = int(held[states[0].name].item())
        if not updates:
            raise core.InvalidArgument(
                f"{self.type}: a run must have updated the averages, got none; run the program "
                "that update was called for"
            )
        parameters = {param.name: held[param.name] for param, _ in self._averages}
        averages = {
            param.name: self._result(held, average, updates).astype(held[param.name].dtype)
            for param, average in self._averages
        }
        return parameters, averages

    def _states(self) -> list[Variable]:
        """The number of updates, and what they change."""
        if self._updates is None:
            raise core.InvalidArgument(
                f"{self.type}: update must be called before the averages are used, got no call"
            )
        return [self._updates, *(average for _, average in self._averages)]
