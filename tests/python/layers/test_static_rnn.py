"""Tests of StaticRNN."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers


def run(fetches, **feed):
    return fluid.Executor().run(feed=feed, fetch_list=fetches)


def program_text():
    return str(fluid.default_main_program()) + str(fluid.default_startup_program())


def refused(kind, match, call):
    before = program_text()
    with pytest.raises(kind, match=match):
        call()
    assert program_text() == before
    assert fluid.default_main_program().current_block().idx == 0


def sequence(name="x", features=3, time=-1, batch=-1):
    return layers.data(name, [time, batch, features], append_batch_size=False)


XS = np.random.default_rng(3).random((4, 2, 3), dtype="float32")


def test_a_recurrence_is_that_of_numpy():
    x = sequence()
    rnn = layers.StaticRNN()
    with rnn.step():
        word = rnn.step_input(x)
        assert word.shape == (-1, 3)
        before = rnn.memory(shape=[-1, 3], batch_ref=word)
        hidden = layers.tanh(word + before * 0.5)
        rnn.update_memory(before, hidden)
        rnn.step_output(hidden)
    out = rnn()
    assert out.shape == (-1, -1, 3)
    executor = fluid.Executor()
    for time, batch in ((4, 2), (1, 1), (3, 2), (0, 2), (2, 0)):
        xs, h, expected = XS[:time, :batch], np.zeros((batch, 3), "float32"), []
        for t in range(time):
            h = np.tanh(xs[t] + h * np.float32(0.5))
            expected.append(h)
        (got,) = executor.run(feed={"x": xs}, fetch_list=[out])
        np.testing.assert_allclose(got, np.reshape(expected, (time, batch, 3)), rtol=1e-5)


def test_a_layer_with_parameters_uses_them_in_every_step():
    x = sequence(batch=2)
    rnn = layers.StaticRNN()
    with rnn.step():
        word = rnn.step_input(x)
        before = rnn.memory(shape=[2, 5])
        hidden = layers.fc([word, before], 5, act="tanh", bias_attr=False)
        rnn.update_memory(before, hidden)
        rnn.step_output(hidden)
    out = rnn()
    executor = fluid.Executor()
    fluid.default_startup_program().random_seed = 1  # by which no state is near 0
    executor.run(fluid.default_startup_program())
    parameters = fluid.default_main_program().all_parameters()
    scope = fluid.global_scope()
    w, u = (np.asarray(scope.find_var(p.name).get_tensor()) for p in parameters)
    h = np.zeros((2, 5), "float32")
    (got,) = executor.run(feed={"x": XS}, fetch_list=[out])
    for t in range(4):
        h = np.tanh(XS[t] @ w + h @ u)
        np.testing.assert_allclose(got[t], h, rtol=1e-5)
    op = fluid.default_main_program().global_block().ops[-1]
    assert op.type == "recurrent"
    assert op.input("parameters") == [p.name for p in parameters]


def test_there_may_be_several_inputs_memories_and_outputs():
    x, y = sequence("x"), sequence("y")
    start = layers.data("start", [3])
    rnn = layers.StaticRNN(name="both")
    with rnn.step():
        a, b = rnn.step_input(x), rnn.step_input(y)
        total = rnn.memory(init=start)
        ones = rnn.memory(shape=[-1, 3], batch_ref=b, init_value=1.0)
        rnn.update_memory(total, total + a)
        rnn.update_memory(ones, ones * b)
        rnn.output(total, ones * 2.0)
    first, second = rnn()
    ys, init = XS + 1, XS[0] * 7
    got = run([first, second], x=XS, y=ys, start=init)
    sums = np.concatenate([init[None], init + np.cumsum(XS, 0)])[:-1]
    products = np.concatenate([np.ones((1, 2, 3)), np.cumprod(ys, 0)])[:-1]
    np.testing.assert_allclose(got[0], sums, rtol=1e-5)
    np.testing.assert_allclose(got[1], 2 * products, rtol=1e-5)


def test_memories_may_change_places_and_inputs_may_be_results():
    x = sequence()
    a0, b0 = layers.zeros([1], "float32"), layers.ones([1], "float32")
    outer = layers.fill_constant([1], "float32", 9)
    rnn = layers.StaticRNN()
    with rnn.step():
        word = rnn.step_input(x)
        a, b, last = rnn.memory(init=a0), rnn.memory(init=b0), rnn.memory(init=outer)
        rnn.update_memory(a, b)
        rnn.update_memory(b, a)
        rnn.update_memory(last, outer)
        rnn.output(a, word, last)
    swapped, words, same = run(rnn(), x=XS)
    assert swapped.ravel().tolist() == [0, 1, 0, 1]
    np.testing.assert_array_equal(words, XS)
    assert same.ravel().tolist() == [9] * 4


def test_a_shorter_shape_of_memory_can_be_taken_from_any_sequence():
    ids = layers.data("ids", [-1, -1], dtype="int64", append_batch_size=False)
    rnn = layers.StaticRNN()
    with rnn.step():
        word = rnn.step_input(ids)
        count = rnn.memory(shape=[2, -1], batch_ref=word, init_batch_dim_idx=1)
        rnn.update_memory(count, count + layers.cast(word, "float32"))
        rnn.step_output(count)
    (got,) = run([rnn()], ids=np.ones((3, 4), "int64"))
    np.testing.assert_array_equal(got, np.arange(3)[:, None, None] * np.ones((3, 2, 4)))


def test_a_memory_that_starts_with_numbers_has_the_dtype_of_the_first_input():
    for dtype, expected in (("float64", "float64"), ("int64", "float32")):
        x = layers.data(f"x_{dtype}", [3, 2], dtype=dtype, append_batch_size=False)
        rnn = layers.StaticRNN()
        with rnn.step():
            word = rnn.step_input(x)
            before = rnn.memory(shape=[2])
            assert before.dtype == expected
            rnn.update_memory(before, before)
            rnn.step_output(word)


def test_a_block_may_write_outer_variables():
    x = sequence()
    steps = layers.zeros([1], "int64")
    rnn = layers.StaticRNN()
    with rnn.step():
        rnn.step_output(rnn.step_input(x))
        layers.increment(steps)
    out = rnn()
    assert run([out, steps], x=XS)[1][0] == 4


def test_recurrences_nest():
    x = layers.data("x", [-1, -1, 2], append_batch_size=False)
    outer = layers.StaticRNN()
    with outer.step():
        row = outer.step_input(x)
        total = outer.memory(shape=[2])
        inner = layers.StaticRNN()
        with inner.step():
            part = inner.step_input(row)
            s = inner.memory(init=total)
            inner.update_memory(s, s + part)
            inner.step_output(s + part)
        sums = inner()
        outer.update_memory(total, total + layers.reduce_sum(row, dim=0))
        outer.step_output(sums)
    xs = np.random.default_rng(0).random((3, 4, 2), dtype="float32")
    (got,) = run([outer()], x=xs)
    np.testing.assert_allclose(got.reshape(12, 2), np.cumsum(xs.reshape(12, 2), 0), rtol=1e-5)


def test_the_program_is_readable():
    x = sequence()
    rnn = layers.StaticRNN()
    with rnn.step():
        word = rnn.step_input(x)
        before = rnn.memory(shape=[-1, 3], batch_ref=word)
        rnn.update_memory(before, before + word)
        rnn.step_output(word * 2.0)
    text = str(fluid.default_main_program())
    assert "ex_states=['static_rnn_0.memory_0']" in text
    assert "step_inputs=['static_rnn_0.x_0']" in text


def used(body):
    """A call that gives a StaticRNN this body."""

    def call():
        rnn = layers.StaticRNN()
        with rnn.step():
            body(rnn)

    return call


def test_misuse_in_a_block_is_told_and_leaves_nothing():
    x, y = sequence(time=4, batch=2), sequence("y", time=5, batch=2)
    unknown = sequence("z")
    zero = layers.zeros([2, 3], "float32")

    def forgotten(rnn):
        word = rnn.step_input(x)
        rnn.memory(init=zero)
        rnn.step_output(word)

    def lengths(rnn):
        rnn.step_input(x)
        rnn.step_input(y)

    def no_output(rnn):
        rnn.step_input(x)

    def no_input(rnn):
        before = rnn.memory(init=zero)
        rnn.update_memory(before, before)
        rnn.step_output(before)

    def asked_inside(rnn):
        rnn.step_output(rnn.step_input(x))
        rnn()

    def twice(rnn):
        before = rnn.memory(init=zero)
        rnn.update_memory(before, before)
        rnn.update_memory(before, before)

    def foreign(rnn):
        rnn.update_memory(rnn.step_input(x), zero)

    def shape(rnn):
        rnn.update_memory(rnn.memory(init=zero), layers.zeros([3], "float32"))

    def no_init(rnn):
        rnn.memory()

    def unknown_extent(rnn):
        rnn.memory(shape=[-1, 3])

    def local_ref(rnn):
        rnn.memory(shape=[-1, 3], batch_ref=rnn.step_input(unknown) * 2.0)

    def in_place(rnn):
        before = rnn.memory(init=zero)
        layers.assign(before + 1.0, output=before)
        rnn.update_memory(before, before)
        rnn.step_output(rnn.step_input(x))

    def local_input(rnn):
        rnn.step_input(rnn.step_input(x))

    invalid = fluid.InvalidArgument
    for kind, match, body in [
        (
            invalid,
            r"every memory must be updated, got none for '(static_rnn_\d+.memory_0)'; "
            r"write update_memory\(\1, new\) in the block",
            forgotten,
        ),
        (invalid, "all step inputs must have the same length, got 4 for 'x', 5 for 'y'", lengths),
        (invalid, "the block must have a step_output, got none", no_output),
        (invalid, "the block must have a step_input", no_input),
        (invalid, r"after the block, got a call inside of step\(\)", asked_inside),
        (invalid, "a memory must be updated once", twice),
        (invalid, r"mem of update_memory must come from memory\(\), got", foreign),
        (invalid, r"keep its shape and dtype, got float32 \[3\] for .* float32 \[2, 3\]", shape),
        (invalid, "a memory must have init or shape, got neither", no_init),
        (
            invalid,
            r"must have batch_ref where an extent is unknown, got shape \[-1, 3\]",
            unknown_extent,
        ),
        (invalid, "batch_ref must be a step input, or a variable made before", local_ref),
        (invalid, "must not write to its step inputs and memories, got assign", in_place),
        (invalid, "x of step_input must be a variable of block 0", local_input),
        (TypeError, "x of step_input must be a Variable", lambda rnn: rnn.step_input(3)),
        (TypeError, "o of step_output must be a Variable", lambda rnn: rnn.step_output(None)),
        (KeyError, "mine", lambda rnn: {}["mine"]),
    ]:
        refused(kind, match, used(body))


def test_methods_want_to_be_called_in_the_block():
    x = sequence()
    rnn = layers.StaticRNN()
    for what, call in [
        ("step_input", lambda: rnn.step_input(x)),
        ("memory", lambda: rnn.memory(init=x)),
        ("update_memory", lambda: rnn.update_memory(x, x)),
        ("step_output", lambda: rnn.step_output(x)),
    ]:
        refused(fluid.InvalidArgument, rf"{what} must be called inside step\(\), got a", call)
    refused(fluid.InvalidArgument, r"got a call without a complete step\(\)", rnn)
    with pytest.raises(KeyError), rnn.step():
        raise KeyError
    with rnn.step():
        rnn.step_output(rnn.step_input(x))
    refused(fluid.InvalidArgument, "step.. must be entered once", lambda: rnn.step().__enter__())


def test_lengths_that_differ_at_run_time_are_an_error():
    x, y = sequence("x"), sequence("y")
    rnn = layers.StaticRNN()
    with rnn.step():
        rnn.output(rnn.step_input(x), rnn.step_input(y))
    with pytest.raises(fluid.InvalidArgument, match="must all have one length"):
        run(rnn(), x=XS, y=XS[:2])


def test_in_reverse_every_result_has_the_place_of_its_step():
    x = sequence()
    rnn = layers.StaticRNN(is_reverse=True)
    with rnn.step():
        word = rnn.step_input(x)
        before = rnn.memory(shape=[-1, 3], batch_ref=word)
        total = word + before
        rnn.update_memory(before, total)
        rnn.step_output(total)
    (got,) = run([rnn()], x=XS)
    np.testing.assert_allclose(got, np.cumsum(XS[::-1], axis=0)[::-1], rtol=1e-6)
