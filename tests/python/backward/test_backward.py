"""Tests of fluidcore.backward: golden texts, and gradients that Fluid got wrong."""

import gc

import numpy as np
import pytest
from counting import instructions
from differences import loop, whole

import fluidcore as fluid
from fluidcore import core, layers
from fluidcore.backward.operators import OpTraits, op_traits


@pytest.fixture
def block():
    return fluid.default_main_program().global_block()


def data(name, shape=(2, 3), **settings):
    return layers.data(name, list(shape), append_batch_size=False, **settings)


def parameter(name, shape=(2, 3), dtype="float32"):
    block = fluid.default_main_program().global_block()
    return block.create_parameter(list(shape), dtype, name)


def new_ops(block, first):
    """The operators from `first` on, without attributes."""
    return [str(op).partition("   #")[0] for op in block.ops[first:]]


def backward(loss, **settings):
    first = len(loss.block.ops)
    pairs = fluid.append_backward(loss, **settings)
    return pairs, new_ops(loss.block, first)


def names(pairs):
    return [(p.name, None if g is None else g.name) for p, g in pairs]


def run(fetch_list, feed=None, **params):
    for name, value in params.items():
        fluid.global_scope().var(name).get_tensor().set(np.asarray(value, np.float32))
    feed = {k: np.asarray(v, np.float32) for k, v in (feed or {}).items()}
    return fluid.Executor().run(feed=feed, fetch_list=fetch_list)


# Golden texts


def test_a_chain(block):
    w = parameter("w")
    loss = layers.mean(layers.tanh(w))
    pairs, ops = backward(loss)
    assert ops == [
        "fill_constant() -> Out=mean_0.tmp_0@GRAD",
        "mean_grad(Out@GRAD=mean_0.tmp_0@GRAD, X=tanh_0.tmp_0) -> X@GRAD=tanh_0.tmp_0@GRAD",
        "tanh_grad(Out=tanh_0.tmp_0, Out@GRAD=tanh_0.tmp_0@GRAD) -> X@GRAD=w@GRAD",
    ]
    ((p, g),) = pairs
    assert p is w
    assert repr(g) == "Variable('w@GRAD', float32 [2, 3])"


def test_a_parameter_that_is_read_twice_gets_a_sum(block):
    w = parameter("w")
    loss = layers.mean(layers.elementwise_add(layers.tanh(w), layers.relu(w)))
    _, ops = backward(loss)
    assert ops[3:] == [
        "relu_grad(Out=relu_0.tmp_0, Out@GRAD=relu_0.tmp_0@GRAD) -> X@GRAD=w@GRAD@RENAME@0",
        "tanh_grad(Out=tanh_0.tmp_0, Out@GRAD=tanh_0.tmp_0@GRAD) -> X@GRAD=w@GRAD@RENAME@1",
        "sum(X=[w@GRAD@RENAME@0, w@GRAD@RENAME@1]) -> Out=w@GRAD",
    ]


def test_the_same_variable_twice_in_one_operator(block):
    w = parameter("w")
    loss = layers.mean(w * w)
    _, ops = backward(loss)
    assert ops[2:] == [
        "elementwise_mul_grad(Out@GRAD=tmp_0@GRAD, X=w, Y=w) -> "
        "X@GRAD=w@GRAD@RENAME@0, Y@GRAD=w@GRAD@RENAME@1",
        "sum(X=[w@GRAD@RENAME@0, w@GRAD@RENAME@1]) -> Out=w@GRAD",
    ]


def test_the_same_variable_twice_in_one_slot(block):
    w = parameter("w")
    _, ops = backward(layers.mean(layers.concat([w, w])))
    assert ops[-1] == "sum(X=[w@GRAD@RENAME@0, w@GRAD@RENAME@1]) -> Out=w@GRAD"


