"""Tests of fluidcore.clip."""

import itertools
import math

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers


@pytest.fixture
def block():
    return fluid.default_main_program().global_block()


def parameter(name, shape=(3,), **settings):
    block = fluid.default_main_program().global_block()
    return block.create_parameter(list(shape), "float32", name, **settings)


def data(name, shape):
    return layers.data(name, shape, append_batch_size=False, stop_gradient=False)


def run_fed(fetch, **feeds):
    feed = {name: np.asarray(value, np.float32) for name, value in feeds.items()}
    return fluid.Executor().run(feed=feed, fetch_list=[fetch])[0]


def run(fetch_list, **params):
    for name, value in params.items():
        fluid.global_scope().var(name).get_tensor().set(np.asarray(value, np.float32))
    return fluid.Executor().run(fetch_list=fetch_list)


def with_error_clips(loss):
    return fluid.append_backward(loss, callbacks=[fluid.error_clip_callback])


def test_min_defaults_to_minus_max():
    clip = fluid.ErrorClipByValue(max=5)
    assert (clip.min, clip.max) == (-5.0, 5.0)
    clip = fluid.ErrorClipByValue(max=5, min=1)
    assert (clip.min, clip.max) == (1.0, 5.0)


def test_a_subclass_may_set_its_bounds(block):
    class Seeds(fluid.ErrorClipByValue):
        def __init__(self, max, min=None):
            self.max = float(max)
            self.min = -self.max if min is None else float(min)

    clip = Seeds(5)
    clip.max = 2.0
    block.create_var("x@GRAD", shape=[1], dtype="float32")
    clip.append_clip_op(block, "x@GRAD")
    assert str(block.ops[0]) == "clip(X=x@GRAD) -> Out=x@GRAD   # max=2.0, min=-5.0"


def test_bounds_that_are_saved_with_the_program_do_not_change():
    clip = fluid.ErrorClipByValue(5)
    message = (
        "ErrorClipByValue: max does not change, as the bounds are saved with the program; set the "
        "variable's error_clip to a new ErrorClipByValue"
    )
    with pytest.raises(AttributeError, match=message):
        clip.max = 2.0
    assert clip.max == 5.0
    clip.note = "mine"


@pytest.mark.parametrize("kind", [fluid.ErrorClipByValue, fluid.GradientClipByValue])
@pytest.mark.parametrize("bounds", [(1, 2), (-1, None), (math.nan, None), (1, math.nan)])
def test_impossible_bounds_are_refused(kind, bounds):
    with pytest.raises(ValueError, match=f"{kind.__name__}: min must be at most max, got min"):
        kind(*bounds)


@pytest.mark.parametrize("kind", [fluid.GradientClipByNorm, fluid.GradientClipByGlobalNorm])
@pytest.mark.parametrize("norm", [0, -1, math.nan, math.inf])
def test_impossible_norms_are_refused(kind, norm):
    with pytest.raises(ValueError, match="clip_norm must be positive and finite"):
        kind(norm)


def test_the_base_class_does_nothing_itself(block):
    with pytest.raises(NotImplementedError):
        fluid.BaseErrorClipAttr().append_clip_op(block, "x@GRAD")


def test_append_clip_op_appends_a_clip_in_place(block):
    fluid.ErrorClipByValue(max=2, min=-1).append_clip_op(block, "x@GRAD")
    assert str(block.ops[-1]) == "clip(X=x@GRAD) -> Out=x@GRAD   # max=2.0, min=-1.0"


def test_an_error_is_clipped_before_the_next_gradient_operator(block):
    w = parameter("w")
    h = layers.tanh(w)
    h.error_clip = fluid.ErrorClipByValue(0.25)
    with_error_clips(layers.mean(h))
    assert [op.type for op in block.ops[2:]] == ["fill_constant", "mean_grad", "clip", "tanh_grad"]
    clip = block.ops[4]
    assert (clip.input("X"), clip.output("Out")) == (["tanh_0.tmp_0@GRAD"],) * 2
    assert (clip.attr("min"), clip.attr("max")) == (-0.25, 0.25)


