"""The walk over the nodes of a graph: each becomes operators, or a value that is known now."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fluidcore import core
from fluidcore.base.dtypes import FLOATING
from fluidcore.onnx.reading.budget import Budget
from fluidcore.onnx.reading.errors import Unsupported
from fluidcore.onnx.reading.extents import EXTENT_RULES, followed
from fluidcore.onnx.reading.folding import folded
from fluidcore.onnx.reading.functions import Body, Functions
from fluidcore.onnx.reading.node import Node
from fluidcore.onnx.reading.rules import NOT_FOLDED, RULES, Rule
from fluidcore.onnx.reading.state import State
from fluidcore.onnx.reading.symbols import Symbols
from fluidcore.onnx.reading.tensors import to_array
from fluidcore.onnx.reading.values import Constant, Extents, Value, as_sequence
from fluidcore.program import Variable

_MOST_NODES = 100_000  # functions inside functions can make exponentially many
# what the Python of a rule makes of numbers that do not fit together
_MISFITS = (core.Error, ValueError, TypeError, LookupError, ArithmeticError, MemoryError)
_DEEPEST = 50  # functions and blocks inside one another


@dataclass
class Frame:
    """The names that nodes see: of a graph, of a block in it, or of a function.

    Attributes:
        opsets: Domain -> version.
        values: Name -> value.
        outer: Whose names are seen, too; None for a function or the outermost graph.
        attributes: Of the node that calls a function, and whose frame they are from.
        calls: The functions that are being read.
        depth: How many blocks are around this one.
        left_out: The inputs of the function, which its caller may leave out.
        read: The names that its nodes, blocks inside included, or its outputs read.
    """

    opsets: Mapping[str, int]
    values: dict[str, Value] = field(default_factory=dict)
    outer: Frame | None = None
    attributes: Mapping[str, tuple[Any, Frame]] = field(default_factory=dict)
    calls: tuple[tuple[str, str], ...] = ()
    depth: int = 0
    left_out: Collection[str] = ()
    read: Collection[str] = ()

    def find(self, name: str) -> Value | None:
        """The value of a name here or further out; None if there is none."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.values:
                return frame.values[name]
            frame = frame.outer
        return None


