"""Operators of a block in whose place the operators come that they stand for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers
from fluidcore.program.writing_out import (
    decomposes_by_specs,
    is_its_decomposition,
    specs_of_inputs,
    steps_of,
)


@pytest.fixture(autouse=True)
def programs() -> Iterator[None]:
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        yield


def write_both(x, out):
    np.square(x, out=out)


def squares(name: str, forward: object = None) -> object:
    functions = {"decompose": lambda x: layers.square(layers.assign(x))}
    if forward is not None:
        functions["forward"] = forward
    return fluid.custom_op(name, inputs=["X"], outputs=["Out"])(type("Squares", (), functions))


def test_an_operator_says_what_becomes_of_it():
    squares("only_layers")
    squares("with_forward", write_both)
    assert [is_its_decomposition(t) for t in ("only_layers", "with_forward", "relu")] == [
        True,
        False,
        False,
    ]
    assert decomposes_by_specs("only_layers")
    assert decomposes_by_specs("with_forward")
    assert not decomposes_by_specs("tanh_grad")


def test_the_steps_write_the_outputs_of_the_operator():
    y = squares("with_forward", write_both)(layers.data("x", [3]))
    block = fluid.default_main_program().global_block()
    op = block.desc.op(0)
    assert specs_of_inputs(op, block.desc) == {"x": ([-1, 3], "float32")}
    first, second = steps_of(op, block.desc)
    assert (first.type, first.inputs) == ("assign", {"X": ["x"]})
    assert (second.type, second.outputs) == ("square", {"Out": [y.name]})
    assert first.outputs["Out"] == second.inputs["X"]


def test_what_the_operator_overwrites_is_written_last():
    squares("with_forward", write_both)
    x = layers.assign(layers.data("x", [3]))
    block = fluid.default_main_program().global_block()
    block.append_op("with_forward", {"X": x}, {"Out": x})
    *_, last = steps_of(block.desc.op(1), block.desc)
    assert (last.type, last.outputs) == ("assign", {"Out": [x.name]})


def test_an_operator_is_written_out_in_its_place_with_its_line():
    x = layers.data("x", [3])
    y = squares("with_forward", write_both)(x)
    layers.relu(y)
    block = fluid.default_main_program().global_block()
    site = block.ops[0].call_site
    block.write_out_all(decomposes_by_specs)
    assert [op.type for op in block.ops] == ["assign", "square", "relu"]
    assert [op.call_site for op in block.ops[:2]] == [site, site]
    (got,) = fluid.Executor().run(feed={"x": np.full((1, 3), 3, "float32")}, fetch_list=[y])
    np.testing.assert_array_equal(got, np.full((1, 3), 9))


def test_an_operator_that_stands_for_nothing_else_stays():
    layers.relu(layers.data("x", [3]))
    block = fluid.default_main_program().global_block()
    with pytest.raises(fluid.InvalidArgument, match=r"^relu: there must be a decomposition, got"):
        block.write_out(0)
    assert [op.type for op in block.ops] == ["relu"]