def test_variable_takes_an_error_clip(block):
    clip = fluid.ErrorClipByValue(max=5.0)
    x = fluid.Variable(block, name="x", shape=[3], dtype="float32", error_clip=clip)
    assert x.error_clip is clip


def test_the_complete_gradient_is_clipped_and_partials_are_not(block):
    w = parameter("w", error_clip=fluid.ErrorClipByValue(1.5))
    loss = layers.reduce_sum(w + w)
    ((_, grad),) = with_error_clips(loss)
    assert [op.type for op in block.ops[-2:]] == ["sum", "clip"]
    assert [op.type for op in block.ops].count("clip") == 1
    np.testing.assert_allclose(run([grad], w=[1, 2, 3])[0], [1.5, 1.5, 1.5])


def test_clips_act_on_values(block):
    w = parameter("w")
    h = w * 1.0
    h.error_clip = fluid.ErrorClipByValue(max=2.0, min=-1.0)
    loss = layers.reduce_sum(layers.square(h))
    ((_, grad),) = with_error_clips(loss)
    np.testing.assert_allclose(run([grad], w=[-5, 0.5, 5])[0], [-1, 1, 2])


def test_a_wrong_error_clip_is_a_type_error(block):
    w = parameter("w")
    w.error_clip = 5.0
    with pytest.raises(TypeError) as caught:
        with_error_clips(layers.reduce_sum(w))
    assert str(caught.value) == (
        "Variable's error_clip should be an instance of BaseErrorClipAttr or None."
    )
    assert caught.value.__notes__ == ["variable 'w' has the error_clip 5.0"]
    assert "@GRAD" not in str(block.program)


def test_error_clip_callback_looks_at_the_last_operator_only(block):
    w = parameter("w", error_clip=fluid.ErrorClipByValue(1.0))
    block.create_var("w@GRAD", shape=[3], dtype="float32")
    block.append_op("assign", {"X": w}, {"Out": "w@GRAD"})
    block.append_op("relu", {"X": w}, {"Out": "r"})
    fluid.error_clip_callback(block=block, context={"w@GRAD": "w"})
    assert block.ops[-1].type == "relu"


def clipped(clip, **values):
    loss = None
    for name in values:
        term = layers.reduce_sum(layers.square(parameter(name)))
        loss = term if loss is None else loss + term
    fluid.set_gradient_clip(clip)
    pairs = fluid.clip.append_gradient_clip_ops(fluid.append_backward(loss))
    return run([g for _, g in pairs], **values)


def test_gradient_clip_by_value():
    (grad,) = clipped(fluid.GradientClipByValue(max=3, min=-2), w=[-5, 1, 5])
    np.testing.assert_allclose(grad, [-2, 2, 3])


def test_gradient_clip_by_norm_scales_only_large_gradients():
    large, small = clipped(fluid.GradientClipByNorm(2.0), w=[3, 4, 0], v=[0.3, 0.4, 0])
    np.testing.assert_allclose(large, [1.2, 1.6, 0], rtol=1e-6)
    np.testing.assert_allclose(small, [0.6, 0.8, 0], rtol=1e-6)


def test_gradient_clip_by_norm_leaves_zeros():
    np.testing.assert_allclose(clipped(fluid.GradientClipByNorm(2.0), w=[0, 0, 0])[0], [0, 0, 0])


def test_gradient_clip_by_global_norm_has_one_factor():
    w, v = clipped(fluid.GradientClipByGlobalNorm(5.0), w=[3, 0, 0], v=[0, 4, 0])
    np.testing.assert_allclose(w, [3, 0, 0], rtol=1e-6)
    np.testing.assert_allclose(v, [0, 4, 0], rtol=1e-6)
    types = [op.type for op in fluid.default_main_program().global_block().ops]
    assert types.count("sqrt") == 1


