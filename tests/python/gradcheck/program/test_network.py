from collections.abc import Callable

import looped_models
import numpy as np
import pytest
from looped_models import FEED

import fluidcore as fluid
from fluidcore import core
from fluidcore.gradcheck.program.network import Network, forget_nothing

LOG = core.OpDesc("log", {"X": ["x"]}, {"Out": ["y"]}, {})
LOOKUP = core.OpDesc("lookup_table", {"W": ["w"], "Ids": ["ids"]}, {"Out": ["out"]}, {})


def test_only_what_the_outputs_need_is_there() -> None:
    program = core.ProgramDesc()
    block = program.block(0)
    for name in ("x", "z"):
        block.var(name).set_shape([2])
        block.var(name).set_dtype("float32")
    block.add_op("exp", {"X": ["x"]}, {"Out": ["a"]}, {})
    block.add_op("exp", {"X": ["z"]}, {"Out": ["b"]}, {})
    block.add_op("log", {"X": ["a"]}, {"Out": ["c"]}, {})
    network = Network(program, {"x": np.ones(2, dtype=np.float32)}, ["c"])
    assert [op.type() for op in network.program.block(0).ops()] == ["exp", "log"]
    assert network.inputs() == ["x"]
    np.testing.assert_allclose(network.run(["c"])[0], [1, 1], rtol=1e-6)


def test_everything_floating_can_be_made_another_dtype() -> None:
    program = core.ProgramDesc()
    block = program.block(0)
    block.var("x").set_shape([2])
    block.var("x").set_dtype("float32")
    block.add_op("fill_constant", {}, {"Out": ["c"]}, {"shape": [2], "value": 0.1, "dtype": 5})
    block.add_op("elementwise_mul", {"X": ["x"], "Y": ["c"]}, {"Out": ["y"]}, {})
    network = Network(program, {"x": np.ones(2, dtype=np.float32)}, ["y"], dtype="float64")
    (y,) = network.run(["y"])
    assert y.dtype == np.float64
    np.testing.assert_array_equal(y, np.full(2, np.float32(0.1)).astype(np.float64))


def test_integers_keep_their_dtype() -> None:
    values = {"w": np.ones((3, 2), dtype=np.float32), "ids": np.array([[0]])}
    network = Network(LOOKUP, values, ["out"], dtype="float64")
    assert network.tensor("ids").dtype() == "int64"
    assert network.tensor("w").dtype() == "float64"


def test_a_run_at_other_values_leaves_the_values_as_they_are() -> None:
    network = Network(LOG, {"x": np.array([1.0, 2.0])}, ["y"])
    (y,) = network.run_at({"x": np.array([np.e, 1.0], dtype=np.float32)}, ["y"])
    np.testing.assert_allclose(y, [1.0, 0.0], atol=1e-7)
    np.testing.assert_array_equal(np.asarray(network.tensor("x")), [1.0, 2.0])
    np.testing.assert_array_equal(network.values()["x"], [1.0, 2.0])


def test_a_function_of_some_inputs_for_the_engine() -> None:
    operator = core.OpDesc("mul", {"X": ["x"], "Y": ["w"]}, {"Out": ["y"]}, {})
    network = Network(operator, {"x": np.ones((2, 3)), "w": np.ones((3, 1))}, ["y"])
    function = network.function(["w"], ["y"])
    assert [tensor.shape() for tensor in function.inputs()] == [[3, 1]]
    np.testing.assert_array_equal(np.asarray(function.run()[0]), [[3.0], [3.0]])


@pytest.mark.parametrize("model", looped_models.MODELS, ids=lambda model: model.__name__)
def test_blocks_are_run_too_in_any_dtype(model: Callable[[], fluid.Variable]) -> None:
    y = model()
    fluid.Executor().run(fluid.default_startup_program())
    program = fluid.default_main_program()
    text = str(program)
    feed = {name: v for name, v in FEED.items() if program.global_block().has_var(name)}
    (expected,) = fluid.Executor().run(feed=feed, fetch_list=[y])
    for dtype in (None, "float64"):
        network = Network(program, feed, [y.name], scope=fluid.global_scope(), dtype=dtype)
        (found,) = network.run([y.name])
        assert found.dtype.name == (dtype or "float32")
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert str(program) == text


