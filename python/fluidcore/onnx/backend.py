"""ONNX's interface of things that run models, `onnx.backend.base.Backend`, by fluidcore.

Its test suite runs through this. Where a shape depends on the value of an input, the model is read
again for each such value, as `load` with `constants` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, helper
from onnx.backend.base import Backend as _Backend
from onnx.backend.base import BackendRep, namedtupledict
from onnx.shape_inference import infer_shapes

from fluidcore import core
from fluidcore.executor import Executor
from fluidcore.onnx.reading import Model, load
from fluidcore.onnx.reading.errors import KnownTooLate, Unsupported
from fluidcore.onnx.reading.values import Array


class Prepared(BackendRep):
    """A model that can be run again and again.

    Args:
        model: The ModelProto.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        initializers = {tensor.name for tensor in model.graph.initializer}
        self._names = [each.name for each in model.graph.input if each.name not in initializers]
        self._known: set[str] = set()  # inputs whose values shapes depend on
        self._executor = Executor()
        self._key: object = None
        self._loaded: Model | None = None

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Runs the model once.

        Args:
            inputs: Arrays in the order of the inputs of the model, or by name.
            **kwargs: Accepted and not used.

        Returns:
            Arrays in the order of the outputs of the model, by their names, too.

        Raises:
            Unsupported: fluidcore cannot express the model.
        """
        del kwargs
        model, feed = self.model_for(inputs)
        results = self._executor.run(model.program, feed, model.fetches, model.scope)
        return namedtupledict("Outputs", model.outputs)(*results)  # type: ignore[no-any-return]

    def model_for(self, inputs: Any) -> tuple[Model, dict[str, Array]]:
        """The model as it is read for some inputs, and what it is fed; otherwise as `run`."""
        if isinstance(inputs, Mapping):
            given = dict(inputs)
        else:
            listed = inputs if isinstance(inputs, (list, tuple)) else [inputs]
            given = dict(zip(self._names, listed, strict=False))
        arrays = {name: _array(name, value) for name, value in given.items()}
        model = self._for(arrays)
        return model, {name: arrays[name] for name in model.feeds}

    def _for(self, arrays: Mapping[str, Array]) -> Model:
        """The model for these shapes, and for the values that shapes depend on."""
        while True:
            shapes = {name: array.shape for name, array in arrays.items()}
            constants = {name: arrays[name] for name in self._known}
            key = (shapes, {name: array.tobytes() for name, array in constants.items()})
            if self._loaded is not None and key == self._key:
                return self._loaded
            try:
                self._loaded = load(
                    self._model, shapes=shapes, constants=constants, scope=core.Scope()
                )
            except KnownTooLate as late:
                more = {late.name} & arrays.keys() or _numbers(arrays)
                if more <= self._known:
                    raise
                self._known |= more
                continue
            self._key = key
            return self._loaded


def _array(name: str, value: Any) -> Array:
    if not isinstance(value, (np.ndarray, np.generic, int, float, bool)):
        raise Unsupported(f"input '{name}': must be a tensor, got {type(value).__name__}")
    return np.asarray(value)


def _numbers(arrays: Mapping[str, Array]) -> set[str]:
    """The inputs that may be extents, axes and the like."""
    return {
        name for name, a in arrays.items() if not a.ndim or (a.ndim < 2 and a.dtype.kind in "iub")
    }


class Backend(_Backend):
    """Prepares and runs models on the CPU."""

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> Prepared:
        """A model ready to run.

        Args:
            model: A ModelProto.
            device: "CPU".
            **kwargs: Accepted and not used.

        Raises:
            Unsupported: fluidcore cannot express the model.
        """
        del kwargs
        if not cls.supports_device(device):
            raise core.InvalidArgument(f"prepare: device must be 'CPU', got {device!r}")
        if not isinstance(model, ModelProto):
            raise TypeError(f"prepare: model must be a ModelProto, got {type(model).__name__}")
        return Prepared(model)

    @classmethod
    def run_node(
        cls,
        node: Any,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[Any] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Runs one node.

        Args:
            node: A NodeProto.
            inputs: Arrays in the order of its inputs.
            device: "CPU".
            outputs_info: Accepted and not used.
            **kwargs: `opset_version`, else that of the newest opset is used.

        Raises:
            Unsupported: fluidcore cannot express the node.
        """
        del outputs_info
        if not isinstance(node, NodeProto):
            raise TypeError(f"run_node: node must be a NodeProto, got {type(node).__name__}")
        names = [name for name in node.input if name]
        values = [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for name, array in zip(names, map(np.asarray, inputs), strict=True)
        ]
        outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
        graph = helper.make_graph([node], "node", values, outputs)
        version = kwargs.get("opset_version")
        opsets = None if version is None else [helper.make_opsetid("", version)]
        model = helper.make_model(graph, opset_imports=opsets)
        return cls.prepare(infer_shapes(model), device).run(inputs)  # types of its outputs

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether models can run there: on the CPU alone."""
        return device == "CPU"


prepare = Backend.prepare
run_node = Backend.run_node
run_model = Backend.run_model
supports_device = Backend.supports_device
is_compatible = Backend.is_compatible