def test_an_unused_output_has_a_zero_gradient(block):
    w = parameter("w", (2, 4))
    used, _ = layers.split(w, 2, dim=1)
    _, ops = backward(layers.mean(used))
    assert ops[2:] == [
        "fill_zeros_like(X=split_0.tmp_1) -> Out=split_0.tmp_1@GRAD",
        "concat(X=[split_0.tmp_0@GRAD, split_0.tmp_1@GRAD]) -> Out=w@GRAD",
    ]


def test_data_gets_no_gradient(block):
    x, w = data("x"), parameter("w")
    _, ops = backward(layers.mean(x * w))
    assert ops[-1] == "elementwise_mul_grad(Out@GRAD=tmp_0@GRAD, X=x, Y=w) -> " + (
        "X@GRAD=@EMPTY@, Y@GRAD=w@GRAD"
    )


def test_data_that_does_not_stop_gradients_gets_one(block):
    x, w = data("x", stop_gradient=False), parameter("w")
    backward(layers.mean(x * w))
    assert block.var("x@GRAD").shape == (2, 3)


def test_a_second_backward_takes_new_names(block):
    w = parameter("w")
    first = layers.mean(layers.tanh(w))
    second = layers.mean(layers.relu(w))
    backward(first)
    pairs, ops = backward(second)
    assert ops == [
        "fill_constant() -> Out=mean_1.tmp_0@GRAD",
        "mean_grad(Out@GRAD=mean_1.tmp_0@GRAD, X=relu_0.tmp_0) -> X@GRAD=relu_0.tmp_0@GRAD",
        "relu_grad(Out=relu_0.tmp_0, Out@GRAD=relu_0.tmp_0@GRAD) -> X@GRAD=w@GRAD_0",
    ]
    assert pairs[0][1].name == "w@GRAD_0"
    pairs, ops = backward(first)
    assert ops[-1].endswith("Out@GRAD=tanh_0.tmp_0@GRAD_0) -> X@GRAD=w@GRAD_1")


def test_the_same_program_gives_the_same_text():
    texts = set()
    for _ in range(3):
        with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
            x = layers.data("x", [5])
            h = layers.fc(layers.fc(x, 4, act="tanh"), 4, act="tanh")
            fluid.append_backward(layers.mean(h * h + h))
            texts.add(str(fluid.default_main_program()))
    assert len(texts) == 1


def test_gradient_operators_have_the_call_site_of_the_forward_operator(block):
    w = parameter("w")
    loss = layers.mean(layers.tanh(w))
    sites = [op.call_site for op in block.ops]
    fluid.append_backward(loss)
    assert [op.call_site for op in block.ops[3:]] == sites[::-1]


def test_gradients_have_the_shape_and_dtype_of_their_variables(block):
    x = layers.data("x", [3], dtype="float64", stop_gradient=False)
    w = parameter("w", (3, 5), "float64")
    fluid.append_backward(layers.mean(layers.mul(x, w)))
    for name in ("x", "w", "mul_0.tmp_0", "mean_0.tmp_0"):
        variable, grad = block.var(name), block.var(f"{name}@GRAD")
        assert (grad.shape, grad.dtype) == (variable.shape, variable.dtype)


# What is wanted, and what is not


def test_no_grad_set_takes_variables_and_names(block):
    u, v, w = parameter("u"), parameter("v"), parameter("w")
    pairs, _ = backward(layers.mean(u * w * v), no_grad_set={w, "u"})
    assert names(pairs) == [("u", None), ("v", "v@GRAD"), ("w", None)]


def test_a_name_in_no_grad_set_that_no_variable_has_is_a_warning(block):
    hidden = layers.tanh(parameter("w"), name="hidden")
    message = (
        f"append_backward: no_grad_set must name variables of the program, got 'hiden.tmp_0', "
        f"which has no effect; did you mean '{hidden.name}'?"
    )
    with pytest.warns(UserWarning, match=message.replace("?", "[?]")) as told:
        pairs = fluid.append_backward(layers.mean(hidden), no_grad_set={"hiden.tmp_0"})
    assert names(pairs) == [("w", "w@GRAD")]
    assert [warning.filename for warning in told] == [__file__]
    with pytest.warns(UserWarning, match="got '@', which has no effect$"):
        fluid.gradients(hidden, block.var("w"), no_grad_set=["@", hidden])