def test_a_group_has_one_norm():
    w, v = parameter("w"), parameter("v")
    loss = layers.reduce_sum(w * v)
    fluid.set_gradient_clip(fluid.GradientClipByGlobalNorm(1.0), [w])
    fluid.set_gradient_clip(fluid.GradientClipByGlobalNorm(2.0), ["v"])
    with pytest.raises(ValueError, match="group 'default_group' must have the same clip_norm"):
        fluid.clip.append_gradient_clip_ops(fluid.append_backward(loss))


def test_set_gradient_clip_wants_clips_and_parameters(block):
    parameter("w")
    layers.data("x", [1])
    with pytest.raises(TypeError, match="clip must be a BaseGradientClipAttr, got float"):
        fluid.set_gradient_clip(1.0)
    with pytest.raises(TypeError, match="param_list must hold parameters, got Variable"):
        fluid.set_gradient_clip(fluid.GradientClipByValue(1.0), ["x"])


def looped(w):
    """A loop whose steps are h = tanh(h * w), and what is inside."""
    inside = []

    def body(i, h):
        product = h * w
        inside.append(product)
        return i + 1, layers.tanh(product)

    n = layers.fill_constant([1], "int64", 3)
    start = [layers.zeros([1], "int64"), layers.ones([3], "float32")]
    h = layers.while_loop(lambda i, h: layers.less_than(i, n), body, start)[1]
    return h, inside[0]


def test_an_error_inside_a_loop_is_clipped_in_every_step():
    w = parameter("w")
    h, product = looped(w)
    product.error_clip = fluid.ErrorClipByValue(0.0625)
    ((_, gradient),) = with_error_clips(layers.reduce_sum(h))
    w_value = np.array([0.5, -1.0, 0.25], np.float32)
    (got,) = run([gradient], w=w_value)
    states = [np.ones(3, np.float32)]
    for _ in range(3):
        states.append(np.tanh(states[-1] * w_value))
    error, total = np.ones(3), np.zeros(3)
    for before, after in reversed(list(itertools.pairwise(states))):
        clipped = np.clip(error * (1 - after**2), -0.0625, 0.0625)
        total += clipped * before
        error = clipped * w_value
    np.testing.assert_allclose(got, total, rtol=1e-5)


def test_a_value_that_is_kept_for_the_gradient_block_is_clipped_too():
    h, product = looped(parameter("w"))
    (result,) = (v for v in product.block.vars.values() if v.name.startswith("tanh"))
    result.error_clip = fluid.ErrorClipByValue(0.5)
    with_error_clips(layers.reduce_sum(h))
    program = fluid.default_main_program()
    clips = [str(op) for op in program.blocks[-1].ops if op.type == "clip"]
    name = f"{result.name}@GRAD"
    assert clips == [f"clip(X={name}) -> Out={name}   # max=0.5, min=-0.5"]
    assert program.blocks[-1].has_var(result.name)


def test_bounds_are_part_of_the_program_and_a_class_of_ones_own_is_not(block):
    class Own(fluid.ErrorClipByValue):
        pass

    a, b = (block.create_var(name, shape=[1], dtype="float32") for name in "ab")
    a.error_clip = fluid.ErrorClipByValue(max=2, min=-math.inf)
    b.error_clip = own = Own(1.0)
    assert b.error_clip is own
    text = block.program.serialize_to_string()
    loaded = fluid.Program.parse_from_string(text)
    clip = loaded.global_block().var("a").error_clip
    assert type(clip) is fluid.ErrorClipByValue
    assert (clip.min, clip.max) == (-math.inf, 2.0)
    assert loaded.global_block().var("b").error_clip is None
    assert loaded.serialize_to_string() == text
    assert block.program.clone().global_block().var("b").error_clip is own
    a.error_clip = None
    assert a.error_clip is None
    assert "error_clip" not in block.program.serialize_to_string()


