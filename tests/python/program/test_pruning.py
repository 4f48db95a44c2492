"""Tests of fluidcore.program.pruning, through Program.prune."""

import itertools

import numpy as np
import pytest
from looped_models import FEED, MODELS, loop

import fluidcore as fluid
from fluidcore import core, layers


def program():
    return fluid.default_main_program()


def types(some_program):
    return [[op.type for op in block.ops] for block in some_program.blocks]


def run(some_program, *names):
    feed = {name: FEED[name] for name in FEED if some_program.global_block().has_var(name)}
    return fluid.Executor().run(some_program, feed=feed, fetch_list=list(names))


def number(value, dtype="float32"):
    return layers.fill_constant([1], dtype, value)


@pytest.mark.parametrize("model", MODELS)
def test_pruning_takes_back_all_that_training_added(model):
    result = model()
    loss = layers.mean(result)
    before = program().prune([result])
    fluid.optimizer.Adam(0.1).minimize(loss)
    assert "push_to_array" in str(program())
    pruned = program().prune([result])
    assert str(pruned) == str(before)
    assert "@" not in str(pruned)


@pytest.mark.parametrize("model", MODELS)
def test_a_pruned_program_gives_the_same_result(model):
    result = model()
    fluid.optimizer.SGD(0.0).minimize(layers.mean(result))
    fluid.Executor().run(fluid.default_startup_program())
    pruned = program().prune([result])
    np.testing.assert_array_equal(run(pruned, result.name), run(program(), result.name))


@pytest.mark.parametrize("model", MODELS)
def test_a_gradient_can_be_a_target(model):
    result = model()
    fluid.optimizer.SGD(0.0).minimize(layers.mean(result))
    fluid.Executor().run(fluid.default_startup_program())
    pruned = program().prune(["w@GRAD"])
    assert "sgd" not in types(pruned)[0]
    np.testing.assert_array_equal(run(pruned, "w@GRAD"), run(program(), "w@GRAD"))


def test_blocks_that_are_not_run_are_left_out_and_the_others_numbered_anew():
    x = layers.data("x", [4, 3], append_batch_size=False)
    flag = layers.less_than(number(0), number(1))
    layers.cond(flag, lambda: layers.exp(x), lambda: x * 2.0)
    inner = layers.cond(flag, lambda: layers.cond(flag, lambda: x + 1.0, lambda: x), lambda: x)
    pruned = program().prune([inner])
    assert (program().num_blocks, pruned.num_blocks) == (7, 5)
    named = [
        (op.attr("sub_block").value, block.idx)
        for block in pruned.blocks
        for op in block.ops
        if op.has_attr("sub_block")
    ]
    assert sorted(inner for inner, _ in named) == [1, 2, 3, 4]
    assert all(pruned.block(inner).parent_idx == outer for inner, outer in named)
    np.testing.assert_array_equal(run(pruned, inner.name)[0], FEED["x"] + 1)


def test_gradient_blocks_still_name_their_forward_blocks():
    x = layers.data("x", [4, 3], append_batch_size=False, stop_gradient=False)
    flag = layers.less_than(number(0), number(1))
    layers.cond(flag, lambda: layers.exp(x), lambda: x)
    loss = layers.mean(layers.cond(flag, lambda: layers.tanh(x), lambda: x))
    (gradient,) = fluid.gradients(loss, x)
    pruned = program().prune([gradient])
    assert (program().num_blocks, pruned.num_blocks) == (7, 5)
    forward = [block.forward_block_idx for block in pruned.blocks]
    assert sorted(forward) == [-1, -1, -1, 1, 2]
    (of_tanh,) = (i for i, ops in enumerate(types(pruned)) if "tanh_grad" in ops)
    assert "tanh" in types(pruned)[forward[of_tanh]]
    np.testing.assert_array_equal(run(pruned, gradient.name), run(program(), gradient.name))