def test_names_of_inner_blocks_are_known_to_no_grad_set():
    x = layers.data("x", [2, 3], append_batch_size=False, stop_gradient=False)
    rnn = layers.StaticRNN()
    with rnn.step():
        inner = layers.scale(rnn.step_input(x), scale=2.0)
        rnn.step_output(layers.tanh(inner))
    fluid.append_backward(layers.mean(rnn()), no_grad_set=[inner])


def test_parameter_list_gives_the_order(block):
    u, v, w = parameter("u"), parameter("v"), parameter("w")
    loss = layers.mean(u * v * w)
    pairs, _ = backward(loss, parameter_list=["w", u])
    assert names(pairs) == [("w", "w@GRAD"), ("u", "u@GRAD")]
    assert not block.has_var("v@GRAD")


def test_parameter_list_may_hold_any_floating_variable(block):
    x, w = data("x"), parameter("w")
    y = x * w
    loss = layers.mean(layers.square(y))
    pairs, _ = backward(loss, parameter_list=["x", y, "w"])
    assert names(pairs) == [("x", "x@GRAD"), (y.name, f"{y.name}@GRAD"), ("w", "w@GRAD")]


def test_parameter_list_wants_floating_variables(block):
    w, label = parameter("w"), layers.data("label", [1], "int64")
    array = layers.create_array("float32")
    loss = layers.mean(w)
    with pytest.raises(fluid.NotFound, match="no variable 'u'"):
        fluid.append_backward(loss, parameter_list=["u"])
    with pytest.raises(fluid.InvalidArgument, match="must hold floating variables, got 'label' of"):
        fluid.append_backward(loss, parameter_list=[label])
    with pytest.raises(fluid.InvalidArgument, match=r"floating variables, got .* of a tensor"):
        fluid.append_backward(loss, parameter_list=[array])
    with pytest.raises(TypeError, match="parameter_list must be a list or a set, got 'w'"):
        fluid.append_backward(loss, parameter_list="w")


def test_a_frozen_parameter_is_left_out(block):
    w, v = parameter("w"), parameter("v")
    w.trainable = False
    pairs, _ = backward(layers.mean(w * v))
    assert names(pairs) == [("v", "v@GRAD")]
    assert "w@GRAD" not in str(block.program)


def test_a_parameter_beside_the_loss_has_no_gradient(block):
    parameter("unused")
    w = parameter("w")
    pairs, _ = backward(layers.mean(layers.tanh(w)))
    assert names(pairs) == [("unused", None), ("w", "w@GRAD")]


def test_a_loss_without_parameters_appends_nothing(block):
    w = parameter("w")
    pairs, ops = backward(layers.mean(data("x")))
    assert names(pairs) == [(w.name, None)]
    assert ops == []


def test_stop_gradient_ends_the_path(block):
    w, v = parameter("w"), parameter("v")
    h = layers.tanh(w)
    h.stop_gradient = True
    pairs, _ = backward(layers.mean(h * v))
    assert names(pairs) == [("w", None), ("v", "v@GRAD")]


def test_metrics_and_integers_on_the_path_are_constants(block):
    label = layers.data("label", [1], dtype="int64")
    x = layers.data("x", [3])
    w = parameter("w", (3, 4))
    h = layers.mul(x, w)
    layers.accuracy(h, label)
    _, indices = layers.topk(h, 2)
    picked = layers.reduce_sum(layers.cast(indices, "float32"))
    loss = layers.mean(h) + picked
    pairs, ops = backward(loss)
    assert names(pairs) == [("w", "w@GRAD")]
    assert not any("top_k" in op or "accuracy" in op for op in ops)


