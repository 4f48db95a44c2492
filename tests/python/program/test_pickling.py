"""Programs, their parts, tensors and scopes are pickled and copied."""

import copy
import multiprocessing
import pickle

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core, eager, layers
from fluidcore.initializer import NumpyArray

X = np.arange(6, dtype=np.float32).reshape(2, 3)


class Halves(fluid.BaseErrorClipAttr):
    """An error clip of one's own."""

    def append_clip_op(self, block, grad_name):
        block.append_op("scale", {"X": grad_name}, {"Out": grad_name}, {"scale": 0.5})


def model():
    """A trained network with a loop, and what a program holds beside its description."""
    x = layers.data("x", [3])
    attr = fluid.ParamAttr(
        "w",
        NumpyArray(np.full([3, 3], 0.25)),
        learning_rate=0.5,
        regularizer=fluid.regularizer.L2Decay(0.1),
        gradient_clip=fluid.GradientClipByValue(2.0),
    )
    h = layers.fc(x, 3, param_attr=attr, act="tanh")
    h.error_clip = Halves()
    rnn = layers.StaticRNN()
    with rnn.step():
        row = rnn.step_input(h)
        rnn.step_output(layers.scale(row, scale=2.0))
    x.error_clip = fluid.ErrorClipByValue(max=3.0, min=-1.0)
    return layers.mean(rnn())


def pickled(value):
    return pickle.loads(pickle.dumps(value))


COPIES = [pickled, copy.deepcopy]


def run(program, fetch):
    return fluid.Executor().run(program, {"x": X}, [fetch])[0]


@pytest.mark.parametrize("copied", [*COPIES, copy.copy])
def test_a_copy_of_a_program_is_the_program_and_grows_alone(copied):
    loss = model()
    main = fluid.default_main_program()
    twin = copied(main)
    text = str(main)
    assert str(twin) == text
    sites = [op.call_site for block in main.blocks for op in block.ops]
    assert [op.call_site for block in twin.blocks for op in block.ops] == sites
    fluid.Executor().run(fluid.default_startup_program())
    np.testing.assert_array_equal(run(main, loss), run(twin, loss.name))
    with fluid.program_guard(twin):
        layers.relu(layers.data("more", [2]))
    assert str(main) == text
    fluid.append_backward(loss)
    assert "more" not in str(main)
    assert "@GRAD" not in str(twin)


@pytest.mark.parametrize("copied", [*COPIES, copy.copy, fluid.Program.clone])
def test_a_copy_keeps_what_is_not_in_the_description(copied):
    loss = model()
    twin = copied(fluid.default_main_program())
    block = twin.global_block()
    w = block.var("w")
    assert isinstance(w, fluid.Parameter)
    assert w.optimize_attr == {"learning_rate": 0.5}
    assert w.regularizer.coefficient == 0.1
    assert (w.gradient_clip_attr.max, w.gradient_clip_attr.min) == (2.0, -2.0)
    clip = block.var("x").error_clip
    assert (clip.max, clip.min) == (3.0, -1.0)
    assert [type(v.error_clip) for v in block.vars.values() if v.error_clip] == [
        fluid.ErrorClipByValue,
        Halves,
    ]
    w.optimize_attr["learning_rate"] = 0.1
    own = fluid.default_main_program().global_block().var("w")
    assert own.optimize_attr == {"learning_rate": 0.5}
    pairs = [
        fluid.append_backward(target, callbacks=[fluid.error_clip_callback])
        for target in (loss, block.var(loss.name))
    ]
    assert str(twin) == str(fluid.default_main_program())
    assert [p.name for p, _ in pairs[1]] == [p.name for p, _ in pairs[0]]