def test_an_operator_that_runs_a_block_can_be_taken_out_of_its_program() -> None:
    x = fluid.layers.data("x", [2], append_batch_size=False)
    y = fluid.layers.cond(fluid.layers.reduce_sum(x) > 0.0, lambda: x * 2.0, lambda: x)
    block = y.block
    op = next(op for op in block.ops if op.type == "conditional_block")
    (condition,) = op.input("X")
    values = {condition: np.array([True]), "x": np.ones(2, np.float32)}
    network = Network(op, values, op.output("Out"))
    np.testing.assert_array_equal(network.run(op.output("Out"))[0], [2.0, 2.0])
    with pytest.raises(ValueError, match="operators that run a block must be in the outermost"):
        Network(op.desc, values, op.output("Out"))


def test_a_result_may_be_given_in_place_of_being_calculated() -> None:
    x = fluid.layers.data("x", [2], append_batch_size=False)
    y = fluid.layers.exp(fluid.layers.square(x))
    square = y.block.ops[0].output("Out")[0]
    network = Network(fluid.default_main_program(), {square: np.zeros(2, np.float32)}, [y.name])
    assert network.inputs() == [square]
    np.testing.assert_array_equal(network.run([y.name])[0], [1.0, 1.0])


@pytest.mark.parametrize("copies", [False, True])
def test_one_of_two_results_may_be_given(copies: bool) -> None:
    x = fluid.layers.data("x", [4], append_batch_size=False)
    first, second = fluid.layers.split(x, 2)
    y = first * second
    values = {"x": np.arange(4, dtype=np.float32), first.name: np.full(2, 5, np.float32)}
    network = Network(fluid.default_main_program(), values, [y.name], copies=copies)
    np.testing.assert_array_equal(network.run([y.name])[0], [10.0, 15.0])


def test_of_what_a_block_calculates_all_is_given_or_nothing() -> None:
    loss = looped_models.loop()
    (loop,) = (op for op in loss.block.ops if op.type == "while")
    counter = next(name for name in loop.output("Out") if loss.block.var(name).dtype == "int64")
    given = {**FEED, counter: np.array([3])}
    with pytest.raises(core.InvalidArgument, match=f"runs no block, got '{counter}' of 'while'"):
        Network(fluid.default_main_program(), given, [loss.name])


def test_random_operators_draw_the_same_numbers_in_every_run_and_dtype() -> None:
    x = fluid.layers.data("x", [200], append_batch_size=False)
    y = fluid.layers.dropout(x, 0.4)
    feed = {"x": np.ones(200, np.float32)}
    single, double = (
        Network(fluid.default_main_program(), feed, [y.name], dtype=dtype)
        for dtype in (None, "float64")
    )
    first, again, other = (n.run([y.name])[0] for n in (single, single, double))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, other)
    assert 60 < np.count_nonzero(first == 0) < 100


def test_nothing_is_persistable() -> None:
    block = fluid.default_main_program().global_block()
    block.create_var("total", shape=[1], dtype="float32", persistable=True)
    x = fluid.layers.data("x", [1], append_batch_size=False)
    block.append_op("sum", {"X": ["total", x]}, {"Out": "total"})
    values = {"total": np.zeros(1, np.float32), "x": np.ones(1, np.float32)}
    for copies in (False, True):
        program = fluid.default_main_program()
        network = Network(program, values, ["total"], copies=copies)
        assert [network.run(["total"])[0].item() for _ in range(2)] == [1.0, 1.0]


def test_what_outlives_a_step_of_a_block_moves_to_the_outermost_one() -> None:
    program = core.ProgramDesc()
    inner = program.append_block(program.block(0))
    for block, name in ((program.block(0), "kept"), (inner, "total"), (inner, "own")):
        var = block.var(name)
        var.set_shape([3])
        var.set_dtype("float64")
        var.set_persistable(name != "own")
    forget_nothing(program)
    outermost = {var.name(): var for var in program.block(0).all_vars()}
    assert sorted(outermost) == ["kept", "total"]
    assert (outermost["total"].shape(), outermost["total"].dtype()) == ([3], "float64")
    assert [var.name() for var in inner.all_vars()] == ["own"]
    assert not any(var.persistable() for var in outermost.values())