def test_counters_beside_the_path_do_not_matter(block):
    w = parameter("w")
    step = layers.create_global_var([1], 0.0, "float32", persistable=True, name="step")
    h = w + step
    layers.increment(step)
    pairs, _ = backward(layers.mean(h))
    assert names(pairs) == [("w", "w@GRAD")]


# Errors


@pytest.mark.parametrize("shape", [(2, 3), (-1, 1), (0,)])
def test_the_loss_must_be_one_number(shape):
    loss = data("x", shape)
    with pytest.raises(
        ValueError, match=r"loss must be one number, got 'x' of shape \[.*\]; .* layers.mean"
    ):
        fluid.append_backward(loss)


def test_the_loss_must_be_a_floating_variable():
    with pytest.raises(TypeError, match="loss must be a Variable, got str"):
        fluid.append_backward("loss")
    with pytest.raises(fluid.InvalidArgument, match="must be floating, got 'n' of int64"):
        fluid.append_backward(data("n", (1,), dtype="int64"))


@pytest.mark.parametrize("callbacks", [print, "print", [1], {"a": print}])
def test_callbacks_must_be_a_list_of_functions(callbacks):
    loss = layers.mean(parameter("w"))
    with pytest.raises(TypeError, match="callbacks must be a list of functions"):
        fluid.append_backward(loss, callbacks=callbacks)


class WithoutGradient(OpTraits):
    """What append_backward would know of an operator that nobody gave a gradient."""

    has_grad = property(lambda self: False, lambda self, value: None)


@pytest.mark.parametrize("in_a_loop", [False, True])
def test_an_operator_without_gradient_names_itself_its_line_and_the_cure(
    block, monkeypatch, in_a_loop
):
    h = layers.assign(parameter("w"))

    def body(i):
        layers.assign(layers.tanh(h), output=h)

    if in_a_loop:
        loop(whole(2), body)
    else:
        body(None)
    loss = layers.mean(h)
    monkeypatch.setattr(
        "fluidcore.backward.gradient.op_traits",
        lambda name: WithoutGradient(name) if name == "tanh" else op_traits(name),
    )
    text = str(block.program)
    with pytest.raises(
        fluid.InvalidArgument, match=r"got 'tanh', which has none; set stop_gradient=True on its"
    ) as caught:
        fluid.append_backward(loss)
    (note,) = caught.value.__notes__
    assert "test_backward.py:" in note
    assert note.endswith("layers.assign(layers.tanh(h), output=h)")
    assert str(block.program) == text
    assert gc.isenabled()
    monkeypatch.undo()
    assert names(fluid.append_backward(loss)) == [("w", "w@GRAD")]


def test_a_gradient_that_an_operator_refuses_names_the_users_line(block):
    loss = layers.mean(layers.dropout(parameter("w"), 0.5))
    block.ops[0].desc.set_output("Mask", [])
    text = str(block.program)
    with pytest.raises(fluid.InvalidArgument, match="dropout: Mask must be an output") as caught:
        fluid.append_backward(loss)
    assert str(block.program) == text
    (note,) = caught.value.__notes__
    assert note.endswith('layers.mean(layers.dropout(parameter("w"), 0.5))')


@pytest.mark.parametrize("before", [False, True])
def test_a_clone_for_tests_is_differentiated_as_it_calculates(before):
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        x = layers.data("x", [3], dtype="float64", stop_gradient=False)
        h = layers.batch_norm(layers.fc(x, 4, act="tanh"))
        loss = layers.reduce_sum(layers.square(layers.dropout(h, 0.25)))
        if before:
            fluid.gradients(loss, x)
    test = main.clone(for_test=True)
    if not before:
        with fluid.program_guard(test):
            block = test.global_block()
            fluid.gradients(block.var(loss.name), block.var("x"))
    exe = fluid.Executor()
    exe.run(startup)
    point = np.random.default_rng(1).standard_normal((2, 3))
    (got,) = exe.run(test, {"x": point}, ["x@GRAD"])

    def at(values):
        return exe.run(test, {"x": values}, [loss.name])[0].item()

    for index in np.ndindex(point.shape):
        step = np.zeros_like(point)
        step[index] = 2.0**-17
        slope = (at(point + step) - at(point - step)) / 2.0**-16
        np.testing.assert_allclose(got[index], slope, rtol=1e-7)