@pytest.mark.parametrize("copied", COPIES)
def test_parts_that_are_copied_with_their_program_stay_its_parts(copied):
    loss = model()
    main = fluid.default_main_program()
    inner = main.block(1)
    parts = [loss, main, inner, inner.ops[0], main.global_block().var("w"), main.desc, loss]
    again, twin, block, op, w, desc, last = copied(parts)
    assert again is last
    assert again is twin.global_block().var(loss.name)
    assert again.block.program is twin
    assert block is twin.block(1)
    assert op is block.ops[0]
    assert w is twin.global_block().var("w")
    assert isinstance(w, fluid.Parameter)
    assert desc is twin.desc


@pytest.mark.parametrize("copied", COPIES)
def test_a_variable_alone_brings_its_program_along(copied):
    loss = model()
    fluid.Executor().run(fluid.default_startup_program())
    twin = copied(loss)
    assert twin.block.program is not loss.block.program
    assert run(twin.block.program, twin) == run(loss.block.program, loss)


def test_a_shallow_copy_of_a_view_is_the_view():
    loss = model()
    for view in (loss, loss.block, loss.block.ops[0]):
        assert copy.copy(view) is view


def test_what_refers_to_variables_of_the_program_is_copied_with_it():
    loss = model()
    loss.peers = [loss, loss.block.program]
    twin = pickled(loss)
    assert twin.peers[0] is twin
    assert twin.peers[1] is twin.block.program


def test_a_copy_is_fetched_with_the_variables_of_the_original():
    loss = model()
    fluid.Executor().run(fluid.default_startup_program())
    assert run(pickled(loss.block.program), loss) == run(loss.block.program, loss)


@pytest.mark.parametrize("copied", COPIES)
def test_what_describes_parameters_and_training_is_copied(copied):
    loss = model()
    adam = fluid.optimizer.Adam(0.125, regularization=fluid.regularizer.L1Decay(0.25))
    adam.minimize(loss)
    attr = fluid.ParamAttr(
        "v", fluid.initializer.MSRA(uniform=False, fan_in=8), 0.5, trainable=False
    )
    twin, again, other = copied((adam, attr, loss))
    assert vars(twin).keys() == vars(adam).keys()
    assert twin.regularization.coefficient == 0.25
    assert (again.name, again.learning_rate, again.trainable) == ("v", 0.5, False)
    assert (again.initializer.uniform, again.initializer.fan_in) == (False, 8)
    assert str(other.block.program) == str(loss.block.program)


def test_names_are_not_given_twice_after_a_copy():
    main = fluid.default_main_program()
    with main.sub_block() as inside:
        taken = inside.unique_name("h")
    with fluid.unique_name.guard():
        assert pickled(main).global_block().unique_name("h") != taken


def test_a_part_that_was_removed_cannot_be_copied():
    x = layers.data("x", [3])
    h = layers.relu(x)
    (op,) = h.block.ops
    h.block.desc.remove_op(0, 1)
    message = "relu: an operator must be in its block to be pickled or copied, got one that was rem"
    with pytest.raises(fluid.InvalidArgument, match=message):
        pickle.dumps(op)
    h.block.desc.remove_vars([h.name])
    with pytest.raises(
        fluid.InvalidArgument, match=rf"Variable '{h.name}': must be in its block to"
    ):
        copy.deepcopy(h)


# Objects of the core


@pytest.mark.parametrize("copied", [*COPIES, copy.copy])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool", "int64"])
def test_a_tensor_has_memory_of_its_own_after_a_copy(copied, dtype):
    from fluidcore.base.dtypes import numpy_dtype

    tensor = fluid.Tensor()
    assert not copied(tensor).is_initialized()
    array = np.array([[1, 0, 1]], numpy_dtype(dtype))
    tensor.set(array)
    twin = copied(tensor)
    tensor.set_float_element(0, 0.0)
    assert twin.dtype() == dtype
    np.testing.assert_array_equal(np.asarray(twin), array)
    twin.set_float_element(1, 1.0)
    assert tensor.get_float_element(1) == 0


