"""Layers made from operator definitions: one function for each operator.

`clip(x, min, max, *, act=None, name=None)` appends a `clip` operator and returns its result; of
several results a tuple. Arguments are the inputs and then the attributes, those first that must be
given, with the defaults of the definition. Where an input may be left out attributes are
keyword-only. As in Fluid the first input may be named `input`, too; `use_cudnn` and `use_mkldnn`
are accepted and change nothing. A function is made when it is first asked for, so that importing
stays cheap.
"""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

from fluidcore import core
from fluidcore.base.definitions import remembered
from fluidcore.layers.helper import (
    LayerHelper,
    check_variable,
    only_variable,
    restored_on_error,
)
from fluidcore.program.collective import is_collective

_PYTHON_TYPES = {"list of bool": "list[bool]", "list of int": "list[int]"} | {
    "list of float": "list[float]",
    "list of str": "list[str]",
}
_HINTS = frozenset({"use_cudnn", "use_mkldnn"})
_DTYPE_ATTRS = frozenset({"dtype", "in_dtype", "out_dtype"})


class Argument(NamedTuple):
    """One argument of a generated function.

    Attributes:
        name: Of the argument, a Python identifier.
        source: Name of the slot or attribute.
        annotation: Its type, as text.
        doc: What it is.
        default: None for an optional slot; inspect.Parameter.empty if there is no default.
        is_list: Whether a slot takes several variables.
    """

    name: str
    source: str
    annotation: str
    doc: str
    default: Any = inspect.Parameter.empty
    is_list: bool = False


class Result(NamedTuple):
    """One output of an operator."""

    slot: str
    doc: str


class Layer(NamedTuple):
    """What a generated function is made from."""

    op_type: str
    doc: str
    inputs: list[Argument]
    attrs: list[Argument]
    results: list[Result]

    @property
    def annotation(self) -> str:
        """What the function returns."""
        each = ", ".join("Variable" for _ in self.results)
        return each if len(self.results) == 1 else f"tuple[{each}]"


