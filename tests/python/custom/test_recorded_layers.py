"""Recording: the operators of a block as steps that write each variable once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers
from fluidcore.custom.recorded_layers import Recording, Spec

ROWS = np.array([[0.5, -1.0, 2.0]], "float32")


def recorded(make: Any) -> Recording:
    """What `make` appends for an input X [-1, 3]; its results are A, B, ..."""
    program = fluid.Program()
    block = program.global_block()
    x = block.create_var("X", shape=[-1, 3], dtype="float32", stop_gradient=False)
    with fluid.program_guard(program, fluid.Program()):
        made = make(x)
    results = made if isinstance(made, tuple) else (made,)
    return Recording(block, [x], dict(zip("ABC", results, strict=False)))


def types(recording: Recording) -> list[tuple[str, bool]]:
    return [(op.type(), constant) for op, constant in recording.steps]


def test_it_runs():
    recording = recorded(lambda x: layers.scale(layers.square(x), 2.0))
    np.testing.assert_array_equal(recording.run([ROWS])[0], 2 * ROWS**2)


def test_what_no_result_needs_is_left_out():
    def make(x):
        layers.exp(x)
        return layers.square(x)

    assert types(recorded(make)) == [("square", False)]


def test_it_knows_the_specs_of_its_results():
    recording = recorded(lambda x: (layers.square(x), layers.cast(x, "int32")))
    assert recording.specs == [Spec((-1, 3), "float32"), Spec((-1, 3), "int32")]


def test_a_variable_that_is_written_again_is_another_one():
    def make(x):
        value = layers.square(x)
        layers.assign(layers.scale(value, 2.0), value)
        return value

    recording = recorded(make)
    written = [name for op, _ in recording.steps for name in op.output_arg_names()]
    assert len(written) == len(set(written)) == 3
    np.testing.assert_array_equal(recording.run([ROWS])[0], 2 * ROWS**2)


def test_a_result_that_is_an_input_or_there_twice_is_a_copy():
    def make(x):
        y = layers.square(x)
        return x, y, y

    recording = recorded(make)
    assert len(set(recording.results.values())) == 3
    assert "X" not in recording.results.values()
    for found, want in zip(recording.run([ROWS]), (ROWS, ROWS**2, ROWS**2), strict=True):
        np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("at", ["input", "only output", "one of two outputs"])
def test_a_variable_that_stops_gradients_comes_from_a_step_that_does(at):
    def make(x):
        if at == "input":
            x.stop_gradient = True
            return layers.square(x)
        if at == "only output":
            y = layers.square(x)
            y.stop_gradient = True
            return layers.scale(y, 2.0)
        first, second = layers.split(x, [1, 2], dim=1)
        second.stop_gradient = True
        return layers.elementwise_mul(second, layers.concat([first, first], axis=1))

    found = types(recorded(make))
    constants = {
        "input": [("assign", True), ("square", False)],
        "only output": [("square", True), ("scale", False)],
        "one of two outputs": [
            ("split", False),
            ("assign", True),
            ("concat", False),
            ("elementwise_mul", False),
        ],
    }
    assert found == constants[at]
