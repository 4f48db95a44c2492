"""Functions: nodes that stand for several, by the model or by the operator's own definition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fluidcore.onnx.package import onnx_package
from fluidcore.onnx.reading.errors import Unsupported
from fluidcore.onnx.reading.node import Node
from fluidcore.onnx.reading.values import Extents, Items, dtype_of, shape_of


@dataclass(frozen=True)
class Body:
    """A function that can be read in the place of a node.

    Attributes:
        key: Its domain and name.
        function: The FunctionProto.
        defaults: The attributes that the caller may leave out.
        is_own: Whether it is of the model, not of an operator's definition.
    """

    key: tuple[str, str]
    function: Any
    defaults: Mapping[str, Any] = field(default_factory=dict)
    is_own: bool = True

    def opsets(self, around: Mapping[str, int]) -> dict[str, int]:
        """Domain -> version, of the nodes inside.

        Args:
            around: Those of the caller, which hold where ONNX's own function says none.
        """
        said = opsets_of(self.function)
        return said if self.is_own else {**around, **said}


def opsets_of(proto: Any) -> dict[str, int]:
    """Domain -> version of what a model or a function imports; "ai.onnx" is ""."""
    return {
        "" if each.domain == "ai.onnx" else each.domain: each.version for each in proto.opset_import
    }


class Functions:
    """The functions of a model, and those that the operators of ONNX are defined by."""

    def __init__(self, model: Any, file: str) -> None:
        self._own: dict[tuple[str, str], Body] = {}
        for function in model.functions:
            key = (function.domain, function.name)
            if key in self._own:
                raise Unsupported(
                    f"{file}: each function must have a name of its own, got '{function.name}' "
                    "twice"
                )
            defaults = {each.name: each for each in function.attribute_proto}
            self._own[key] = Body(key, function, defaults)

    def find(self, domain: str, name: str) -> Body | None:
        """The function of the model."""
        return self._own.get((domain, name))

    def of_schema(self, node: Node, domain: str) -> Body | None:
        """The function that ONNX defines the operator of a node by; None if there is none."""
        onnx = onnx_package()
        try:
            schema = onnx.defs.get_schema(node.op_type, node.opset, domain)
        except onnx.defs.SchemaError:
            return None
        function = onnx.FunctionProto()
        try:
            text = self._plain(schema, node) or self._for_types(schema, node)
            function.ParseFromString(text)
        except (RuntimeError, ValueError, TypeError) as error:
            raise node.refuse("must be a node that ONNX can define", error) from error
        if not text:
            return None
        defaults = {
            name: each.default_value
            for name, each in schema.attributes.items()
            if each.default_value.name
        }
        return Body((domain, node.op_type), function, defaults, is_own=False)

    @staticmethod
    def _plain(schema: Any, node: Node) -> bytes:
        versions = [v for v in schema.function_opset_versions if v <= node.opset]
        if not schema.has_function or not versions:
            return b""
        return bytes(schema.get_function_with_opset_version(max(versions)))

    @staticmethod
    def _for_types(schema: Any, node: Node) -> bytes:
        """Of a function that depends on the types of its inputs."""
        versions = schema.context_dependent_function_opset_versions
        versions = [v for v in versions if v <= node.opset]
        if not schema.has_context_dependent_function or not versions:
            return b""
        onnx = onnx_package()
        proto = onnx.NodeProto()
        proto.CopyFrom(node.proto)
        del proto.attribute[:]
        for name, attribute in node.attributes.items():
            copy = proto.attribute.add()
            copy.CopyFrom(attribute)
            copy.name = name
        types = []
        for value in node.inputs:
            kind = onnx.TypeProto()
            if value is not None and not isinstance(value, (Extents, Items)):
                element = getattr(onnx.TensorProto, _ONNX_NAMES.get(dtype_of(value), "UNDEFINED"))
                shape = [None if extent < 0 else extent for extent in shape_of(value)]
                kind = onnx.helper.make_tensor_type_proto(element, shape)
            types.append(kind.SerializeToString())
        text = schema.get_context_dependent_function_with_opset_version(
            max(versions), proto.SerializeToString(), types
        )
        return bytes(text)


_ONNX_NAMES = {
    name: name.upper().replace("FLOAT64", "DOUBLE").replace("FLOAT32", "FLOAT")
    for name in (
        *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
        *("float16", "bfloat16", "float32", "float64"),
    )
}
