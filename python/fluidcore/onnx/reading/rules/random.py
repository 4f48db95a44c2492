"""Random numbers: drawn anew in each run, from the seed of the program where the node has none."""

from __future__ import annotations

from typing import Any

from fluidcore import layers
from fluidcore.onnx.reading.node import Node
from fluidcore.onnx.reading.rules.common import Result, Rule, Rules, append
from fluidcore.onnx.reading.tensors import element_type, type_name
from fluidcore.program import Variable


def seed_of(node: Node) -> int:
    """A whole number for the seed, which ONNX has as a floating one; 0: that of the program."""
    return abs(hash(float(node.attr("seed", 0.0)))) % (2**31)


def _dtype(node: Node, default: str) -> str:
    number = node.attr("dtype", None)
    found = default if number is None else element_type(number)
    if found is None:
        kind = type_name(number)
        raise node.refuse("attribute dtype must be an element type that fluidcore has", kind)
    return found


def _drawn(op_type: str, first: str, second: str, *, like: bool) -> Rule:
    """Numbers of a distribution.

    Args:
        op_type: The operator of fluidcore.
        first: Its first parameter, ONNX's name and fluidcore's.
        second: Its second parameter.
        like: Whether the shape is that of the input.
    """

    def rule(node: Node) -> Result:
        (from_, to), (from2, to2) = (pair.split(":") for pair in (first, second))
        attrs: dict[str, Any] = {to: float(node.attr(from_)), to2: float(node.attr(from2))}
        attrs["seed"] = seed_of(node)
        if not like:
            shape, dtype = list(node.attr("shape")), _dtype(node, "float32")
            return append(op_type, {}, attrs | {"shape": shape, "dtype": dtype})
        x = node.var(0)
        attrs["dtype"] = _dtype(node, x.dtype)
        free = [i for i, extent in enumerate(x.shape) if extent < 0]
        if not free:
            return append(op_type, {}, attrs | {"shape": list(x.shape)})
        if len(free) > 1:
            raise node.refuse("at most one extent must be open", list(x.shape))
        attrs |= {"shape": list(x.shape), "input_dim_idx": free[0], "output_dim_idx": free[0]}
        return append(f"{op_type}_batch_size_like", {"Input": x}, attrs)

    return rule


def bernoulli(node: Node) -> Result:
    """1 with a probability, else 0."""
    x = node.var(0)
    found = append("bernoulli", {"X": x}, {"seed": seed_of(node)})
    return _as(found, _dtype(node, x.dtype))


def multinomial(node: Node) -> Result:
    """Classes, drawn from the logarithms of their probabilities."""
    attrs = {
        "num_samples": node.attr("sample_size"),
        "replacement": True,
        "seed": seed_of(node),
    }
    weights = append("softmax", {"X": node.var(0)})
    return _as(append("multinomial", {"X": weights}, attrs), _dtype(node, "int32"))


def _as(x: Variable, dtype: str) -> Variable:
    return x if x.dtype == dtype else layers.cast(x, dtype)


_NORMAL = ("mean:mean", "scale:std")
_UNIFORM = ("low:min", "high:max")

RULES: Rules = {
    "Bernoulli": bernoulli,
    "Multinomial": multinomial,
    "RandomNormal": _drawn("gaussian_random", *_NORMAL, like=False),
    "RandomNormalLike": _drawn("gaussian_random", *_NORMAL, like=True),
    "RandomUniform": _drawn("uniform_random", *_UNIFORM, like=False),
    "RandomUniformLike": _drawn("uniform_random", *_UNIFORM, like=True),
}