def test_the_gradient_passes_a_counter(block):
    w = parameter("w", (1,))
    counter = layers.increment(w * 3.0, value=0.5)
    fluid.append_backward(layers.reduce_sum(layers.square(counter)))
    fluid.global_scope().var("w").get_tensor().set(np.array([2.0], np.float32))
    assert fluid.Executor().run(fetch_list=["w@GRAD"])[0].item() == 2 * (3 * 2 + 0.5) * 3


@pytest.mark.parametrize("inside", [False, True])
def test_a_loss_in_a_block_is_an_error(block, inside):
    w, i = parameter("w"), whole(0)
    running = layers.less_than(i, whole(2))

    def check():
        text = str(block.program)
        with pytest.raises(
            fluid.InvalidArgument,
            match=r"the loss must be in the outermost block, got 'mean_0.tmp_0' of block 1",
        ):
            fluid.append_backward(loss)
        assert str(block.program) == text

    with layers.While(running).block():
        loss = layers.mean(w)
        if inside:
            check()
        layers.increment(i)
        layers.less_than(i, whole(2), cond=running)
    if not inside:
        check()


def test_an_operator_that_runs_a_block_that_is_not_there_is_named(block):
    loss = layers.mean(parameter("w"))
    op = block.desc.append_op()
    op.set_type("while")
    op.set_input("Condition", ["mean_0.tmp_0"])
    op.set_block_attr("sub_block", 9)
    with pytest.raises(fluid.NotFound, match=r"while: sub_block .* block 9"):
        fluid.append_backward(loss)


def test_an_error_in_a_callback_leaves_nothing(block):
    loss = layers.mean(layers.tanh(parameter("w")))
    text = str(block.program)

    def fail(block, context):
        block.append_op("relu", {"X": "w"}, {"Out": "extra"})
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        fluid.append_backward(loss, callbacks=[fail])
    assert str(block.program) == text


# Callbacks


def test_callbacks_see_each_operator_and_complete_gradients(block):
    w = parameter("w")
    loss = layers.mean(layers.tanh(w) * layers.relu(w))
    seen = []

    def look(block, context):
        op = block.ops[-1]
        complete = [context[name] for name in op.output_arg_names if name in context]
        assert all(block.has_var(name) for name in op.output_arg_names)
        seen.append((op.type, complete))

    fluid.append_backward(loss, callbacks=[look])
    assert seen == [
        ("fill_constant", ["mean_0.tmp_0"]),
        ("mean_grad", ["tmp_0"]),
        ("elementwise_mul_grad", ["tanh_0.tmp_0", "relu_0.tmp_0"]),
        ("relu_grad", []),
        ("tanh_grad", []),
        ("sum", ["w"]),
    ]


# Numbers


def test_square_by_multiplication():
    w = parameter("w", (3,))
    ((_, grad),) = fluid.append_backward(layers.reduce_sum(w * w))
    (value,) = run([grad], w=[1, -2, 3])
    np.testing.assert_allclose(value, [2, -4, 6])


def test_split_with_one_part_used():
    w = parameter("w", (4,))
    used, _ = layers.split(w, 2)
    ((_, grad),) = fluid.append_backward(layers.reduce_sum(used * used))
    (value,) = run([grad], w=[1, 2, 3, 4])
    np.testing.assert_allclose(value, [2, 4, 0, 0])


