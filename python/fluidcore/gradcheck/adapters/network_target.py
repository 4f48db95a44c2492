"""Operators of fluidcore as a Target: forward, gradient and the function for the native engine."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self, TypeAlias, TypeVar

import numpy as np

from fluidcore import core
from fluidcore.backward import gradients
from fluidcore.base.definitions import remembered
from fluidcore.base.dtypes import FLOATING, name_of, numpy_dtype
from fluidcore.gradcheck.program.network import Network
from fluidcore.gradcheck.program.source import Source
from fluidcore.gradcheck.target.gradient_target import NoSecondGradientError
from fluidcore.gradcheck.target.target import SHADOW, Array, Input, Target
from fluidcore.program import Program

_T = TypeVar("_T")
_Spec: TypeAlias = "tuple[tuple[int, ...], np.dtype[Any]]"  # of an array
_Specs: TypeAlias = "tuple[_Spec, ...]"

COTANGENT = "@COTANGENT"
SECOND = "@SECOND"  # the cotangent of a gradient


class NetworkTarget(Target):
    """Outputs of a network of operators, and the gradient that `gradients` appends to it.

    A network of several floating dtypes has the digits of the narrowest one, so that is the dtype
    that it is checked in: the inputs are rounded to it, and so are their gradients.

    Args:
        who: What messages start with.
        source: The operators.
        values: The value of everything that they read.
        inputs: Names of variables that are differentiated by, floating and of one dtype.
        outputs: Names of floating results.
        constants: Names of variables that gradients do not pass, beside what is not in `inputs`.
        scope: Where values are that `values` does not hold.
        network: The operators that `outputs` need, as declared, if they are ready to run.

    Raises:
        core.InvalidArgument: The inputs are not floating or not of one dtype, or the outputs do not
            depend on one of them through operators that have a gradient.
    """

    runs_own_code = True
    _copies = False  # whether operators are taken as they are, unchecked

    def __init__(
        self,
        who: str,
        source: Source,
        values: Mapping[str, Any],
        inputs: Sequence[Input],
        names: Sequence[str],
        outputs: Sequence[str],
        constants: Collection[str] = (),
        scope: core.Scope | None = None,
        network: Network | None = None,
    ) -> None:
        self.who = who
        self._gpu: core.CUDAPlace | None = None
        self.has_shadow = True
        self._source = source
        self._values = dict(values)
        self._names = list(names)
        self._outputs = list(outputs)
        self._constants = frozenset(constants)
        self._scope = scope
        self.inputs: list[Input] = list(inputs)
        self.dtype = declared = common_dtype(who, inputs)
        self._as_declared = network or self.network(None, outputs)
        self._output_specs: dict[str, _Specs] = {}
        self.dtype = narrowest(self._as_declared.program, declared)
        if self.dtype != declared:
            self._round_inputs()
            self._as_declared = self.network(None, outputs)
        # One Network for each dtype: a Target is used by one thread at a time.
        self._forward = _PerDtype(self._make_forward)
        self._backward = _PerDtype(self._make_backward)
        self._second = _PerDtype(self._make_second)
        self._function = _PerDtype(self._make_function)

    def move_to(self, device: str) -> None:
        """The gradient operators run there, as far as they have kernels."""
        self._gpu = core.CUDAPlace(int(device.partition(":")[2] or 0))
        core.Executor(self._gpu)  # raises if there is none
        self.who = f"{self.who} on cuda:{self._gpu.id}"
        self.place = "gpu"

    def forward(self, xs: Sequence[Array], dtype: str) -> list[Array]:
        """The floating outputs at `xs`."""
        found = self._forward[dtype].run_at(self._by_name(xs), self._outputs)
        if dtype not in self._output_specs:
            self._output_specs[dtype] = _specs(found)
        return found

    def vjp(self, xs: Sequence[Array], vs: Sequence[Array], dtype: str) -> list[Array]:
        """What the gradient operators calculate from the cotangents `vs`."""
        network, grads = self._backward[dtype]
        found = network.run_at(self._by_name(xs) | self._cotangents(vs), grads)
        return self._rounded(found, dtype)

    def second_vjp(
        self, xs: Sequence[Array], vs: Sequence[Array], us: Sequence[Array], dtype: str
    ) -> list[Array]:
        """What the gradient operators of the gradient operators calculate.

        By the inputs, and by the cotangents where the gradient is not that of one number.
        """
        network, grads = self._second[dtype]
        values = self._by_name(xs) | {n + SECOND: u for n, u in zip(self._names, us, strict=True)}
        if not self.fixed_cotangent:
            values |= self._cotangents(vs)
        found = iter(network.run_at(values, [grad for grad in grads if grad is not None]))
        inputs = [*xs] if self.fixed_cotangent else [*xs, *vs]
        arrays = [
            np.zeros_like(x) if grad is None else next(found)
            for x, grad in zip(inputs, grads, strict=True)
        ]
        # An output may be of another dtype than its cotangent, which is of that of the inputs.
        return [a.astype(x.dtype, copy=False) for a, x in zip(arrays, inputs, strict=True)]

    def gradient_function(self, vs: Sequence[Array], dtype: str) -> core.Function:
        """The gradients as a function of inputs and cotangents, for the native engine."""
        network, grads = self._backward[dtype]
        weights = self._cotangents(vs)
        names = [*self._names, *weights]
        return core.ProgramFunction(network.program, network.values() | weights, names, grads)

    def function(self, dtype: str) -> core.Function:
        """The outputs for the native engine, at the values of `inputs`."""
        return self._function[dtype]

    def network(self, dtype: str | None, outputs: Sequence[str]) -> Network:
        """The operators that some variables need, calculating in `dtype`; None: as declared."""
        return Network(
            self._source,
            self._values,
            outputs,
            scope=self._scope,
            dtype=None if dtype is None or self._is_declared(dtype) else dtype,
            copies=self._copies,
        )

    def _round_inputs(self) -> None:
        """To the dtype of the check, so that the point is the same in every dtype."""
        for i, (name, item) in enumerate(zip(self._names, self.inputs, strict=True)):
            rounded = item.value.astype(numpy_dtype(self.dtype))
            self._values[name] = rounded.astype(item.value.dtype)
            self.inputs[i] = replace(item, value=rounded)

    def _is_declared(self, dtype: str) -> bool:
        """Whether a calculation in `dtype` is that of the operators as they are."""
        return dtype == self.dtype and dtype != SHADOW

    def _rounded(self, arrays: Sequence[Array], dtype: str) -> list[Array]:
        """Gradients that were calculated in `dtype`: of that dtype, as the inputs are."""
        if not self._is_declared(dtype):
            return list(arrays)
        return [array.astype(numpy_dtype(dtype), copy=False) for array in arrays]

    def with_backward(self, change: Callable[[core.ProgramDesc], core.ProgramDesc]) -> Self:
        """A copy whose gradient operators are those of `change(program)`."""
        changed = copy.copy(self)

        def backward(dtype: str) -> tuple[Network, list[str]]:
            network, grads = self._make_backward(dtype)
            network.program = change(network.program)
            return network, grads

        changed._backward = _PerDtype(backward)
        changed._second = _PerDtype(changed._make_second)
        return changed

    def with_second(self, change: Callable[[core.ProgramDesc], core.ProgramDesc]) -> Self:
        """A copy whose gradients of gradients are those of `change(program)`."""
        changed = copy.copy(self)

        def second(dtype: str) -> tuple[Network, list[str | None]]:
            network, grads = self._make_second(dtype)
            network.program = change(network.program)
            return network, grads

        changed._second = _PerDtype(second)
        return changed

    def backward_program(self) -> core.ProgramDesc:
        """The operators, forward and gradient, in the dtype under test."""
        return self._backward[self.dtype][0].program

    def second_program(self) -> core.ProgramDesc:
        """The same, with the gradients of the gradients."""
        return self._second[self.dtype][0].program

    def _make_forward(self, dtype: str) -> Network:
        return self._as_declared if self._is_declared(dtype) else self._as_declared.copy(dtype)

    def _make_function(self, dtype: str) -> core.Function:
        return self._forward[dtype].function(self._names, self._outputs)

    def _make_backward(self, dtype: str) -> tuple[Network, list[str]]:
        forward = self._forward[dtype]
        specs = self._output_specs.get(dtype) or _specs(forward.run(self._outputs))
        found = _appended(
            _Question(
                forward.program.serialize_to_string(),
                tuple(self._names),
                tuple(zip(self._outputs, specs, strict=True)),
                frozenset(forward.inputs()).difference(self._names) | self._constants,
                forward.program,
            )
        )
        network = forward.copy(program=found.program)
        for name, (shape, kind) in zip(self._outputs, specs, strict=True):
            network.give(name + COTANGENT, np.zeros(shape, kind))
        return network if self._gpu is None else network.on(self._gpu), [
            checked_gradient(self.who, name, grad)
            for name, grad in zip(self._names, found.grads, strict=True)
        ]

    def _make_second(self, dtype: str) -> tuple[Network, list[str | None]]:
        """None for a gradient that is 0: the first one does not depend on the variable."""
        first, grads = self._backward[dtype]
        network = first.copy()
        for name in self._names:
            network.add_input(name + SECOND, np.zeros_like(np.asarray(first.tensor(name))))
        block = Program.from_desc(network.program).global_block()
        wanted = list(self._names)
        if not self.fixed_cotangent:
            wanted += [name + COTANGENT for name in self._outputs]
        constants = set(network.inputs()).difference(wanted) | self._constants
        try:
            found = gradients(
                [block.var(grad) for grad in grads],
                [block.var(name) for name in wanted],
                [block.var(name + SECOND) for name in self._names],
                no_grad_set={name for name in constants if block.has_var(name)},
            )
        except core.InvalidArgument as error:
            raise NoSecondGradientError(str(error)) from error
        return network, [None if grad is None else grad.name for grad in found]

    def _cotangents(self, vs: Sequence[Array]) -> dict[str, Array]:
        return {o + COTANGENT: v for o, v in zip(self._outputs, vs, strict=True)}

    def _by_name(self, xs: Sequence[Array]) -> dict[str, Array]:
        return dict(zip(self._names, xs, strict=True))


def _specs(outputs: Sequence[Array]) -> _Specs:
    return tuple((y.shape, y.dtype) for y in outputs)


class _PerDtype(dict[str, _T]):
    """What is made once for each dtype, when it is first asked for."""

    def __init__(self, make: Callable[[str], _T]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, dtype: str) -> _T:
        self[dtype] = made = self._make(dtype)
        return made


class _Appended(NamedTuple):
    """A program with gradient operators, and the names of the gradients."""

    program: core.ProgramDesc
    grads: list[str | None]


@dataclass(frozen=True)
class _Question:
    """Which gradients are wanted of a program; equal if the answer is.

    Attributes:
        text: Of the program.
        names: Of the inputs.
        outputs: Name, shape and dtype of each.
        constants: Variables that gradients do not pass.
    """

    text: str
    names: tuple[str, ...]
    outputs: tuple[tuple[str, _Spec], ...]
    constants: frozenset[str]
    program: core.ProgramDesc = field(compare=False)


def _append_gradients(question: _Question) -> _Appended:
    program = question.program.clone()
    block = Program.from_desc(program).global_block()
    for name, (shape, dtype) in question.outputs:
        cotangent = program.block(0).var(name + COTANGENT)
        cotangent.set_shape(list(shape))
        cotangent.set_dtype(name_of(dtype))
    found = gradients(
        [block.var(name) for name, _ in question.outputs],
        [block.var(name) for name in question.names],
        [block.var(name + COTANGENT) for name, _ in question.outputs],
        no_grad_set={name for name in question.constants if block.has_var(name)},
    )
    return _Appended(program, [None if grad is None else grad.name for grad in found])


# An operator is checked at many values, in several dtypes.
_appended = remembered(_append_gradients, 128)


def checked_gradient(who: str, name: str, grad: str | None) -> str:
    """The name of a gradient; core.InvalidArgument if there is none."""
    if grad is None:
        raise core.InvalidArgument(
            f"{who}: an output must depend on '{name}' through operators that have a gradient, "
            "got no such path"
        )
    return grad


def narrowest(program: core.ProgramDesc, dtype: str) -> str:
    """The floating dtype with the fewest digits, of `dtype` and those that operators use."""
    dtypes = {dtype}
    for index in range(program.num_blocks()):
        block = program.block(index)
        for op in block.ops():
            for name in (*op.input_arg_names(), *op.output_arg_names()):
                var = block.find_var_recursive(name)
                if var is not None and var.dtype() in FLOATING:
                    dtypes.add(var.dtype())
    return max(dtypes, key=lambda name: (core.unit_roundoff(name), name))


def common_dtype(who: str, inputs: Sequence[Input]) -> str:
    """The one floating dtype of all inputs."""
    if not inputs:
        raise core.InvalidArgument(f"{who}: there must be an input to check, got none")
    for item in inputs:
        if name_of(item.value.dtype) not in FLOATING:
            raise core.InvalidArgument(
                f"{who}: the input '{item.name}' must be floating to be differentiated, "
                f"got {name_of(item.value.dtype)}"
            )
    dtypes = sorted({name_of(item.value.dtype) for item in inputs})
    if len(dtypes) > 1:
        raise core.InvalidArgument(
            f"{who}: the inputs must have one dtype, got {', '.join(dtypes)}; check the inputs of "
            "one dtype at a time"
        )
    return dtypes[0]
