"""Programs of which some operators run in 16 bits are judged by what 16 bits can hold."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers
from fluidcore.amp import cast_program
from fluidcore.base.dtypes import HALF
from fluidcore.gradcheck import GradientChecker, Verdict

FEED = {"x": np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)}


def cast_network(dtype):
    x = layers.data("x", [5])
    loss = layers.mean(layers.square(layers.fc(layers.fc(x, 8, act="gelu"), 3)))
    cast_program(dtype=dtype)
    fluid.append_backward(loss)
    fluid.default_startup_program().random_seed = 3
    fluid.Executor().run(fluid.default_startup_program())
    return loss


def report_of(loss):
    program = fluid.default_main_program()
    return GradientChecker().check_program(program, FEED, loss, raise_exception=False)


@pytest.mark.parametrize("dtype", sorted(HALF))
def test_the_gradients_of_a_cast_program_are_right(dtype):
    report = report_of(cast_network(dtype))
    assert report.verdict is Verdict.PASS, str(report)
    assert f"kernel ({dtype})" in str(report)


@pytest.mark.parametrize("dtype", sorted(HALF))
def test_a_wrong_gradient_operator_is_found_in_a_cast_program(dtype):
    loss = cast_network(dtype)
    block = fluid.default_main_program().global_block()
    (grad,) = (op for op in block.ops if op.type == "gelu_grad")
    position = block.ops.index(grad)
    block.desc.remove_op(position, position + 1)
    inputs = {slot: grad.input(slot) for slot in grad.input_names}
    block.insert_op(
        position,
        "relu_grad",
        {"Out": inputs["X"], "Out@GRAD": inputs["Out@GRAD"]},
        {"X@GRAD": grad.output("X@GRAD")},
    )
    report = report_of(loss)
    assert report.verdict is Verdict.FAIL
    assert "relu_grad" in str(report)