def test_a_variable_that_is_written_in_place(block):
    w = parameter("w", (3,))
    h = layers.tanh(w)
    block.append_op("relu", {"X": h}, {"Out": h})
    block.append_op("elementwise_mul", {"X": h, "Y": h}, {"Out": h})
    ((_, grad),) = fluid.append_backward(layers.reduce_sum(h))
    values = np.array([0.5, -1.0, 2.0])
    (value,) = run([grad], w=values)
    squashed = np.tanh(values)
    expected = np.where(values > 0, 2 * squashed * (1 - squashed**2), 0)
    np.testing.assert_allclose(value, expected, rtol=1e-6)


def test_a_value_that_is_overwritten_before_backward():
    w, x = parameter("w", (3,)), data("x", (3,))
    loss = layers.reduce_sum(layers.elementwise_mul(w, x))
    layers.assign(x + 1.0, output=x)
    layers.assign(x * x, output=x)
    ((_, grad),) = fluid.append_backward(loss)
    value, after = run([grad, x], feed={"x": [1, 2, 3]}, w=[0, 0, 0])
    np.testing.assert_allclose(value, [1, 2, 3])
    np.testing.assert_allclose(after, [4, 9, 16])


def test_gradients_of_any_variable_also_one_that_stops():
    x = data("x", (3,))
    y = layers.square(x)
    z = layers.square(y)
    grads = fluid.gradients([y, z], [x, y])
    values = run(grads, feed={"x": [1, 2, 3]})
    np.testing.assert_allclose(values[0], [2 + 4, 4 + 32, 6 + 108])
    np.testing.assert_allclose(values[1], [1 + 2, 1 + 8, 1 + 18])


def test_gradients_start_from_given_cotangents():
    x, v = data("x", (3,)), data("v", (3,))
    (grad,) = fluid.gradients(layers.square(x), x, target_gradients=v)
    (value,) = run([grad], feed={"x": [1, 2, 3], "v": [1, 10, 100]})
    np.testing.assert_allclose(value, [2, 40, 600])


def test_gradients_of_unknown_batch_size():
    x = layers.data("x", [1])
    (grad,) = fluid.gradients([layers.square(x)], [x])
    (value,) = run([grad], feed={"x": [[3], [4]]})
    np.testing.assert_allclose(value, [[6], [8]])


def test_gradients_of_several_targets_by_variables_in_between():
    x, y, v = data("x", (2,)), data("y", (2,)), data("v", (2,))
    h = layers.tanh(x)
    k = h * y
    t = layers.square(k)
    *grads, none = fluid.gradients([t, k], [h, y, data("unused")], [v, None])
    assert none is None
    feed = {"x": [0.3, 0.4], "y": [2, 3], "v": [0.5, 7]}
    by_h, by_y, values = run([*grads, h], feed=feed)
    y, v = np.array(feed["y"]), np.array(feed["v"])
    np.testing.assert_allclose(by_h, v * 2 * values * y**2 + y, rtol=1e-6)
    np.testing.assert_allclose(by_y, v * 2 * values**2 * y + values, rtol=1e-6)


def test_a_target_that_is_there_twice_and_one_that_is_an_input():
    x = data("x", (2,))
    h = layers.square(x)
    grads = fluid.gradients([layers.square(h), layers.square(h), h], [h, x])
    by_h, by_x = run(grads, feed={"x": [1, 3]})
    np.testing.assert_allclose(by_h, [1 + 4, 1 + 36])
    np.testing.assert_allclose(by_x, [(1 + 4) * 2, (1 + 36) * 6])
    (twice,) = fluid.gradients([h, h], [x])
    np.testing.assert_allclose(run([twice], feed={"x": [1, 3]})[0], [4, 12])


def test_targets_of_different_blocks_are_refused(block):
    w, flag = parameter("w"), layers.fill_constant([1], "bool", 1)
    with layers.ConditionalBlock([flag], True).block():
        inside = layers.tanh(w)
    with pytest.raises(fluid.InvalidArgument, match="all targets must be in one block"):
        fluid.gradients([inside, layers.relu(w)], [w])
    assert "@GRAD" not in str(block.program)