def test_a_loaded_program_clips_as_the_saved_one_did():
    h, product = looped(parameter("w"))
    product.error_clip = fluid.ErrorClipByValue(0.0625)
    loss = layers.reduce_sum(h)
    program = fluid.default_main_program()
    loaded = fluid.Program.parse_from_string(program.serialize_to_string())
    for some in (program, loaded):
        with fluid.unique_name.guard(), fluid.program_guard(some, fluid.Program()):
            with_error_clips(some.global_block().var(loss.name))
    assert str(loaded) == str(program)


@pytest.mark.parametrize(
    ("damaged", "match"),
    [
        ('{"min":"nan","max":1.0}', "min must be at most max, got min nan"),
        ('{"min":2.0,"max":1.0}', "min must be at most max, got min 2.0, max 1.0"),
        ('{"min":-1.0,"max":"large"}', "error_clip.max: must be a number"),
        ('{"max":1.0}', "must have a field 'min'"),
        ('"ErrorClipByValue"', "must be an object, got 'ErrorClipByValue'"),
    ],
)
def test_damaged_bounds_in_a_file_are_errors(block, damaged, match):
    x = block.create_var("x", shape=[1], dtype="float32")
    x.error_clip = fluid.ErrorClipByValue(1.0)
    text = block.program.serialize_to_string()
    with pytest.raises(fluid.InvalidArgument, match=match):
        fluid.Program.parse_from_string(text.replace('{"min":-1.0,"max":1.0}', damaged))


def test_the_error_of_a_step_variable_that_is_only_a_step_output_is_clipped():
    x = data("x", [3, 1, 2])
    rnn = layers.StaticRNN()
    with rnn.step():
        h = layers.scale(rnn.step_input(x), scale=1.0)
        h.error_clip = fluid.ErrorClipByValue(0.125)
        rnn.step_output(h)
    with_error_clips(layers.reduce_sum(rnn()))
    got = run_fed("x@GRAD", x=np.ones((3, 1, 2)))
    np.testing.assert_array_equal(got, np.full((3, 1, 2), 0.125))


def test_the_error_of_what_is_only_the_new_value_of_a_memory_is_clipped():
    start, x = data("start", [1, 1]), data("x", [4, 1, 1])
    rnn = layers.StaticRNN()
    with rnn.step():
        rnn.step_input(x)
        before = rnn.memory(init=start)
        after = before * 3.0
        after.error_clip = fluid.ErrorClipByValue(5.0)
        rnn.update_memory(before, after)
        rnn.step_output(before * 1.0)
    with_error_clips(layers.reduce_sum(rnn()))
    got = run_fed("start@GRAD", start=np.ones((1, 1)), x=np.ones((4, 1, 1)))
    assert got.item() == 16.0  # 1, then 1 + 3 * min(5, ...): 4, 13 and 16


def test_a_carried_variable_is_clipped_once_for_each_value():
    class Halve(fluid.clip.BaseErrorClipAttr):
        def append_clip_op(self, block, grad_name):
            block.append_op("scale", {"X": grad_name}, {"Out": grad_name}, {"scale": 0.5})

    x = data("x", [1])
    (_, h) = layers.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, h * 1.0), [0, x])
    h.error_clip = Halve()
    with_error_clips(layers.reduce_sum(h))
    got = run_fed("x@GRAD", x=np.ones(1))
    assert got.item() == 0.5**4  # x as it is copied, and what each of three steps makes


def test_callbacks_see_the_gradient_of_each_step_variable():
    x = data("x", [3, 1, 2])
    rnn = layers.StaticRNN()
    with rnn.step():
        h = layers.scale(rnn.step_input(x), scale=1.0)
        rnn.step_output(h)
    seen = []

    def callback(block, context):
        written = block.desc.op(block.desc.op_size() - 1).output_arg_names()
        seen.extend(context[name] for name in written if name in context)

    fluid.append_backward(layers.reduce_sum(rnn()), callbacks=[callback])
    assert seen.count(h.name) == 1