class Walk:
    """The walk over a model.

    Attributes:
        symbols: Of open extents of the outermost graph, by name of value.

    Args:
        state: The program that is made, and the values of its parameters.
        functions: Those of the model.
        folder: Where files of external data are.
    """

    def __init__(self, state: State, functions: Functions, folder: str | None) -> None:
        self.state = state
        self.functions = functions
        self.folder = folder
        self.file = state.file
        self.symbols: Symbols = {}
        self.budget = Budget()
        self._num_nodes = 0

    def add_initializers(self, graph: Any, frame: Frame) -> None:
        """Makes the initializers of a graph known by name."""
        if graph.sparse_initializer:
            raise Unsupported(f"{self.file}: initializers must be dense, got sparse ones")
        for tensor in graph.initializer:
            if tensor.name in frame.values:
                raise Unsupported(
                    f"{self.file}: each value must have a name of its own, got '{tensor.name}' "
                    "twice"
                )
            array = to_array(tensor, self.folder, self.file)
            self.budget.add(array.size)
            # Numbers without a dimension are what exporters make of constants: 1e-5, sqrt(64).
            trainable = array.ndim > 0 and array.dtype.name in FLOATING
            frame.values[tensor.name] = Constant(array, tensor.name, trainable)

    def add_nodes(self, nodes: Sequence[Any], outputs: Iterable[str], frame: Frame) -> None:
        """Reads the nodes of a frame in their order.

        Args:
            nodes: All that it has.
            outputs: The names that are read of it from outside.
            frame: What the nodes see.
        """
        frame.read = {*outputs, *_names_read(nodes)}
        for proto in nodes:
            self._num_nodes += 1
            if self._num_nodes > _MOST_NODES:
                raise Unsupported(
                    f"{self.file}: a model must have at most {_MOST_NODES:,} nodes, functions "
                    "written out, got more"
                )
            self._add_node(proto, self._num_nodes, frame)

    def _add_node(self, proto: Any, number: int, frame: Frame) -> None:
        node = self._view(proto, number, frame)
        results = self._results(node, frame)
        names = list(proto.output)
        if len(results) < len(names):
            missing = [name for name in names[len(results) :] if name in frame.read]
            if missing:
                raise node.refuse(
                    f"outputs must be among the first {len(results)}, which fluidcore calculates",
                    missing,
                )
        for name, result in zip(names, results, strict=False):
            if not name:
                continue
            value = result
            if value is None and name not in frame.read:
                continue
            if value is None:
                raise node.refuse("outputs must be ones that fluidcore can calculate", repr(name))
            if name in frame.values:
                raise node.refuse("outputs must have names of their own", f"'{name}' twice")
            is_inner = frame.calls or frame.depth
            if isinstance(value, Variable) and not is_inner:
                value = self.state.named(value, name)
            elif isinstance(value, Constant) and not value.name:
                value = Constant(value.array, name, value.is_parameter)
            frame.values[name] = value

    def _view(self, proto: Any, number: int, frame: Frame) -> Node:
        domain = "" if proto.domain == "ai.onnx" else proto.domain
        opset = frame.opsets.get(domain, 0)
        label = f"node '{proto.name}'" if proto.name else f"node {number}"
        dot = f"{domain}." if domain else ""
        where = f"{self.file}: {label} ({dot}{proto.op_type}, opset {opset})"
        if not opset and self.functions.find(domain, proto.op_type) is None:
            raise Unsupported(f"{where}: the model must say the opset of the node, got none")
        attributes = _attributes(proto, frame)
        inputs: list[Value | None] = []
        for name in proto.input:
            value = frame.find(name) if name else None
            if name and value is None and name not in frame.left_out:
                raise Unsupported(
                    f"{where}: inputs must be values that come before the node, got '{name}'"
                )
            inputs.append(value)

        def block(name: str, given: Sequence[Value]) -> list[Value]:
            attribute, home = attributes[name]
            return self._inner_block(attribute.g, home, given)

        plain = {name: attribute for name, (attribute, _) in attributes.items()}
        symbols = {} if frame.calls or frame.depth else self.symbols
        make = self.state.variable
        read = frame.read
        return Node(proto, opset, inputs, plain, where, make, block, symbols, self.budget, read)

    def _results(self, node: Node, frame: Frame) -> Sequence[Value | None]:
        proto = node.proto
        domain = "" if proto.domain == "ai.onnx" else proto.domain
        body = self.functions.find(domain, proto.op_type)
        rule = RULES.get((domain, proto.op_type))
        if body is None and rule is not None:
            results = self._by_rule(node, rule, domain)
            if results is not None:
                return results
        body = body or self.functions.of_schema(node, domain)
        if body is None:
            raise node.refuse(
                "the operator must be one that fluidcore has",
                f"{domain}.{proto.op_type}" if domain else proto.op_type,
            )
        return self._call(node, body, frame)

    def _by_rule(self, node: Node, rule: Rule, domain: str) -> Sequence[Value | None] | None:
        """The results; None if they are by the definition of the operator."""
        op_type = node.op_type
        given = [value for value in node.inputs if value is not None]
        follow = EXTENT_RULES.get((domain, op_type))
        try:
            if follow is not None and any(isinstance(value, Extents) for value in given):
                extents = followed(node, follow)
                if extents is not None:
                    return [extents]
            known = all(isinstance(v, Constant) and not v.is_parameter for v in given)
            if given and known and (domain, op_type) not in NOT_FOLDED:
                results = folded(node, rule)
                if results is not None:
                    node.check_all_asked()
                    return results
            found = rule(node)
            if found is None:
                return None
            node.check_all_asked()
            return as_sequence(found)
        except Unsupported:
            raise
        except _MISFITS as error:
            raise node.refuse("must be a node that fluidcore can run", _said(error)) from error

    def _call(self, node: Node, body: Body, frame: Frame) -> Sequence[Value | None]:
        """The results of a function, node by node."""
        if body.key in frame.calls:
            raise node.refuse("functions must not call themselves", f"{body.key[1]} inside itself")
        if len(frame.calls) >= _DEEPEST:
            raise node.refuse(f"functions must be at most {_DEEPEST} deep", "more")
        inner = Frame(
            body.opsets(frame.opsets),
            attributes={name: (a, frame) for name, a in body.defaults.items()}
            | _attributes(node.proto, frame),
            calls=(*frame.calls, body.key),
            depth=frame.depth,
            left_out=set(body.function.input),
        )
        for name, value in zip(body.function.input, node.inputs, strict=False):
            if value is not None:
                inner.values[name] = value
        self.add_nodes(body.function.node, body.function.output, inner)
        return [inner.values.get(name) for name in body.function.output]

    # Blocks inside nodes

    def _inner_block(self, graph: Any, frame: Frame, inputs: Sequence[Value]) -> list[Value]:
        """The outputs of the graph of an attribute, appended to the current block.

        Args:
            graph: The GraphProto.
            frame: Of the node.
            inputs: What the inputs of the graph are.
        """
        if frame.depth >= _DEEPEST:
            raise Unsupported(f"{self.file}: blocks must be at most {_DEEPEST} deep, got more")
        inner = Frame(
            frame.opsets,
            outer=frame,
            attributes=frame.attributes,
            calls=frame.calls,
            depth=frame.depth + 1,
            left_out=frame.left_out,
        )
        for info, given in zip(graph.input, inputs, strict=True):
            inner.values[info.name] = given
        self.add_initializers(graph, inner)
        self.add_nodes(graph.node, [info.name for info in graph.output], inner)
        found = [inner.find(info.name) for info in graph.output]
        for info, value in zip(graph.output, found, strict=True):
            if value is None:
                raise Unsupported(
                    f"{self.file}: graph '{graph.name}': outputs must be values of the graph, "
                    f"got '{info.name}'"
                )
        return [value for value in found if value is not None]


def _names_read(nodes: Iterable[Any]) -> Iterator[str]:
    """The inputs of nodes, and what graphs inside them read."""
    for proto in nodes:
        yield from proto.input
        for attribute in proto.attribute:
            for graph in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
                yield from (info.name for info in graph.output)
                yield from _names_read(graph.node)


def _said(error: BaseException) -> str:
    is_clear = isinstance(error, core.Error)
    return str(error) if is_clear else f"{type(error).__name__}: {error}"


def _attributes(proto: Any, frame: Frame) -> dict[str, tuple[Any, Frame]]:
    """The attributes of a node, those of the calling node put in, and whose frame they are from."""
    found = {}
    for attribute in proto.attribute:
        if not attribute.ref_attr_name:
            found[attribute.name] = (attribute, frame)
        elif attribute.ref_attr_name in frame.attributes:
            found[attribute.name] = frame.attributes[attribute.ref_attr_name]
    return found
