"""Forward programs that are rewritten so that some operators run in 16 bits."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers
from fluidcore.amp import Lists, cast_program
from fluidcore.base.dtypes import HALF

GOLDEN = """\
cast(X=[x]) -> (Out=[x.bfloat16_0])
cast(X=[w]) -> (Out=[w.bfloat16_0])
mul(X=[x.bfloat16_0], Y=[w.bfloat16_0]) -> (Out=[h.bfloat16_0])
cast(X=[h.bfloat16_0]) -> (Out=[h])
cast(X=[b]) -> (Out=[b.bfloat16_0])
elementwise_add(X=[h.bfloat16_0], Y=[b.bfloat16_0]) -> (Out=[s.bfloat16_0])
cast(X=[s.bfloat16_0]) -> (Out=[s])
relu(X=[s.bfloat16_0]) -> (Out=[r.bfloat16_0])
cast(X=[r.bfloat16_0]) -> (Out=[r])
mean(X=[r]) -> (Out=[loss])"""


def ops_of(block):
    return [op.type for op in block.ops]


def text_of(block):
    def slots(names):
        return ", ".join(f"{slot}=[{', '.join(args)}]" for slot, args in names.items())

    return "\n".join(
        f"{op.type}({slots(op.desc.inputs())}) -> ({slots(op.desc.outputs())})" for op in block.ops
    )


def small_program():
    block = fluid.default_main_program().global_block()
    layers.data("x", [3])
    block.create_parameter([3, 2], "float32", name="w")
    block.create_parameter([2], "float32", name="b")
    block.append_op("mul", {"X": "x", "Y": "w"}, {"Out": "h"})
    block.append_op("elementwise_add", {"X": "h", "Y": "b"}, {"Out": "s"})
    block.append_op("relu", {"X": "s"}, {"Out": "r"})
    block.append_op("mean", {"X": "r"}, {"Out": "loss"})
    return block


def run(fetch, feed):
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    return exe.run(feed=feed, fetch_list=fetch)


def test_products_run_in_16_bits_and_sums_in_float32():
    block = small_program()
    cast_program()
    assert text_of(block) == GOLDEN


def test_a_second_call_changes_nothing():
    block = small_program()
    cast_program()
    once = text_of(block)
    cast_program()
    assert text_of(block) == once


@pytest.mark.parametrize("dtype", sorted(HALF))
def test_every_variable_is_float32_as_before_and_near_what_it_was(dtype):
    x = layers.data("x", [8])
    hidden = layers.fc(x, 16, act="tanh")
    out = layers.softmax(layers.fc(hidden, 4))
    feed = {"x": np.random.default_rng(0).normal(size=(5, 8)).astype(np.float32)}
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    before = exe.run(feed=feed, fetch_list=[hidden, out])
    cast_program(dtype=dtype)
    after = exe.run(feed=feed, fetch_list=[hidden, out])
    for exact, rounded in zip(before, after, strict=True):
        assert rounded.dtype == np.float32
        assert not np.array_equal(exact, rounded)
        np.testing.assert_allclose(rounded, exact, atol=0.05)


def test_the_statistics_of_batch_norm_stay_float32():
    x = layers.data("x", [2, 4, 4])
    y = layers.batch_norm(layers.conv2d(x, 3, 3))
    cast_program()
    block = fluid.default_main_program().global_block()
    (norm,) = (op for op in block.ops if op.type == "batch_norm")
    dtypes = {
        slot: block.var(names[0]).dtype
        for slot, names in (norm.desc.inputs() | norm.desc.outputs()).items()
    }
    assert {slot for slot, dtype in dtypes.items() if dtype == "bfloat16"} == {"X", "Y"}
    assert y.dtype == "float32"
    mean = norm.input("Mean")[0]
    images = np.random.default_rng(0).normal(3, 1, (6, 2, 4, 4)).astype(np.float32)
    run([y], {"x": images})
    assert np.any(np.asarray(fluid.global_scope().find_var(mean).get_tensor()))


def test_what_a_loop_reads_and_does_not_change_is_cast_before_it():
    x = layers.data("x", [4, 4], append_batch_size=False)
    w = layers.create_parameter([4, 4], "float32")
    i = layers.zeros([1], "int64")
    n = layers.fill_constant([1], "int64", 3)
    state = layers.assign(x)
    cond = layers.less_than(i, n)
    loop = layers.While(cond)
    with loop.block():
        layers.assign(layers.tanh(layers.matmul(state, w)), output=state)
        layers.increment(i)
        layers.less_than(i, n, cond=cond)
    loss = layers.mean(state)
    point = np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32)
    fluid.default_startup_program().random_seed = 2
    exact = run([state], {"x": point})[0]
    cast_program()
    program = fluid.default_main_program()
    inside = program.block(1)
    casts = [op.input("X")[0] for op in inside.ops if op.type == "cast"]
    assert w.name not in casts
    assert state.name in casts  # another one in each step
    outside = [op.input("X")[0] for op in program.global_block().ops if op.type == "cast"]
    assert outside == [w.name]
    ((_, grad),) = fluid.append_backward(loss)
    assert grad.dtype == "float32"
    rounded, slope = run([state, grad], {"x": point})
    np.testing.assert_allclose(rounded, exact, atol=0.05)
    assert np.all(np.isfinite(slope))
    assert np.any(slope)


def test_the_lists_decide():
    block = small_program()
    cast_program(lists=Lists().changed(in_float32=["mul"]))
    assert "cast" not in ops_of(block)
    cast_program(lists=Lists().changed(in_16_bits=["relu"], in_float32=["mul"]))
    assert ops_of(block) == ["mul", "elementwise_add", "cast", "relu", "cast", "mean"]


def test_a_type_that_follows_reads_a_result_in_16_bits():
    x = layers.data("x", [4])
    layers.relu(x + 1.0)
    before = ops_of(fluid.default_main_program().global_block())
    cast_program()
    assert ops_of(fluid.default_main_program().global_block()) == before


def test_constants_stay_constants_and_error_clips_clip():
    x = layers.data("x", [4])
    hidden = layers.fc(x, 3, bias_attr=False)
    hidden.error_clip = fluid.ErrorClipByValue(max=0.001)
    held = layers.fc(x, 3, bias_attr=False)
    held.stop_gradient = True
    loss = layers.reduce_sum(layers.relu(hidden) + layers.relu(held))
    cast_program()
    (kept, grad), (_, none) = fluid.append_backward(loss, callbacks=[fluid.error_clip_callback])
    assert none is None
    (slope,) = run([grad], {"x": np.ones((1, 4), np.float32)})
    assert slope.shape == tuple(kept.shape)
    assert np.max(np.abs(slope)) <= 0.00101


def test_a_program_with_gradients_is_refused():
    x = layers.data("x", [4])
    fluid.append_backward(layers.mean(layers.fc(x, 3)))
    program = fluid.default_main_program()
    before = str(program)
    with pytest.raises(
        fluid.InvalidArgument,
        match=r"must be a forward program, got mean_grad in block 0; cast it before",
    ):
        cast_program(program)
    assert str(program) == before


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"dtype": "float64"}, fluid.InvalidArgument, r"one of \['bfloat16', 'float16'\], got 'fl"),
        ({"program": 3}, TypeError, "program must be a Program, got int"),
        ({"lists": ["mul"]}, TypeError, "lists must be amp.Lists, got list"),
    ],
)
def test_arguments_are_checked(arguments, error, message):
    with pytest.raises(error, match=message):
        cast_program(**arguments)


@pytest.mark.parametrize(
    ("moved", "error", "message"),
    [
        ({"in_float32": ["mull"]}, fluid.NotFound, "no operator 'mull'; did you mean 'mul'"),
        ({"in_float32": "mul"}, TypeError, "must be a list of types, got the str 'mul'"),
        (
            {"in_float32": ["mul"], "follow": ["mul"]},
            fluid.InvalidArgument,
            "must be in one of the lists, got 'mul' in two",
        ),
    ],
)
def test_types_of_lists_are_checked(moved, error, message):
    with pytest.raises(error, match=message):
        Lists().changed(**moved)


def test_the_lists_name_operators():
    known = set(fluid.core.op_types())
    assert Lists().in_16_bits <= known
    assert Lists().in_float32 <= known
    assert not Lists().in_16_bits & Lists().in_float32
