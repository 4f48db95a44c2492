"""What the example programs are built with."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from fluidcore import core, layers
from fluidcore.base.dtypes import FLOATING
from fluidcore.executor import Executor, scope_guard
from fluidcore.gradcheck.cases.example import Array, Data
from fluidcore.program import Program, Variable, program_guard
from fluidcore.unique_name import guard


class ProgramExample(NamedTuple):
    """A program at a point where its gradient can be checked.

    Attributes:
        name: What it shows.
        program: The forward part.
        feed: A value for every variable that is read, parameters too.
        loss: The variable that is differentiated: one number.
    """

    name: str
    program: Program
    feed: dict[str, Array]
    loss: str

    def wanted(self) -> list[str]:
        """The variables to differentiate by: parameters, and inputs that let gradients pass."""
        block = self.program.global_block()
        frozen = {p.name for p in self.program.all_parameters() if not p.trainable}
        return [
            name
            for name, value in self.feed.items()
            if value.dtype.name in FLOATING
            and not block.var(name).stop_gradient
            and name not in frozen
        ]

    def scope(self) -> core.Scope:
        """A scope with the values of what lives between runs: an Executor must not be fed these."""
        scope = core.Scope()
        block = self.program.global_block()
        for name, value in self.feed.items():
            if block.var(name).persistable:
                scope.var(name).get_tensor().set(value)
        return scope

    def data(self) -> dict[str, Array]:
        """The part of `feed` that is not in `scope()`."""
        block = self.program.global_block()
        return {n: value for n, value in self.feed.items() if not block.var(n).persistable}


class Model:
    """Declares the inputs of a program, and draws their values."""

    def __init__(self, data: Data) -> None:
        self.data = data
        self.dtype = data.dtype
        self.feed: dict[str, Array] = {}

    def input(self, name: str, *shape: int, constant: bool = False) -> Variable:
        """A floating variable; a `constant` one stops gradients."""
        self.feed[name] = self.data.normal(*shape)
        return layers.data(
            name, shape, dtype=self.dtype, append_batch_size=False, stop_gradient=constant
        )

    def given(self, name: str, value: Array) -> Variable:
        """A variable of this value, that stops gradients."""
        self.feed[name] = value
        dtype = value.dtype.name
        return layers.data(name, value.shape, dtype=dtype, append_batch_size=False)

    def labels(self, name: str, classes: int, *shape: int) -> Variable:
        """Whole numbers below `classes`."""
        return self.given(name, self.data.integers(0, classes, *shape))

    def parameter(self, name: str, *shape: int) -> Variable:
        """A parameter."""
        return layers.create_parameter(shape, self.dtype, name)

    def constant(self, value: float, *shape: int) -> Variable:
        """A tensor of one value."""
        return layers.fill_constant(shape, self.dtype, value)


def whole(value: int) -> Variable:
    """A counter, int64 [1]."""
    return layers.fill_constant([1], "int64", value)


def weighted(x: Variable) -> Variable:
    """A number that each element takes part in differently: the mean of x · (x + 1) / 2."""
    return layers.mean(layers.scale(x * x + x, scale=0.5))


Builder: TypeAlias = Callable[[Model], Variable]


def example(name: str, builder: Builder, seed: int, dtype: str) -> ProgramExample:
    """Builds a program and gives its parameters values."""
    model = Model(Data(seed, f"program {name}", dtype))
    main, startup = Program(), Program()
    main.random_seed = startup.random_seed = seed + 1
    scope = core.Scope()
    with program_guard(main, startup), guard():
        loss = builder(model)
        with scope_guard(scope):
            Executor().run(startup)
    parameters = {parameter.name for parameter in main.all_parameters()}
    for variable in main.list_vars():
        held = scope.find_var(variable.name) if variable.persistable else None
        if held is not None:
            value = np.array(held.get_tensor())
            moved = model.data.normal(*value.shape, scale=0.125)
            model.feed[variable.name] = value + moved if variable.name in parameters else value
    return ProgramExample(name, main, model.feed, loss.name)
