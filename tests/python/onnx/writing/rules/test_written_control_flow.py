import inspect
from collections.abc import Callable

import looped_models
import numpy as np
import pytest
from runtimes import RUNTIMES
from saved import every_runtime, saved

import fluidcore as fluid
from fluidcore import layers

ROWS = np.array([[1, 2], [-3, -4], [5, 6]], np.float32)
MODELS = [
    model
    for name, model in inspect.getmembers(looped_models, inspect.isfunction)
    if model.__module__ == "looped_models"
    and not name.startswith("_")
    and not inspect.signature(model).parameters
]


@every_runtime
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_loops_and_branches_run_elsewhere(
    model: Callable[[], fluid.Variable], runtime: str
) -> None:
    out = model()
    variables = fluid.default_main_program().global_block().vars.values()
    feed = {v.name: looped_models.FEED[v.name] for v in variables if v.desc.is_data()}
    saved([out], **feed).agrees(runtime)


@every_runtime
@pytest.mark.parametrize("count", [0, 1, 5])
def test_a_loop_is_a_loop_of_onnx(count: int, runtime: str) -> None:
    x = layers.data("x", [2])
    n = layers.data("n", [1], dtype="int64", append_batch_size=False)
    i = layers.zeros([1], "int64")
    y, _ = layers.while_loop(lambda y, i: i < n, lambda y, i: (y * 1.5 + x, i + 1), [x, i])
    model = saved([y], x=ROWS, n=np.array([count]))
    assert model.node_types().count("Loop") == 1
    model.agrees(runtime)


@every_runtime
@pytest.mark.parametrize("sign", [-1, 1])
def test_only_one_branch_is_taken(sign: int, runtime: str) -> None:
    x = layers.data("x", [2])
    positive = layers.mean(x) > 0.0
    y = layers.cond(positive, lambda: x * 2.0, lambda: layers.exp(x))
    model = saved([y], x=sign * np.abs(ROWS))
    assert model.node_types().count("If") == 3
    model.agrees(runtime)


@every_runtime
@pytest.mark.parametrize("number", [0, 1, 2, 7])
def test_one_of_many_branches_is_taken(number: int, runtime: str) -> None:
    x = layers.data("x", [2])
    n = layers.data("n", [1], dtype="int64", append_batch_size=False)
    y = layers.switch_case(n, [lambda: x, lambda: x * 2.0, lambda: x * 3.0], lambda: x * 0.0)
    saved([y], x=ROWS, n=np.array([number])).agrees(runtime)


@every_runtime
@pytest.mark.parametrize("step", [50.0, 500.0])
def test_a_branch_may_write_into_what_was_made_before(step: float, runtime: str) -> None:
    at = layers.data("step", [1], append_batch_size=False)
    rate = layers.fill_constant([1], "float32", 0.1)
    with layers.Switch() as switch:
        with switch.case(at < 100.0):
            layers.assign(at * 1e-5, rate)
        with switch.default():
            layers.assign(layers.fill_constant([1], "float32", 0.01), rate)
    saved([rate], step=np.array([step], np.float32)).agrees(runtime)


@every_runtime
def test_what_a_block_would_have_written_is_nothing(runtime: str) -> None:
    x = layers.data("x", [2])
    y = fluid.default_main_program().current_block().create_var("y", shape=[1], dtype="float32")
    with layers.ConditionalBlock([layers.mean(x) > 0.0], True).block():
        layers.assign(layers.mean(x), y)
    model = saved([y], x=np.abs(ROWS)).model
    (found,) = RUNTIMES[runtime](model, {"x": -np.abs(ROWS)})
    assert found.size == 0


@every_runtime
@pytest.mark.parametrize("rows", [0, 2])
def test_a_block_may_run_where_there_is_something(rows: int, runtime: str) -> None:
    x = layers.data("x", [2])
    y = layers.fill_constant([1], "float32", 7.0)
    with layers.ConditionalBlock([x]).block():
        layers.assign(layers.mean(x), y)
    saved([y], x=ROWS[:rows]).agrees(runtime)


@every_runtime
@pytest.mark.parametrize("threshold", [-9.0, 0.0, 9.0])
def test_rows_go_different_ways_and_come_together_again(threshold: float, runtime: str) -> None:
    x = layers.data("x", [2])
    limit = layers.fill_constant_batch_size_like(x, [-1, 1], "float32", threshold)
    branches = layers.IfElse(x[:, :1] < limit)
    with branches.true_block():
        branches.output(layers.square(branches.input(x)))
    with branches.false_block():
        branches.output(branches.input(x) + 10.0)
    (y,) = branches()
    saved([y], x=ROWS).agrees(runtime)


@every_runtime
@pytest.mark.parametrize("count", [1, 4])
def test_a_loop_may_collect_tensors_in_an_array(count: int, runtime: str) -> None:
    x = layers.data("x", [2])
    n = layers.data("n", [1], dtype="int64", append_batch_size=False)
    array = layers.create_array("float32", shape=[-1, 2])
    layers.array_write(x, layers.zeros([1], "int64"), array=array)

    def body(i: fluid.Variable) -> fluid.Variable:
        before = layers.array_read(array, i)
        layers.array_write(before * 2.0, i + 1, array=array)
        return i + 1

    (last,) = layers.while_loop(lambda i: i < n, body, [layers.zeros([1], "int64")])
    found = [layers.array_read(array, last), layers.array_length(array)]
    saved(found, x=ROWS, n=np.array([count])).agrees(runtime)


@every_runtime
def test_a_gap_in_an_array_is_an_error(runtime: str) -> None:
    x = layers.data("x", [2])
    array = layers.array_write(x, layers.fill_constant([1], "int64", 2))
    model = saved([layers.array_read(array, layers.fill_constant([1], "int64", 2))], x=ROWS)
    with pytest.raises(Exception, match=r"index|position|Idx"):
        model.agrees(runtime)


@every_runtime
def test_an_element_of_an_array_may_be_written_again(runtime: str) -> None:
    x = layers.data("x", [2])
    zero, one = layers.zeros([1], "int64"), layers.ones([1], "int64")
    array = layers.array_write(x, zero)
    layers.array_write(x * 2.0, one, array=array)
    layers.array_write(x * 3.0, zero, array=array)
    found = [layers.array_read(array, zero), layers.array_read(array, one)]
    saved([*found, layers.array_length(array)], x=ROWS).agrees(runtime)


@every_runtime
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_branch_may_write_to_an_array(sign: int, runtime: str) -> None:
    x = layers.data("x", [2])
    zero = layers.zeros([1], "int64")
    array = layers.create_array("float32", shape=[-1, 2])
    layers.array_write(x, zero, array=array)

    def write() -> None:
        layers.array_write(x * 5.0, zero, array=array)

    layers.cond(layers.mean(x) > 0.0, write)
    saved([layers.array_read(array, zero)], x=sign * np.abs(ROWS)).agrees(runtime)


@every_runtime
def test_a_block_may_hold_what_lives_between_runs(runtime: str) -> None:
    x = layers.data("x", [2])
    y = layers.fill_constant([1], "float32", 1.0)
    fluid.global_scope().var("kept").get_tensor().set(np.array([7], np.float32))
    with layers.ConditionalBlock([layers.mean(x) > -9.0], True).block():
        block = fluid.default_main_program().current_block()
        kept = block.create_var("kept", shape=[1], dtype="float32", persistable=True)
        layers.assign(kept, y)
    model = saved([y], x=ROWS)
    assert [value.name for value in model.model.graph.initializer] == ["kept"]
    model.agrees(runtime)
