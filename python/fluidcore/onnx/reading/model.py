"""load: an ONNX model as a program."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fluidcore import core, layers
from fluidcore.executor import global_scope
from fluidcore.onnx.reading.errors import Unsupported
from fluidcore.onnx.reading.file import read_model
from fluidcore.onnx.reading.functions import Functions, opsets_of
from fluidcore.onnx.reading.graph import Frame, Walk
from fluidcore.onnx.reading.state import State
from fluidcore.onnx.reading.symbols import symbols_of
from fluidcore.onnx.reading.tensors import element_type, type_name
from fluidcore.onnx.reading.values import Array, Constant, Extents, Items, Value, shape_of
from fluidcore.program import Program, Variable, program_guard


@dataclass(frozen=True)
class Model:
    """A model that was loaded.

    Attributes:
        program: The program; its parameters are the floating initializers of the model.
        feeds: Names to feed: the inputs of the model, in its order.
        fetches: The variables to fetch: the outputs of the model, in its order.
        outputs: The names that the model has for these.
        scope: Where the values of the parameters are.
        metadata: What the model says of itself: producer_name, doc_string, its own properties.
    """

    program: Program
    feeds: list[str]
    fetches: list[Variable]
    outputs: list[str]
    scope: core.Scope
    metadata: dict[str, str] = field(default_factory=dict)


def load(
    path: str | os.PathLike[str] | Any,
    *,
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    constants: Mapping[str, Any] | None = None,
    scope: core.Scope | None = None,
) -> Model:
    """Reads an ONNX model as a program in test mode.

    Nothing in the file is executed, and no file outside of its folder is read. What the model
    calculates from known numbers alone, shapes for example, is calculated now.

    Args:
        path: The file, or an `onnx.ModelProto`, which must have its data in itself.
        dims: Symbol -> extent, for extents that the model has a symbol for ("batch"); those that
            are not given stay open, -1 in shapes.
        shapes: Name of an input -> its extents, -1 for open ones, in place of those of the model.
        constants: Name of an input -> its value: it is not fed. Where the shape of a result
            depends on the value of an input, that must be given here.
        scope: Where the values of parameters go; None for the global scope.

    Returns:
        The program, what to feed and to fetch, and what the model says of itself.

    Raises:
        Unsupported: The file is damaged, or has something that fluidcore cannot express: the
            message names the node, its operator and opset. The scope is as it was.
        core.NotFound: There is no such file.
        ImportError: The package onnx is not installed.

    Example:
        model = fluid.onnx.load("resnet18.onnx", dims={"batch": 8})
        fluid.Executor().run(model.program, {model.feeds[0]: images}, model.fetches)
    """
    scope = global_scope() if scope is None else scope
    model, arrays = _read(path, _Given(dims or {}, shapes or {}, constants or {}), scope)
    while arrays:  # each goes when it is in the scope
        name, array = arrays.popitem()
        scope.var(name).get_tensor().set(array)
    return model


def _read(path: Any, given: _Given, scope: core.Scope) -> tuple[Model, dict[str, Array]]:
    """The model without the values of its parameters, and these; the file is forgotten then."""
    model, file, folder = read_model(path)
    state = State(file)
    frame = Frame(opsets_of(model))
    outputs = [info.name for info in model.graph.output]
    walk = Walk(state, Functions(model, file), folder)
    with program_guard(state.program, Program()):
        walk.add_initializers(model.graph, frame)
        feeds = _add_inputs(model.graph, given, state, frame)
        walk.symbols = symbols_of(model, {name: shape_of(frame.values[name]) for name in feeds})
        walk.add_nodes(model.graph.node, outputs, frame)
        fetches = [_output(info, state, frame) for info in model.graph.output]
    read = Model(state.program, feeds, fetches, outputs, scope, _metadata(model))
    return read, state.arrays


@dataclass(frozen=True)
class _Given:
    dims: Mapping[str, int]
    shapes: Mapping[str, Sequence[int]]
    constants: Mapping[str, Any]


def _add_inputs(graph: Any, given: _Given, state: State, frame: Frame) -> list[str]:
    """Makes what is fed; returns the names."""
    feeds = []
    names = [info.name for info in graph.input]
    for what, named in (("shapes", given.shapes), ("constants", given.constants)):
        unknown = sorted(named.keys() - set(names))
        if unknown:
            raise core.InvalidArgument(
                f"load: {what} must be of inputs of the model, {names}, got {unknown}"
            )
    for info in graph.input:
        if info.name in frame.values:
            continue  # an initializer: its value is a default that is not overridden
        dtype, shape = _declared(info, given, state.file)
        if info.name in given.constants:
            array = np.asarray(given.constants[info.name])
            _check_constant(info.name, array, dtype, shape)
            frame.values[info.name] = Constant(array, info.name)
            continue
        frame.values[info.name] = state.data(info.name, shape, dtype)
        feeds.append(info.name)
    return feeds


def _declared(info: Any, given: _Given, file: str) -> tuple[str, list[int]]:
    """The element type and the extents of an input."""
    what = f"{file}: input '{info.name}'"
    kind = info.type.WhichOneof("value")
    if kind != "tensor_type":
        raise Unsupported(f"{what}: must be a tensor, got {kind or 'no type'}")
    tensor = info.type.tensor_type
    dtype = element_type(tensor.elem_type)
    if dtype is None:
        raise Unsupported(
            f"{what}: must be of an element type that fluidcore has, got "
            f"{type_name(tensor.elem_type)}"
        )
    if info.name in given.shapes:
        return dtype, [int(extent) for extent in given.shapes[info.name]]
    if not tensor.HasField("shape"):
        raise Unsupported(f"{what}: must have a shape, got none; give shapes to load")
    return dtype, [_extent(dim, given, what) for dim in tensor.shape.dim]


def _extent(dim: Any, given: _Given, what: str) -> int:
    if dim.HasField("dim_value") and dim.dim_value != -1:  # -1: open, to Paddle's exporter
        if dim.dim_value < 0:
            raise Unsupported(f"{what}: all extents must be at least 0, got {dim.dim_value}")
        return int(dim.dim_value)
    return int(given.dims.get(dim.dim_param, -1))


def _check_constant(name: str, array: Any, dtype: str, shape: Sequence[int]) -> None:
    fits = len(shape) == array.ndim and all(
        extent in (-1, found) for extent, found in zip(shape, array.shape, strict=False)
    )
    if array.dtype.name != dtype or not fits:
        raise core.InvalidArgument(
            f"load: constants['{name}'] must be {dtype} {list(shape)}, got {array.dtype.name} "
            f"{list(array.shape)}"
        )


def _output(info: Any, state: State, frame: Frame) -> Variable:
    """The variable of an output, checked against what the model says of it."""
    what = f"{state.file}: output '{info.name}'"
    value: Value | None = frame.values.get(info.name)
    if value is None:
        raise Unsupported(f"{what}: must be a value of the graph, got no node that has it")
    if isinstance(value, Items):
        raise Unsupported(f"{what}: must be a tensor, got a sequence of tensors")
    if isinstance(value, Extents):
        raise Unsupported(
            f"{what}: must not depend on extents that are known only at run time, got "
            f"{list(value.numbers)}; give dims or shapes to load"
        )
    if isinstance(value, Constant):
        value = state.variable(value)
    elif value.desc.is_data():  # a result that something calculates
        value = state.named(layers.assign(value), info.name)
    if info.type.WhichOneof("value") == "tensor_type":
        declared = element_type(info.type.tensor_type.elem_type)
        if info.type.tensor_type.elem_type and declared != value.dtype:
            raise Unsupported(
                f"{what}: must be {type_name(info.type.tensor_type.elem_type)} as the model "
                f"says, got {value.dtype}"
            )
    return value


def _metadata(model: Any) -> dict[str, str]:
    own = {
        name: str(getattr(model, name))
        for name in ("producer_name", "producer_version", "domain", "model_version", "doc_string")
        if getattr(model, name)
    }
    return own | {each.key: each.value for each in model.metadata_props}