def test_an_operator_of_a_block_that_serves_nothing_is_left_out():
    x = layers.data("x", [4, 3], append_batch_size=False)
    n = layers.data("n", [1], dtype="int64", append_batch_size=False)
    counted, ignored, i = number(0.0), number(0.0), number(0, "int64")
    cond = layers.less_than(i, n)
    while_op = layers.While(cond)
    with while_op.block():
        layers.assign(counted + layers.mean(x), output=counted)
        layers.assign(layers.exp(ignored), output=ignored)
        layers.increment(i)
        layers.less_than(i, n, cond=cond)
    assert "exp" in types(program())[1]
    pruned = program().prune([counted])
    assert "exp" not in types(pruned)[1]
    loop_op = next(op for op in pruned.global_block().ops if op.type == "while")
    assert ignored.name not in loop_op.input("X") + loop_op.output("Out")
    assert cond.name in loop_op.output("Out")
    assert not pruned.global_block().has_var(ignored.name)
    np.testing.assert_array_equal(run(pruned, counted.name), run(program(), counted.name))


def test_what_a_later_step_reads_is_kept():
    n = layers.data("n", [1], dtype="int64", append_batch_size=False)
    values = [number(float(k)) for k in range(5)]
    i = number(0, "int64")
    cond = layers.less_than(i, n)
    while_op = layers.While(cond)
    with while_op.block():  # the last value goes round, one place in each step
        for low, high in itertools.pairwise(values):
            layers.assign(high, output=low)
        layers.increment(i)
        layers.less_than(i, n, cond=cond)
    pruned = program().prune([values[0]])
    assert types(pruned)[1].count("assign") == 4
    np.testing.assert_array_equal(run(pruned, values[0].name)[0], [3])


def test_a_condition_of_which_only_the_end_is_wanted_keeps_its_loop():
    n = layers.data("n", [1], dtype="int64", append_batch_size=False)
    i = number(0, "int64")
    cond = layers.less_than(i, n)
    with layers.While(cond).block():
        layers.increment(i)
        layers.less_than(i, n, cond=cond)
    for target in (i, cond):
        pruned = program().prune([target])
        np.testing.assert_array_equal(run(pruned, target.name), run(program(), target.name))


def test_what_is_fed_need_not_be_calculated_by_a_loop():
    result = loop()
    out = layers.scale(result, scale=2.0)
    pruned = program().prune([out], [result.name])
    assert types(pruned) == [["scale"]]


def test_a_variable_that_lives_between_runs_is_kept_where_it_is_read():
    flag = layers.less_than(number(0), number(1))
    program().create_block()
    inner = program().current_block()
    inner.create_var("kept", shape=[1], dtype="float32", persistable=True)
    total = program().global_block().create_var("total", shape=[1], dtype="float32")
    inner.append_op("assign", {"X": "kept"}, {"Out": total})
    program().rollback()
    program().global_block().append_op(
        "conditional_block",
        {"X": flag},
        {"Out": total},
        {"sub_block": core.BlockIndex(1), "is_scalar_condition": True},
    )
    fluid.global_scope().var("kept").get_tensor().set(np.array([7], "float32"))
    pruned = program().prune([total])
    assert list(pruned.block(1).vars) == ["kept"]
    np.testing.assert_array_equal(run(pruned, "total")[0], [7])


def test_the_settings_of_variables_go_with_their_blocks():
    class Own(fluid.BaseErrorClipAttr):
        pass

    x = layers.data("x", [4, 3], append_batch_size=False)
    flag = layers.less_than(number(0), number(1))
    layers.cond(flag, lambda: layers.exp(x), lambda: x)
    result = layers.cond(flag, lambda: layers.tanh(x), lambda: x)
    block = program().block(3)
    (inner,) = (v for v in block.vars.values() if v.name.startswith("tanh"))
    inner.error_clip = Own()
    inner.stop_gradient = True
    pruned = program().prune([result])
    twin = pruned.block(1).var(inner.name)
    assert twin.error_clip is inner.error_clip
    assert twin.stop_gradient
    assert pruned.block(1).idx == 1


def test_the_program_itself_is_not_changed():
    result = loop()
    fluid.optimizer.SGD(0.1).minimize(layers.mean(result))
    text = str(program())
    program().prune([result])
    assert str(program()) == text


def test_a_loop_whose_steps_need_ever_more_takes_no_quadratic_time():
    n = layers.data("n", [1], dtype="int64", append_batch_size=False)
    values = [number(0.0) for _ in range(1500)]
    i = number(0, "int64")
    cond = layers.less_than(i, n)
    with layers.While(cond).block():
        for low, high in itertools.pairwise(values):
            layers.assign(high, output=low)
        layers.increment(i)
        layers.less_than(i, n, cond=cond)
    pruned = program().prune([values[0]])
    assert types(pruned)[1].count("assign") == 1499