@pytest.mark.parametrize("copied", [*COPIES, copy.copy])
def test_a_scope_is_copied_with_its_values_and_what_is_around_it(copied):
    outer = fluid.Scope()
    outer.var("w").get_tensor().set(X)
    inner = outer.new_scope()
    inner.var("b").get_tensor().set(X[0])
    inner.var("empty")
    twin = copied(inner)
    assert twin.local_var_names() == ["b", "empty"]
    np.testing.assert_array_equal(np.asarray(twin.find_var("w").get_tensor()), X)
    twin.find_var("b").get_tensor().set_float_element(0, 9.0)
    assert inner.find_var("b").get_tensor().get_float_element(0) == 0
    assert not twin.find_var("empty").get_tensor().is_initialized()


@pytest.mark.parametrize("copied", [*COPIES, copy.copy])
def test_descriptions_are_copied(copied):
    model()
    desc = fluid.default_main_program().desc
    twin = copied(desc)
    assert str(twin) == str(desc)
    assert str(copied(desc.block(1)).ops()[0]) == str(desc.block(1).ops()[0])
    op = copied(desc.block(0).op(0))
    assert (str(op), op.call_site()) == (str(desc.block(0).op(0)), desc.block(0).op(0).call_site())
    twin.block(0).remove_op(0, 1)
    assert twin.block(0).op_size() == desc.block(0).op_size() - 1
    assert copied(core.BlockIndex(3)) == core.BlockIndex(3)
    assert copied(core.op_def("mul")).type == "mul"
    assert [repr(copied(p)) for p in (fluid.CPUPlace(), fluid.CUDAPlace(2))] == [
        "CPUPlace()",
        "CUDAPlace(2)",
    ]


def test_what_cannot_be_copied_says_why_and_what_to_do():
    scope = fluid.Scope()
    x = layers.data("x", [3])
    y = eager.Tensor([1.0], requires_grad=True) * 2.0
    executor = "an Executor cannot be pickled or copied, as it holds what is prepared for this proc"
    for value, message in (
        (fluid.Executor(), f"{executor}ess; make a new one, Executor()"),
        (core.Executor(fluid.CPUPlace()), f"{executor}ess; make a new one, Executor()"),
        (
            scope.var("x"),
            "a Variable of a Scope cannot be pickled or copied alone; pickle the Scope, or the "
            "value, get_tensor()",
        ),
        (
            x.desc,
            "a VarDesc cannot be pickled or copied alone, as it belongs to its block; pickle the "
            "Variable, or the ProgramDesc",
        ),
        (
            core.CallableFunction(lambda arrays: arrays, [X]),
            "a Function cannot be pickled or copied, as it holds what is prepared for this "
            "process; make a new one",
        ),
        (
            y,
            "a Tensor with a history, the result of elementwise_mul, cannot be pickled or copied; "
            "pickle x.detach()",
        ),
    ):
        for copied in (*COPIES, copy.copy):
            with pytest.raises(TypeError) as raised:
                copied(value)
            assert str(raised.value) == message


@pytest.mark.parametrize("copied", [*COPIES, copy.copy])
def test_an_eager_leaf_keeps_value_and_gradient(copied):
    x = eager.Tensor([1.0, 2.0], requires_grad=True)
    (x * x).backward()
    twin = copied(x)
    assert twin.requires_grad
    assert not twin.array.flags.writeable
    np.testing.assert_array_equal(twin.numpy(), [1, 2])
    np.testing.assert_array_equal(twin.grad.numpy(), [2, 4])
    (twin * 1.0).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2, 4])
    assert not copied(eager.Tensor([1, 2])).requires_grad


def answer(program, scope, loss):
    with fluid.scope_guard(scope):
        return run(program, loss)


def test_a_spawned_process_runs_a_program():
    loss = model()
    fluid.Executor().run(fluid.default_startup_program())
    here = (fluid.default_main_program(), fluid.global_scope(), loss)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        there = pool.apply(answer, here)
    np.testing.assert_array_equal(there, answer(*here))