def _identifier(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def _input(slot: Any) -> Argument:
    annotation = "Sequence[Variable]" if slot.list else "Variable"
    default: Any = inspect.Parameter.empty
    if slot.optional:
        annotation, default = f"{annotation} | None", None
    name = _identifier(slot.name.lower())
    return Argument(name, slot.name, annotation, slot.doc, default, slot.list)


def _attr(attr: Any) -> Argument:
    annotation = _PYTHON_TYPES.get(attr.type, attr.type)
    default = inspect.Parameter.empty if attr.required else attr.default
    if attr.name in _DTYPE_ATTRS:
        annotation = "DTypeLike"
        default = default if attr.required else core.dtype_name(attr.default)
    return Argument(_identifier(attr.name), attr.name, annotation, attr.doc, default)


def _of_all(dim: Argument) -> Argument:
    return dim._replace(
        annotation="int | list[int] | None", doc=f"{dim.doc}; None: all", default=None
    )


def attrs_from(layer: Layer, given: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes that arguments set. A reduction without `dim` is one of all dimensions."""
    attrs = {a.source: given[a.name] for a in layer.attrs if a.name in given}
    if any(a.name == "reduce_all" for a in layer.attrs) and attrs.get("dim") is None:
        attrs.pop("dim", None)
        attrs.setdefault("reduce_all", True)
    return attrs


def describe(op_type: str) -> Layer | None:
    """How the function of an operator looks; None if the operator has none.

    Operators of gradients and optimizers, of all ranks together, with lists of results, with a
    block, of tensor arrays, or that choose between variables have none.
    """
    if op_type.endswith("_grad") or is_collective(op_type):
        return None
    definition = core.op_def(op_type)
    outputs = [slot for slot in definition.outputs if not slot.intermediate]
    if any(slot.list or slot.optional for slot in outputs):
        return None
    slots = [*definition.inputs, *outputs]
    if any(slot.array or slot.may_be_unset or not slot.name.isidentifier() for slot in slots):
        return None
    if any(slot.name == "Param" for slot in definition.inputs):
        return None
    if any(attr.type == "block" for attr in definition.attrs):
        return None
    attrs = [_attr(attr) for attr in definition.attrs]
    if any(argument.name == "reduce_all" for argument in attrs):
        attrs = [_of_all(argument) if argument.name == "dim" else argument for argument in attrs]
    inputs = [_input(slot) for slot in definition.inputs]
    # An input that says at run time what an attribute says has a layer of its own.
    inputs = [a for a in inputs if a.default is not None or a.name not in {b.name for b in attrs}]
    inputs.sort(key=lambda argument: argument.default is None)
    results = [Result(slot.name, slot.doc) for slot in outputs]
    return Layer(op_type, definition.doc, inputs, attrs, results)


def layer_names() -> list[str]:
    """The operators that have a generated function."""
    return [op_type for op_type in core.op_types() if describe(op_type) is not None]


def docstring(layer: Layer) -> str:
    """The documentation of a generated function, in Google's style."""
    lines = [layer.doc, "", "Args:"]
    lines += [f"    {argument.name}: {argument.doc}" for argument in layer.inputs + layer.attrs]
    lines += [f"    {name}: {doc}" for name, doc in extras(layer).items()]
    results = [f"    {result.slot}: {result.doc}" for result in layer.results]
    return "\n".join([*lines, "", "Returns:", *results, ""])


def split_arguments(layer: Layer) -> tuple[list[Argument], list[Argument]]:
    """Those that may be given by position, and those that are keyword-only."""
    if any(a.default is None for a in layer.inputs):
        return layer.inputs, layer.attrs
    given = [a for a in layer.attrs if a.default is inspect.Parameter.empty]
    return layer.inputs + given + [a for a in layer.attrs if a not in given], []


def extras(layer: Layer) -> dict[str, str]:
    """The arguments that every layer has, and what they are."""
    name = {"name": "Name of the layer; None makes one up."}
    if len(layer.results) > 1:
        return name
    return {"act": "Type of an activation operator for the result; None for none."} | name


def _signature(layer: Layer) -> inspect.Signature:
    positional, by_keyword = split_arguments(layer)
    parameters = [
        inspect.Parameter(a.name, kind, default=a.default, annotation=a.annotation)
        for kind, arguments in (
            (inspect.Parameter.POSITIONAL_OR_KEYWORD, positional),
            (inspect.Parameter.KEYWORD_ONLY, by_keyword),
        )
        for a in arguments
    ]
    more = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation="str | None"
        )
        for name in extras(layer)
    ]
    return inspect.Signature([*parameters, *more], return_annotation=layer.annotation)


def _checked_input(op_type: str, argument: Argument, value: Any) -> Any:
    if value is None and argument.default is None:
        return None
    if argument.is_list and isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            check_variable(op_type, f"every item of {argument.name}", item)
        return list(value)
    return only_variable(op_type, argument.name, value)


def make_layer(layer: Layer) -> Callable[..., Any]:
    """The function that appends an operator and returns its result, or a tuple of them."""
    signature = _signature(layer)
    op_type = layer.op_type

    def function(*args: Any, **kwargs: Any) -> Any:
        if "input" in kwargs and layer.inputs and "input" not in signature.parameters:
            kwargs.setdefault(layer.inputs[0].name, kwargs.pop("input"))
        for hint in (_HINTS & kwargs.keys()) - signature.parameters.keys():
            del kwargs[hint]
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{op_type}() {error}") from None
        inputs = {
            a.source: _checked_input(op_type, a, given[a.name])
            for a in layer.inputs
            if a.name in given
        }
        attrs = attrs_from(layer, given)
        act = given.get("act")
        with restored_on_error() if act is not None else nullcontext():
            helper = LayerHelper(op_type, given.get("name"))
            outputs = {result.slot: helper.temporary() for result in layer.results}
            helper.block.append_op(op_type, inputs, outputs, attrs)
            results = tuple(helper.block.var(name) for name in outputs.values())
            return helper.activation(results[0], act) if len(results) == 1 else results

    function.__name__ = function.__qualname__ = op_type
    function.__doc__ = docstring(layer)
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


@remembered
def _function(name: str) -> Callable[..., Any] | None:
    try:
        layer = describe(name)
    except core.NotFound:
        return None
    return None if layer is None else make_layer(layer)


def __getattr__(name: str) -> Callable[..., Any]:
    function = None if name.startswith("__") else _function(name)
    if function is None:
        raise AttributeError(f"module '{__name__}' has no layer '{name}'")
    return function


def __dir__() -> list[str]:
    return layer_names()
