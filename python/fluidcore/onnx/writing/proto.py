"""From a graph to the messages of the package onnx."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.onnx.package import onnx_package
from fluidcore.onnx.writing.graph import Array, Graph, Node, Value
from fluidcore.onnx.writing.opset import IR_VERSION, OPSET
from fluidcore.onnx.writing.pruning import inner_graphs

_ELEMENT_TYPES = {"float32": "FLOAT", "float64": "DOUBLE"}  # others are called as ours


def model_proto(graph: Graph, name: str) -> Any:
    """The ModelProto of a graph; the hints of its inputs and outputs are their names."""
    onnx = onnx_package()
    return onnx.helper.make_model(
        _graph_proto(graph, _Names(graph), name),
        opset_imports=[onnx.helper.make_operatorsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="fluidcore",
        producer_version=core.version(),
    )


_SMALL = 16  # elements of a constant that is written once


class _Names:
    """Gives every value a name of its own: inputs and outputs theirs, others one like their hint.

    Attributes:
        outermost: The graph that holds what is known; those inside see it.
        initializers: What nodes read of what lives between runs.
        constants: The other constants that nodes read; who loads the model is not to train them.
    """

    def __init__(self, graph: Graph) -> None:
        self.outermost = graph
        self.initializers: list[Value] = []
        self.constants: list[Value] = []
        self._equal: dict[tuple[str, tuple[int, ...], bytes], Value] = {}  # small constants
        self._names: dict[int, str] = {}
        self._taken: set[str] = set()
        for value in (*graph.inputs, *graph.outputs):
            self._give(value, "x")
        self._walk(graph)

    def __getitem__(self, value: Value | None) -> str:
        return "" if value is None else self._names[id(value)]

    def _walk(self, graph: Graph) -> None:
        for value in graph.inputs:
            self._give(value, "x")
        for node in graph.nodes:
            for given in node.inputs:
                if given is not None and given.array is not None and id(given) not in self._names:
                    self._keep(given, given.array)
            for inner in inner_graphs(node):
                self._walk(inner)
            for value in node.outputs:
                self._give(value, node.op_type)

    def _keep(self, value: Value, array: Array) -> None:
        if not value.is_stored and array.size <= _SMALL:
            key = (value.dtype, array.shape, array.tobytes())
            if key in self._equal:
                self._names[id(value)] = self[self._equal[key]]
                return
            self._equal[key] = value
        (self.initializers if value.is_stored else self.constants).append(value)
        self._give(value, "constant")

    def _give(self, value: Value, otherwise: str) -> None:
        if id(value) in self._names:
            return
        base = name = value.hint or otherwise
        number = 0
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        self._names[id(value)] = name


def _graph_proto(graph: Graph, names: _Names, name: str) -> Any:
    is_outermost = graph is names.outermost
    constants = [_constant_proto(value, names[value]) for value in names.constants if is_outermost]
    return onnx_package().helper.make_graph(
        [*constants, *(_node_proto(node, names) for node in graph.nodes)],
        name,
        [_value_info(value, names[value], is_outermost) for value in graph.inputs],
        [_value_info(value, names[value], False) for value in graph.outputs],
        [_tensor_proto(value, names[value]) for value in names.initializers if is_outermost],
    )


def _constant_proto(value: Value, name: str) -> Any:
    tensor = _tensor_proto(value, name)
    return onnx_package().helper.make_node("Constant", [], [name], f"Constant:{name}", value=tensor)


def _node_proto(node: Node, names: _Names) -> Any:
    outputs = [names[value] for value in node.outputs]
    attrs = {name: _attribute(name, value, names) for name, value in node.attrs.items()}
    return onnx_package().helper.make_node(
        node.op_type,
        [names[value] for value in node.inputs],
        outputs,
        name=f"{node.op_type}:{outputs[0]}",
        doc_string=node.site or None,
        **attrs,
    )


def _attribute(name: str, value: Any, names: _Names) -> Any:
    if isinstance(value, Graph):
        return _graph_proto(value, names, name)
    if isinstance(value, np.ndarray):
        return _tensor_proto(Value(value.dtype.name, array=value), name)
    return _element_type(value) if name in ("to", "dtype") else value


def _value_info(value: Value, name: str, has_symbols: bool) -> Any:
    """What a value is; an unknown extent of an input is a symbol of its own: "image_0"."""
    shape = value.shape
    extents = None
    if shape is not None:
        symbols = [f"{name}_{i}" if has_symbols else None for i in range(len(shape))]
        extents = [s if e < 0 else e for s, e in zip(symbols, shape, strict=True)]
    helper = onnx_package().helper
    if value.is_sequence:
        return helper.make_tensor_sequence_value_info(name, _element_type(value.dtype), None)
    return helper.make_tensor_value_info(name, _element_type(value.dtype), extents)


def _tensor_proto(value: Value, name: str) -> Any:
    array: Array | None = value.array
    assert array is not None
    return onnx_package().TensorProto(
        name=name,
        data_type=_element_type(value.dtype),
        dims=array.shape,
        raw_data=np.ascontiguousarray(array).tobytes(),
    )


def _element_type(dtype: str) -> int:
    return int(getattr(onnx_package().TensorProto, _ELEMENT_TYPES.get(dtype, dtype.upper())))
