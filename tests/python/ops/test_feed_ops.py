"""feed and fetch, which Fluid's saved programs name."""

import numpy as np
import pytest
from op_case import OpCase, all_dtypes, check_outputs
from op_data import normal
from op_runner import run_op

import fluidcore as fluid
from fluidcore import layers

CASES = [
    OpCase("fetch", {"X": normal(*shape)}, lambda X, col: {"Out": X}, {"col": col})
    for shape, col in (((3, 5), 0), ((), 2), ((0, 4), 1))
]
CASES += [
    OpCase("fetch", {"X": normal(3) > 0}, lambda X, col: {"Out": X}, {"col": 0}, "bool"),
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


def saved_by_fluid() -> fluid.Program:
    """As Fluid saves a program: what is fed comes first, what is fetched last."""
    block = fluid.default_main_program().global_block()
    block.create_var("feed", persistable=True)
    for col, name in enumerate(("x", "y")):
        layers.data(name, [3])
        block.append_op("feed", {"X": "feed"}, {"Out": name}, {"col": col})
    out = layers.scale(block.var("x"), 2.0) + block.var("y")
    block.append_op("fetch", {"X": out}, {"Out": "fetched"}, {"col": 0})
    return fluid.default_main_program()


def test_a_program_that_names_them_runs_by_the_names_of_its_variables() -> None:
    program = saved_by_fluid()
    feed = {"x": np.ones((2, 3), np.float32), "y": np.full((2, 3), 5, np.float32)}
    for batch in (2, 1):
        part = {name: value[:batch] for name, value in feed.items()}
        (out,) = fluid.Executor().run(program, part, ["fetched"])
        np.testing.assert_array_equal(out, np.full((batch, 3), 7))


def test_what_is_not_fed_is_an_error() -> None:
    program = saved_by_fluid()
    feed = {"x": np.ones((2, 3), np.float32)}
    with pytest.raises(ValueError, match=r"^feed: 'y' must be fed, got no value; pass"):
        fluid.Executor().run(program, feed, ["fetched"])


def test_what_the_fetches_do_not_need_need_not_be_fed() -> None:
    program = saved_by_fluid()
    with fluid.program_guard(program):
        twice = layers.scale(program.global_block().var("x"), 2.0)
    feed = {"x": np.ones((2, 3), np.float32)}
    np.testing.assert_array_equal(
        fluid.Executor().run(program, feed, [twice])[0], np.full((2, 3), 2)
    )


def test_a_parameter_is_differentiated_in_such_a_program() -> None:
    program = saved_by_fluid()
    with fluid.program_guard(program):
        x = program.global_block().var("x")
        w = layers.create_parameter([3], default_initializer=fluid.initializer.Constant(2.0))
        (grad,) = fluid.gradients([layers.mean(x * w * w)], [w])
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    (value,) = exe.run(program, {"x": np.ones((2, 3), np.float32)}, [grad])
    np.testing.assert_allclose(value, np.full(3, 4 / 3), rtol=1e-6)


@pytest.mark.parametrize("op_type", ["feed", "fetch"])
def test_a_column_below_0_is_an_error(op_type: str) -> None:
    with pytest.raises(ValueError, match=f"^{op_type}: col must be at least 0, got -1$"):
        run_op(op_type, {"X": normal(2)}, {"col": -1})
