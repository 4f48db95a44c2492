"""Saving a program as an ONNX model."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.executor import global_scope
from fluidcore.io.array_file import write_file
from fluidcore.onnx.package import onnx_package
from fluidcore.onnx.writing.graph import Graph, Value
from fluidcore.onnx.writing.program import write_program
from fluidcore.onnx.writing.proto import model_proto
from fluidcore.onnx.writing.pruning import remove_unread
from fluidcore.program import Program, Variable
from fluidcore.program.arguments import variable_names
from fluidcore.program.writing_out import decomposes_by_specs

Path = str | os.PathLike[str]

_LARGEST = 2**31 - 2**24  # bytes of a protobuf message, with room for what is not parameters


def save(
    program: Program,
    feeds: Sequence[Variable | str],
    fetches: Sequence[Variable | str],
    path: Path,
    scope: core.Scope | None = None,
) -> None:
    """Writes the part of a program that calculates `fetches` as an ONNX model.

    It is written for inference: dropout and batch normalization are as in a test, and what only
    training needs is left out. Parameters, and all else that lives between runs, are initializers.
    An operator of your own is written as the layers of its `decompose`.
    An extent of -1 is a symbol of its own, "image_0". What is fetched is an output of its name, or
    of another one, "x_1", where it is fed, too, or fetched twice.

    Args:
        program: The program; it stays as it is.
        feeds: Variables, or their names, that are the inputs.
        fetches: Variables, or their names, that are the outputs.
        path: The file. Parameters of more than 2 GB go into a file beside it, path.data.
        scope: Where the parameters are; None for the global scope.

    Raises:
        ImportError: The package onnx is not installed.
        core.NotFound: A variable does not exist, or a parameter has no value in the scope.
        core.InvalidArgument: The fetches need data that is not fed, or an operator that has no
            ONNX form; the message names it, and its note the line that added it.
        OSError: The file cannot be written; one that was there, of less than 2 GB, is as it was.

    Example:
        from fluidcore import onnx

        onnx.save(program, [image], [prediction], "digits.onnx")
    """
    model = to_model(program, feeds, fetches, scope)
    path = os.fspath(path)
    if sum(tensor.ByteSize() for tensor in model.graph.initializer) <= _LARGEST:
        write_file(path, model.SerializeToString())
        return
    data = f"{path}.data"
    with contextlib.suppress(FileNotFoundError):
        os.remove(data)  # else the package would write behind what is there
    onnx_package().save_model(
        model, path, save_as_external_data=True, location=os.path.basename(data)
    )


def to_model(
    program: Program,
    feeds: Sequence[Variable | str],
    fetches: Sequence[Variable | str],
    scope: core.Scope | None = None,
) -> Any:
    """What `save` writes, as an onnx.ModelProto; arguments and errors are those of `save`."""
    onnx_package()
    if not isinstance(program, Program):
        raise TypeError(f"onnx.save: program must be a Program, got {type(program).__name__}")
    feed_names = variable_names("onnx.save: feeds", feeds, program)
    fetch_names = variable_names("onnx.save: fetches", fetches, program)
    if not fetch_names:
        raise core.InvalidArgument("onnx.save: there must be a variable to fetch, got none")
    if len(set(feed_names)) < len(feed_names):
        raise core.InvalidArgument(f"onnx.save: feeds must be different, got {feed_names}")
    block = program.global_block()
    for name in (*feed_names, *fetch_names):
        if block.var(name).desc.type() != "lod_tensor":
            raise core.InvalidArgument(
                f"onnx.save: feeds and fetches must be tensors, got {block.var(name)!r}"
            )
    pruned = program.clone(for_test=True).prune(fetch_names, feed_names)
    for each in pruned.blocks:
        each.write_out_all(decomposes_by_specs)
    given = _given(pruned, feed_names, global_scope() if scope is None else scope)
    graph = write_program(pruned, given, fetch_names)
    graph.inputs = [given[name] for name in feed_names]
    _name_outputs(graph, fetch_names)
    remove_unread(graph)
    return model_proto(graph, "fluidcore")


def _given(program: Program, feeds: Sequence[str], scope: core.Scope) -> dict[str, Value]:
    """What variables hold before the first operator: the inputs and what lives between runs."""
    block = program.desc.block(0)
    given = {}
    for name in feeds:
        var = block.find_var(name)
        given[name] = Value(var.dtype(), var.shape(), name)
    others = [var for var in block.all_vars() if var.name() not in given]
    unfed = [var.name() for var in others if var.is_data()]
    if unfed:
        raise core.InvalidArgument(
            f"onnx.save: the fetches must need only what is fed, {list(feeds)}; got fetches that "
            f"need {unfed} too"
        )
    names = [var.name() for var in others if var.persistable()]
    for name, tensor in zip(names, scope.snapshot(names), strict=True):
        if not tensor.is_initialized():
            raise core.NotFound(
                f"onnx.save: variable '{name}' must have a value in the scope, got none; run the "
                "startup program first"
            )
        given[name] = _stored(name, tensor)
    inner = {var.name for var in program.list_vars() if var.persistable} - given.keys()
    for name, tensor in zip(sorted(inner), scope.snapshot(sorted(inner)), strict=True):
        if tensor.is_initialized():
            given[name] = _stored(name, tensor)
    return given


def _stored(name: str, tensor: core.Tensor) -> Value:
    array = np.asarray(tensor)
    value = Value(array.dtype.name, array.shape, name, array)
    value.is_stored = True
    return value


def _name_outputs(graph: Graph, names: Sequence[str]) -> None:
    """Gives the outputs their names; what is no value of a node, or is one twice, is copied."""
    taken = {id(value) for value in graph.inputs}
    for i, name in enumerate(names):
        value = graph.outputs[i]
        if id(value) in taken or value.array is not None:
            (copy,) = graph.add("Identity", [value])
            copy.shape = value.shape
            value = graph.outputs[i] = copy
        value.hint = name
        taken.add(id(value))
