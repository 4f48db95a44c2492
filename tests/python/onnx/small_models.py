"""Small ONNX models for tests."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

import fluidcore as fluid
from fluidcore import onnx as fluid_onnx

FLOAT = TensorProto.FLOAT


def tensor(name: str, values: Any, dtype: Any = np.float32) -> TensorProto:
    return numpy_helper.from_array(np.asarray(values, dtype), name)


def value(name: str, shape: Sequence[int | str] | None, kind: int = FLOAT) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def model_of(
    nodes: Sequence[Any],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    initializers: Sequence[TensorProto] = (),
    opset: int = 17,
    **settings: Any,
) -> ModelProto:
    graph = helper.make_graph(nodes, "small", inputs, outputs, initializers)
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10, **settings)


def one_node(
    op_type: str,
    *arrays: np.ndarray,
    opset: int = 17,
    kind: int | Sequence[int] | None = None,
    known: Sequence[int] = (),
    outputs: int = 1,
    **attrs: Any,
) -> ModelProto:
    """A model of one node.

    Inputs in `known` are initializers. Outputs are of `kind`, or as the first input; the shape that
    is said of them is not looked at.
    """
    names = [f"x{i}" for i in range(len(arrays))]
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op_type, names, results, name="it", **attrs)
    kinds = [helper.np_dtype_to_tensor_dtype(array.dtype) for array in arrays]
    inputs = [
        value(name, array.shape, each)
        for i, (name, array, each) in enumerate(zip(names, arrays, kinds, strict=True))
        if i not in known
    ]
    kind = kinds[0] if kind is None else kind
    each = [kind] * outputs if isinstance(kind, int) else kind
    declared = [value(name, [], k) for name, k in zip(results, each, strict=True)]
    fixed = [tensor(names[i], arrays[i], arrays[i].dtype) for i in known]
    return model_of([node], inputs, declared, fixed, opset)


def run(model: ModelProto | str, feed: dict[str, Any] | None = None, **settings: Any) -> list[Any]:
    loaded = fluid_onnx.load(model, **settings)
    return fluid.Executor().run(loaded.program, feed or {}, loaded.fetches, loaded.scope)


def run_node(op_type: str, *arrays: np.ndarray, **settings: Any) -> Any:
    """What one node makes of its inputs: an array, or a list if there are several."""
    model = one_node(op_type, *arrays, **settings)
    known = settings.get("known", ())
    feed = {f"x{i}": array for i, array in enumerate(arrays) if i not in known}
    results = run(model, feed)
    return results[0] if len(results) == 1 else results