def test_gradients_of_an_unrelated_input_is_none():
    x, y = data("x"), data("y")
    assert fluid.gradients([layers.tanh(x)], [y]) == [None]


def test_gradients_with_respect_to_whole_numbers_are_none():
    x, n = data("x"), data("n", (1,), dtype="int64")
    assert fluid.gradients([x * layers.cast(n, "float32")], [n]) == [None]


def test_gradients_with_respect_to_an_array_are_an_error():
    index = layers.fill_constant([1], "int64", 0)
    array = layers.array_write(data("x"), index)
    with pytest.raises(fluid.InvalidArgument, match="inputs must be tensors, got the tensor array"):
        fluid.gradients(layers.array_read(array, index), array)


def test_gradients_of_a_variable_by_itself_is_one():
    x = data("x", (2,))
    (grad,) = fluid.gradients([x], [x])
    np.testing.assert_allclose(run([grad], feed={"x": [5, 6]})[0], [1, 1])


def test_gradients_wants_a_gradient_of_the_targets_shape():
    x, v = data("x", (3,)), data("v", (2,))
    with pytest.raises(fluid.InvalidArgument, match="must have its shape and dtype"):
        fluid.gradients([layers.tanh(x)], [x], target_gradients=[v])
    with pytest.raises(fluid.InvalidArgument, match="got 2 for 1"):
        fluid.gradients([layers.tanh(x)], [x], target_gradients=[v, v])


# Size


def test_long_chains_and_wide_sums_take_linear_time():
    def work(length):
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            x = data("x", (4,), stop_gradient=False)
            h = x
            for i in range(length):
                h = layers.relu(layers.elementwise_mul(h, parameter(f"w{i}", (4,))))
            loss = layers.mean(h)
            for _ in range(length):
                loss = loss + layers.mean(x)
            count = instructions(lambda: fluid.append_backward(loss))
            assert core.EMPTY_VAR_NAME not in x.block.vars
            return count

    work(10)  # caches what is read once
    assert work(100) < 4.5 * work(25)  # quadratic would be 16


def test_data_is_overwritten_only_by_what_surely_has_its_shape(block):
    x = layers.data("x", [2, 3], append_batch_size=False, stop_gradient=False)
    y = layers.data("y", [3], stop_gradient=False)
    square = layers.square(y)
    text = str(block.program)
    message = (
        r"assign: Out must fit the variable 'x', declared as float32 \[2, 3\], got float32 "
        r"\[-1, 3\]; declare it with -1 where an extent is not known"
    )
    with pytest.raises(fluid.InvalidArgument, match=message) as caught:
        layers.assign(square, output=x)
    assert any("layers.assign(square, output=x)" in note for note in caught.value.__notes__)
    assert str(block.program) == text


@pytest.mark.parametrize("rows", [2, 5])
def test_data_of_any_number_of_rows_is_overwritten_and_differentiated(block, rows):
    x = layers.data("x", [3], stop_gradient=False)
    y = layers.data("y", [3], stop_gradient=False)
    before = layers.reduce_sum(x * x)
    layers.assign(layers.square(y), output=x)
    by_y = fluid.gradients(x, y)[0]
    by_x = fluid.gradients(before, x)[0]
    feed = {"x": np.full((4, 3), 2.0, np.float32), "y": np.full((rows, 3), 3.0, np.float32)}
    got = fluid.Executor().run(feed=feed, fetch_list=[by_y, by_x, x])
    np.testing.assert_array_equal(got[0], np.full((rows, 3), 6.0))
    np.testing.assert_array_equal(got[1], np.full((4, 3), 4.0))
    np.testing.assert_array_equal(got[2], np.full((rows, 3), 9.0))
