"""Which open extents are the same: "batch" of an input is "batch" of what is calculated from it.

It is ONNX's own inference of shapes that says so, on a copy of the model without its weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from fluidcore.onnx.package import onnx_package

Symbols: TypeAlias = "Mapping[str, Sequence[str | None]]"  # name of a value -> its extents

_MOST_KEPT = 64  # bytes of initializers that are kept: they are shapes, perhaps


def symbols_of(model: Any, shapes: Mapping[str, Sequence[int]]) -> Symbols:
    """The symbols of open extents by name of value; None for known extents.

    Args:
        model: The ModelProto.
        shapes: Name of an input -> its extents, -1 for open ones.
    """
    if not any(-1 in shape for shape in shapes.values()):
        return {}
    onnx = onnx_package()
    try:
        found = onnx.shape_inference.infer_shapes(_without_weights(model, shapes), data_prop=True)
    except Exception:  # whatever it does not understand, nothing is known of
        return {}
    graph = found.graph
    return {info.name: _symbols(info) for info in (*graph.input, *graph.value_info, *graph.output)}


def _symbols(info: Any) -> list[str | None]:
    return [
        dim.dim_param if dim.HasField("dim_param") and dim.dim_param else None
        for dim in info.type.tensor_type.shape.dim
    ]


def _without_weights(model: Any, shapes: Mapping[str, Sequence[int]]) -> Any:
    onnx = onnx_package()
    copy = onnx.ModelProto(ir_version=model.ir_version)
    copy.opset_import.extend(model.opset_import)
    copy.functions.extend(model.functions)
    graph = copy.graph
    graph.name = model.graph.name
    graph.node.extend(model.graph.node)
    for info in model.graph.input:
        made = graph.input.add()
        made.CopyFrom(info)
        if info.name in shapes:
            extents = [
                f"{info.name}[{axis}]" if extent < 0 else extent
                for axis, extent in enumerate(shapes[info.name])
            ]
            for axis, dim in enumerate(info.type.tensor_type.shape.dim):
                if axis >= len(extents) or isinstance(extents[axis], int):
                    continue
                if any(map(str.isalnum, dim.dim_param)):  # "?" is no name of one extent
                    extents[axis] = dim.dim_param
            kind = info.type.tensor_type.elem_type
            made.CopyFrom(onnx.helper.make_tensor_value_info(info.name, kind, extents))
    inputs = {info.name for info in graph.input}
    for tensor in model.graph.initializer:
        if tensor.ByteSize() <= _MOST_KEPT + len(tensor.name):
            graph.initializer.add().CopyFrom(tensor)
        elif tensor.name not in inputs:
            info = onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
            graph.input.add().CopyFrom(info)
    for info in model.graph.output:
        graph.output.add().name = info.name
    return copy
