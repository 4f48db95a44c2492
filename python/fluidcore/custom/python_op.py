"""@custom_op: an operator whose formulas are Python functions, or that stands for layers."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.base.checks import extents_agree
from fluidcore.base.definitions import definitions_changed
from fluidcore.custom.check import check_decomposition, check_definition, has_gradient, values_at
from fluidcore.custom.decomposition import Decomposition
from fluidcore.custom.formula import (
    Function,
    called_with,
    gradient_parameters,
    parameter_name,
    parameters_of,
    slot_parameters,
)
from fluidcore.custom.recorded_layers import Spec
from fluidcore.layers.generated import describe, make_layer
from fluidcore.program.attributes import plain_attributes
from fluidcore.program.collective import is_collective


def custom_op(
    type: str,
    *,
    inputs: Sequence[str] | Mapping[str, str],
    outputs: Sequence[str] | Mapping[str, str],
    attrs: Mapping[str, Any] | None = None,
    examples: Mapping[str, Any] | None = None,
    check: bool | None = None,
) -> Callable[[Any], Callable[..., Any]]:
    """Makes an operator of a class of functions, and a layer function of the class.

        @fluid.custom_op("cube", inputs=["X"], outputs=["Out"], attrs={"scale": 1.0})
        class cube:
            "Out = scale X^3."

            @staticmethod
            def forward(x, out, scale):
                np.multiply(scale, x**3, out=out)

            @staticmethod
            def backward(x, dout, dx, scale):
                np.multiply(3 * scale * x**2, dout, out=dx)

        y = cube(x, scale=2.0)  # as any layer; fluid.eager.cube at once

    `forward` and `backward` get NumPy views of the variables by name, the slot in small letters,
    and attributes: inputs, to read only; outputs, to be written; in `backward` also the cotangent
    of an output, `dout`, and the gradient of an input, `dx`, to be written, None where nobody wants
    it. A parameter that is not there is not read, and need not be kept until then. Views are memory
    of one run; keep copies only. The GIL is held while these functions run, and not in between.

    `infer(x, scale)` gets a Spec of each input and gives one of each output; without it every
    output is like the first input. Without `backward` the operator has no gradient, and asking for
    one is an error; an output whose cotangent `backward` does not take is a constant for it. A
    gradient of the gradient there is none. Defining a type again replaces it.

    `decompose` says which layers the operator stands for, and is where its gradients, of any order,
    come from:

        @fluid.custom_op("swish2", inputs=["X"], outputs=["Out"], attrs={"beta": 1.0})
        class swish2:
            "Out = X sigmoid(beta X)."

            @staticmethod
            def decompose(x, beta):
                return x * fluid.layers.sigmoid(fluid.layers.scale(x, beta))

    It gets a Variable of each input and gives one of each output. With `forward` that formula
    calculates the outputs, and must agree with the layers. Without, programs get the layers in the
    operator's place, so that what is saved or exported knows nothing of it. It is called for each
    shape and dtype of the inputs; what it makes must be operators on tensors, without blocks,
    parameters or random numbers. Without `infer` the outputs are what the layers make.

    Args:
        type: Name of the operator.
        inputs: Its slots, or slot -> documentation; each holds one variable.
        outputs: Likewise.
        attrs: Attribute -> default: a bool, int, float, str or a list of one of these.
        examples: Input -> shape or array, for the check; None: (3, 4) of random numbers.
        check: Whether the gradient is checked now, and `forward` beside `decompose`; None: where
            pytest runs.

    Returns:
        A decorator of the class.

    Raises:
        core.InvalidArgument: A name occurs twice, a function is missing, there twice, or has a
            parameter that stands for nothing, the type is one of fluidcore's own operators, or
            what was checked is no decomposition, or not one of `forward`; nothing is defined.
        GradientError: The gradient is wrong; nothing is defined.
    """
    return _Declaration(type, inputs, outputs, attrs or {}, examples or {}, check).define


_defined: set[str] = set()


class _Declaration:
    def __init__(
        self,
        type: str,
        inputs: Sequence[str] | Mapping[str, str],
        outputs: Sequence[str] | Mapping[str, str],
        attrs: Mapping[str, Any],
        examples: Mapping[str, Any],
        check: bool | None,
    ) -> None:
        self.type = type
        self.who = f"custom_op: {type}"
        self.inputs = _documented(f"{self.who}: inputs", inputs)
        self.outputs = _documented(f"{self.who}: outputs", outputs)
        self.attrs = dict(attrs)
        self.examples = examples
        self.check = "pytest" in sys.modules if check is None else check
        self._check_names()

    def _check_names(self) -> None:
        is_name = self.type.isidentifier()
        if not is_name or self.type.endswith("_grad") or is_collective(self.type):
            raise core.InvalidArgument(
                "custom_op: type must be a name that does not end with _grad, and does not begin "
                "with c_, as what several ranks run together does, "
                f"got '{self.type}'"
            )
        if self.type in core.op_types() and self.type not in _defined:
            raise core.InvalidArgument(
                f"{self.who}: the type must be free, got the name of an operator that exists"
            )
        slots = [*self.inputs, *self.outputs]
        names = [slot.lower() for slot in slots] + [f"d{slot.lower()}" for slot in slots]
        names += self.attrs
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise core.InvalidArgument(
                f"{self.who}: slots, in small letters, and attributes must have names of their "
                f"own, got '{twice[0]}' twice"
            )

    @property
    def known(self) -> list[str]:
        return [*slot_parameters([*self.inputs, *self.outputs]), *map(parameter_name, self.attrs)]

    def define(self, formulas: Any) -> Callable[..., Any]:
        forward, backward, decompose = (
            getattr(formulas, name, None) for name in ("forward", "backward", "decompose")
        )
        if forward is None and decompose is None:
            raise core.InvalidArgument(
                f"{self.who}: there must be a function forward or decompose, got none"
            )
        if backward is not None and decompose is not None:
            raise core.InvalidArgument(
                f"{self.who}: the gradient must come from one function, got backward and decompose"
            )
        layers = None if decompose is None else self._decomposition(decompose)
        definition = core.define_op(
            self.type,
            inspect.getdoc(formulas) or "",
            list(self.inputs.items()),
            list(self.outputs.items()),
            {name: (value, "") for name, value in self.attrs.items()},
            self._infer(getattr(formulas, "infer", None), layers),
            self._forward(forward, layers),
            **self._backward(backward),
            decompose=None if layers is None else layers.steps,
            is_its_decomposition=forward is None,
        )
        definitions_changed()
        try:
            if self.check:
                self._check(layers, forward is not None, backward is not None)
        except BaseException:
            definition.take_back()
            definitions_changed()
            raise
        _defined.add(self.type)
        layer = describe(self.type)
        assert layer is not None
        return make_layer(layer)

    def _check(self, layers: Decomposition | None, forward: bool, backward: bool) -> None:
        if layers is None and not backward:
            return
        values = values_at(self.type, list(self.inputs), self.examples)
        if layers is not None and forward:
            check_decomposition(self.type, layers, values, plain_attributes(self.type, self.attrs))
        if has_gradient(self.type, values, list(self.outputs)):
            check_definition(self.type, values)

    def _decomposition(self, function: Function) -> Decomposition:
        return Decomposition(
            self.type, function, list(self.inputs), list(self.outputs), list(self.attrs)
        )

    def _forward(self, function: Function | None, layers: Decomposition | None) -> Any:
        if function is None:
            assert layers is not None
            return layers.forward
        who = f"{self.type}: forward"
        parameters = parameters_of(who, function, self.known)
        slots = slot_parameters([*self.inputs, *self.outputs])
        missing = [name for name in slot_parameters(list(self.outputs)) if name not in parameters]
        if missing:
            raise core.InvalidArgument(
                f"{who}: each output must be a parameter, to be written, got none for {missing[0]}"
            )
        return called_with(who, function, parameters, slots)

    def _backward(self, function: Function | None) -> dict[str, Any]:
        if function is None:
            return {"backward": None, "reads": [], "cotangents": [], "differentiable": []}
        who = f"{self.type}: backward"
        values = slot_parameters([*self.inputs, *self.outputs])
        cotangents = gradient_parameters(list(self.outputs))
        gradients = gradient_parameters(list(self.inputs))
        parameters = parameters_of(who, function, [*self.known, *cotangents, *gradients])
        used_cotangents = [name for name in cotangents if name in parameters]
        used_gradients = [name for name in gradients if name in parameters]
        if not used_cotangents or not used_gradients:
            raise core.InvalidArgument(
                f"{who}: must take a cotangent ({', '.join(cotangents)}) and a gradient to write "
                f"({', '.join(gradients)}), got {', '.join(parameters)}"
            )
        suffix = len(core.GRAD_VAR_SUFFIX)
        return {
            "backward": called_with(who, function, parameters, values | cotangents | gradients),
            "reads": [values[name] for name in parameters if name in values],
            "cotangents": [cotangents[name][:-suffix] for name in used_cotangents],
            "differentiable": [gradients[name][:-suffix] for name in used_gradients],
        }

    def _infer(self, function: Function | None, layers: Decomposition | None) -> Any:
        who = f"{self.type}: infer"
        count = len(self.outputs)
        first = next(iter(self.inputs))
        if function is None and layers is not None:
            return layers.specs
        if function is None:
            return lambda specs, attrs: [specs[first]] * count
        slots = slot_parameters(list(self.inputs))
        parameters = parameters_of(who, function, [*slots, *map(parameter_name, self.attrs)])

        def infer(specs: dict[str, Any], attrs: dict[str, Any]) -> list[Spec]:
            given = {n: Spec(*specs[slots[n]]) if n in slots else attrs[n] for n in parameters}
            results = function(**given)
            results = [results] if isinstance(results, Spec) else list(results)
            if len(results) != count or not all(map(_is_known_form, results)):
                raise TypeError(
                    f"{who} must return a Spec for each of {count} outputs, of a shape of whole "
                    f"numbers, -1 where one is unknown, and a dtype, got {results}"
                )
            declared = [Spec(tuple(int(n) for n in s.shape), s.dtype) for s in results]
            if layers is not None:
                self._check_specs(layers, declared, layers.specs(specs, attrs))
            return declared

        return infer

    def _check_specs(
        self, layers: Decomposition, declared: Sequence[Spec], made: Sequence[Spec]
    ) -> None:
        for slot, wanted, found in zip(self.outputs, declared, made, strict=True):
            if wanted.dtype != found.dtype or not extents_agree(wanted.shape, found.shape):
                raise layers.error(
                    f"must make {slot} as infer declares it, {_text(wanted)}, got {_text(found)}"
                )


def _text(spec: Spec) -> str:
    return f"{spec.dtype} {list(spec.shape)}"


def _is_known_form(spec: Any) -> bool:
    return (
        isinstance(spec, Spec)
        and isinstance(spec.dtype, str)
        and isinstance(spec.shape, (tuple, list))
        and all(isinstance(n, (int, np.integer)) and n >= -1 for n in spec.shape)
    )


def _documented(who: str, slots: Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    if isinstance(slots, str) or not slots:
        raise core.InvalidArgument(f'{who} must be a list of names, ["X"], got {slots!r}')
    named = dict(slots) if isinstance(slots, Mapping) else dict.fromkeys(slots, "")
    for name in named:
        if not isinstance(name, str) or not name.isidentifier():
            raise core.InvalidArgument(f"{who} must be names, got {name!r}")
    return named
