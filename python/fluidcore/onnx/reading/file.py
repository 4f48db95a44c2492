"""A file as a ModelProto that `onnx.checker` finds nothing wrong with."""

from __future__ import annotations

import os
from typing import Any

from fluidcore import core
from fluidcore.onnx.package import onnx_package
from fluidcore.onnx.reading.errors import Unsupported
from fluidcore.onnx.reading.tensors import external_path


def read_model(path: str | os.PathLike[str] | Any) -> tuple[Any, str, str | None]:
    """A checked model, its name for messages, and the folder of its external data, if any.

    Args:
        path: The file, or a ModelProto.

    Raises:
        Unsupported: The file is no valid model.
        core.NotFound: There is no such file.
    """
    onnx = onnx_package()
    if isinstance(path, onnx.ModelProto):
        file = path.graph.name or "model"
        _check_graph(path.graph, file, None)
        try:
            onnx.checker.check_model(path)
        except (onnx.checker.ValidationError, ValueError, RuntimeError) as error:
            raise _invalid(file, error) from error
        return path, file, None
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(
            f"load: path must be the name of a file or a ModelProto, got {type(path).__name__}"
        )
    name = os.fspath(path)
    if not os.path.isfile(name):
        raise core.NotFound(f"load: no file {name}")
    folder, file = os.path.split(os.path.abspath(name))
    finding: Exception | None = None
    try:
        onnx.checker.check_model(name)  # before there is anything else in memory
    except (onnx.checker.ValidationError, ValueError, RuntimeError) as error:
        finding = error
    model = _parsed(name, file)
    _check_graph(model.graph, file, folder)
    if finding is not None:
        raise _invalid(file, finding) from finding
    return model, file, folder


def _invalid(file: str, finding: Exception) -> Unsupported:
    first = str(finding).strip().partition("\n")[0]
    return Unsupported(f"{file}: must be a valid ONNX model, got {first}")


def _parsed(name: str, file: str) -> Any:
    model = onnx_package().ModelProto()
    with open(name, "rb") as stream:
        text = stream.read()
    try:
        model.ParseFromString(text)
    except Exception as error:  # google.protobuf.message.DecodeError, which has no fixed home
        raise Unsupported(f"{file}: must be an ONNX model, got a file that is not") from error
    if not model.HasField("graph"):
        raise Unsupported(f"{file}: must be an ONNX model, got a file without a graph")
    return model


def _check_graph(graph: Any, file: str, folder: str | None) -> None:
    """Looks at names and at external data before anything else does."""
    for named in (*graph.input, *graph.output, *graph.initializer):
        _check_names(file, named.name)
    for tensor in graph.initializer:
        if tensor.data_location == tensor.EXTERNAL:
            locations = [each.value for each in tensor.external_data if each.key == "location"]
            what = f"{file}: tensor '{tensor.name}'"
            external_path(locations[0] if locations else "", folder, what)
    for node in graph.node:
        attributes = [attribute.name for attribute in node.attribute]
        own = (node.name, node.op_type, node.domain)
        _check_names(file, *own, *node.input, *node.output, *attributes)
        for attribute in node.attribute:
            for inner in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
                _check_graph(inner, file, folder)


def _check_names(file: str, *names: Any) -> None:
    for name in names:
        if not isinstance(name, str):  # protobuf gives bytes then
            raise Unsupported(f"{file}: names must be text in UTF-8, got {name!r}")
