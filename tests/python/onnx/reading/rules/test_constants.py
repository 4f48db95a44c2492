"""Values that a model has as Constant nodes, as some exporters write weights."""

import numpy as np
from onnx import helper
from small_models import model_of, tensor, value

import fluidcore as fluid
from fluidcore import onnx as fluid_onnx
from fluidcore.program import Parameter


def constant(name: str, values: object) -> object:
    return helper.make_node("Constant", [], [name], value=tensor(name, values))


def model() -> fluid_onnx.Model:
    """A convolution and a batch norm, times six."""
    rng = np.random.default_rng(1)
    statistics = {
        "scale": [1.5, 0.5],
        "bias": [0.1, 0.2],
        "mean": [0.3, -0.3],
        "variance": [0.7, 1.2],
    }
    nodes = [
        constant("w", rng.normal(size=(2, 1, 3, 3))),
        *[constant(name, numbers) for name, numbers in statistics.items()],
        constant("six", 6.0),
        helper.make_node("Conv", ["x", "w"], ["conv"]),
        helper.make_node("BatchNormalization", ["conv", *statistics], ["norm"]),
        helper.make_node("Mul", ["norm", "six"], ["y"]),
    ]
    proto = model_of(nodes, [value("x", [1, 1, 5, 5])], [value("y", [1, 2, 3, 3])])
    return fluid_onnx.load(proto, scope=fluid.Scope())


def test_of_several_numbers_are_parameters_and_single_numbers_are_none():
    block = model().program.global_block()
    parameters = {v.name: v.trainable for v in block.vars.values() if isinstance(v, Parameter)}
    assert parameters == {
        "w": True,
        "scale": True,
        "bias": True,
        "mean": False,
        "variance": False,
    }


def test_of_statistics_make_a_batch_norm():
    assert [op.type for op in model().program.global_block().ops][:2] == ["conv2d", "batch_norm"]
