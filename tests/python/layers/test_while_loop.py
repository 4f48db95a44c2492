"""Tests of While and while_loop."""

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


def count(value=0):
    return layers.fill_constant([1], "int64", value)


def limit():
    return layers.data("n", [1], dtype="int64", append_batch_size=False)


def as_n(value):
    return np.array([value], "int64")


# While


def test_a_while_runs_as_often_as_the_data_say():
    n, i = limit(), count()
    total = layers.zeros([1], "float32")
    cond = layers.less_than(i, n)
    loop = layers.While(cond)
    with loop.block():
        layers.assign(total + 2.0, output=total)
        layers.increment(i)
        layers.less_than(i, n, cond=cond)
    executor = fluid.Executor()
    for trips in (3, 0, 5, 1, 0):
        got, steps = executor.run(feed={"n": as_n(trips)}, fetch_list=[total, i])
        assert (got[0], steps[0]) == (2.0 * trips, trips)


def test_the_classic_loop_over_arrays_adds_them_up():
    xs = [layers.data(f"x{k}", [10], append_batch_size=False) for k in range(3)]
    i = count()
    data = None
    for x in xs:
        data = layers.array_write(x, i, array=data)
        i = layers.increment(i, in_place=False)
    i, n = count(), count(3)
    memory = layers.array_write(layers.zeros([10], "float32"), i)
    cond = layers.less_than(i, n)
    loop = layers.While(cond)
    with loop.block():
        element = layers.array_read(data, i)
        before = layers.array_read(memory, i)
        layers.increment(i)
        layers.array_write(layers.sums([element, before]), i, array=memory)
        layers.less_than(i, n, cond=cond)
    last = layers.array_read(memory, i)
    rng = np.random.default_rng(1)
    feed = {f"x{k}": rng.random(10, dtype="float32") for k in range(3)}
    got, length = run([last, layers.array_length(memory)], **feed)
    np.testing.assert_allclose(got, sum(feed.values()), rtol=1e-6)
    assert length[0] == 4


def test_loops_nest():
    n, i = limit(), count()
    total = count()
    cond = layers.less_than(i, n)
    outer = layers.While(cond)
    with outer.block():
        j = count()
        inner_cond = layers.less_than(j, i)
        inner = layers.While(inner_cond)
        with inner.block():
            layers.assign(total + j, output=total)
            layers.increment(j)
            layers.less_than(j, i, cond=inner_cond)
        layers.increment(i)
        layers.less_than(i, n, cond=cond)
    executor = fluid.Executor()
    for trips in (5, 1, 0, 6):
        (got,) = executor.run(feed={"n": as_n(trips)}, fetch_list=[total])
        assert got[0] == sum(j for i in range(trips) for j in range(i))


def test_the_operator_lists_what_the_block_reads_and_writes():
    n, i = limit(), count()
    cond = layers.less_than(i, n)
    with layers.While(cond, max_steps=7).block():
        layers.increment(i)
        layers.less_than(i, n, cond=cond)
    op = fluid.default_main_program().global_block().ops[-1]
    assert op.type == "while"
    assert op.input("X") == [i.name, "n"]
    assert op.input("Condition") == [cond.name]
    assert op.output("Out") == [i.name, cond.name]
    assert op.attr("max_steps") == 7
    assert op.desc.block_attr("sub_block") == 1


def test_a_program_with_a_loop_is_readable():
    n, i = limit(), count()
    cond = layers.less_than(i, n)
    with layers.While(cond).block():
        layers.increment(i)
        layers.less_than(i, n, cond=cond)
    lines = str(fluid.default_main_program()).splitlines()
    assert "block 1 (parent 0):" in lines
    assert any("while(" in line and "sub_block=block 1" in line for line in lines)


def test_a_while_without_an_update_of_its_condition_is_refused():
    n, i = limit(), count()
    cond = layers.less_than(i, n)
    loop = layers.While(cond)

    def body():
        with loop.block():
            layers.fc(layers.data("x", [4]), 3)
            layers.increment(i)

    refused(
        fluid.InvalidArgument,
        f"while: the block must update its condition '{cond.name}', got a block that never writes "
        rf"it; write less_than\(i, n, cond={cond.name}\) or assign\(new, {cond.name}\) in it",
        body,
    )
    with loop.block():  # it can still be used
        layers.increment(i)
        layers.less_than(i, n, cond=cond)
    assert run([i], n=as_n(4))[0][0] == 4


def test_a_while_refuses_what_cannot_be():
    n, i = limit(), count()
    cond = layers.less_than(i, n)
    for kind, match, call in [
        (TypeError, "while: cond must be a Variable, got bool True", lambda: layers.While(True)),
        (fluid.InvalidArgument, "cond must be bool with one element", lambda: layers.While(i)),
        (
            fluid.InvalidArgument,
            "max_steps must be a whole number of at least 0, got -1",
            lambda: layers.While(cond, max_steps=-1),
        ),
    ]:
        refused(kind, match, call)
    loop = layers.While(cond)
    with loop.block():
        layers.increment(i)
        layers.less_than(i, n, cond=cond)
    refused(fluid.InvalidArgument, "entered once", lambda: loop.block().__enter__())
    with (
        fluid.program_guard(fluid.Program()),
        pytest.raises(fluid.InvalidArgument, match="cond must belong to the default main program"),
    ):
        layers.While(cond)


def test_a_loop_without_end_stops_with_an_error():
    i, n = count(), count(10)
    cond = layers.less_than(i, n)
    with layers.While(cond, max_steps=5).block():
        layers.increment(i)
        layers.less_than(i, n, cond=cond)
    with pytest.raises(fluid.InvalidArgument, match="Condition must become False within max_steps"):
        run([i])


def test_an_error_in_a_step_names_the_users_line():
    x = layers.data("x", [3], append_batch_size=False)
    i, n = count(), count(2)
    cond = layers.less_than(i, n)
    array = layers.create_array("float32", shape=[3])
    with layers.While(cond).block():
        before = layers.array_read(array, i)
        layers.array_write(x + before, i, array=array)
        layers.increment(i)
        layers.less_than(i, n, cond=cond)
    with pytest.raises(fluid.InvalidArgument, match="must have been written") as caught:
        run([layers.array_length(array)], x=np.ones(3, "float32"))
    assert any("before = layers.array_read(array, i)" in note for note in caught.value.__notes__)


# while_loop


def test_while_loop_returns_the_last_values():
    n = limit()
    x = layers.data("x", [2, 2], append_batch_size=False)
    i, y = layers.while_loop(
        lambda i, y: layers.less_than(i, n),
        lambda i, y: (i + 1, layers.matmul(y, x)),
        [count(), layers.assign(x)],
    )
    xs = np.array([[1, 2], [0, 1]], "float32")
    executor = fluid.Executor()
    for trips in (3, 0, 1, 4):
        a, b = executor.run(feed={"n": as_n(trips), "x": xs}, fetch_list=[i, y])
        assert a[0] == trips
        np.testing.assert_allclose(b, np.linalg.matrix_power(xs, trips + 1))


def test_the_callers_variables_stay_as_they_are():
    start, value = count(), layers.ones([2], "float32")

    def body(i, v):
        layers.increment(i)
        layers.assign(v * 2.0, output=v)
        return i, v

    results = layers.while_loop(lambda i, v: layers.less_than(i, count(3)), body, (start, value))
    assert isinstance(results, tuple)
    outs = run([start, value, *results])
    assert [out.tolist() for out in outs] == [[0], [1, 1], [3], [8, 8]]


def test_loop_variables_may_be_nested_and_numbers():
    n = limit()
    state = {"sum": 0.0, "pair": [count(1), (layers.ones([2], "float64"), None)]}

    def body(i, state):
        a, (v, nothing) = state["pair"]
        assert nothing is None
        return [i + 1, {"pair": (a + a, [v * 3.0, None]), "sum": state["sum"] + 0.5}]

    i, out = layers.while_loop(lambda i, s: layers.less_than(i, n), body, [0, state])
    assert isinstance(out["pair"], list)
    assert isinstance(out["pair"][1], tuple)
    got = run([i, out["sum"], out["pair"][0], out["pair"][1][0]], n=as_n(3))
    assert [g.tolist() for g in got] == [[3], [1.5], [8], [27, 27]]
    assert [g.dtype.name for g in got] == ["int64", "float32", "int64", "float64"]


def test_loop_variables_are_assigned_all_at_once():
    n = limit()
    _, a, b = layers.while_loop(
        lambda i, a, b: layers.less_than(i, n),
        lambda i, a, b: (i + 1, b, a + b),
        [count(), count(0), count(1)],
    )
    _, c, d = layers.while_loop(
        lambda i, a, b: layers.less_than(i, n),
        lambda i, a, b: (i + 1, b, a),
        [count(), count(5), count(6)],
    )
    got = run([a, b, c, d], n=as_n(7))
    assert [g[0] for g in got] == [13, 21, 6, 5]


def test_a_single_loop_variable_needs_no_list_in_the_body():
    (i,) = layers.while_loop(lambda i: layers.less_than(i, count(9)), lambda i: i + 4, [0])
    assert run([i])[0][0] == 12


def test_a_number_may_replace_a_loop_variable():
    _, flag = layers.while_loop(
        lambda i, f: layers.less_than(i, count(2)), lambda i, f: (i + 1, 7.5), [0, 1.0]
    )
    assert run([flag])[0][0] == 7.5


def test_the_condition_may_be_a_loop_variable():
    n = limit()
    i, _ = layers.while_loop(
        lambda i, go_on: go_on,
        lambda i, go_on: (i + 1, layers.less_than(i + 1, n)),
        [0, layers.less_than(count(), n)],
    )
    assert run([i], n=as_n(4))[0][0] == 4
    assert run([i], n=as_n(0))[0][0] == 0


def test_arrays_are_changed_in_place():
    n = limit()
    array = layers.create_array("float32", shape=[1])

    def body(i, array):
        layers.array_write(layers.cast(i, "float32") * 2.0, i, array=array)
        return i + 1, array

    _, out = layers.while_loop(lambda i, a: layers.less_than(i, n), body, [0, array])
    assert out is array
    last, length = layers.array_read(out, n - 1), layers.array_length(out)
    got = run([last, length], n=as_n(5))
    assert (got[0][0], got[1][0]) == (8, 5)


def test_a_batch_may_be_of_any_size():
    x, n = layers.data("x", [3]), limit()
    _, y = layers.while_loop(
        lambda i, y: layers.less_than(i, n), lambda i, y: (i + 1, y + x), [0, x]
    )
    executor = fluid.Executor()
    for rows in (2, 4, 0, 2):
        xs = np.ones((rows, 3), "float32")
        (got,) = executor.run(feed={"x": xs, "n": as_n(2)}, fetch_list=[y])
        np.testing.assert_array_equal(got, 3 * xs)


def test_blocks_nest_three_deep():
    """A loop in a branch in a recurrence."""
    xs = layers.data("xs", [-1, 2])
    rnn = layers.StaticRNN()
    with rnn.step():
        x = rnn.step_input(xs)
        before = rnn.memory(shape=[2])
        small = layers.less_than(layers.reduce_sum(x), layers.fill_constant([1], "float32", 0))

        def doubled(x=x):
            return layers.while_loop(
                lambda i, v: layers.less_than(i, count(3)), lambda i, v: (i + 1, v * 2.0), [0, x]
            )[1]

        new = before + layers.cond(small, lambda x=x: x - 1.0, doubled)
        rnn.update_memory(before, new)
        rnn.step_output(new)
    data = np.array([[1, 2], [-3, 1], [0, 0], [-1, -1]], "float32")
    expected = np.cumsum(np.where(data.sum(1, keepdims=True) < 0, data - 1, data * 8), 0)
    for rows in (4, 2, 0):
        (got,) = run([rnn()], xs=data[:rows])
        np.testing.assert_allclose(got, expected[:rows])


@pytest.mark.parametrize(
    ("body", "match"),
    [
        (
            lambda i, s: (i + 1, {"h": layers.zeros([4], "float32")}),
            r"out\[1\]\['h'\] must have the shape and dtype of the loop variable, float32 \[3\], "
            r"got float32 \[4\] from body",
        ),
        (
            lambda i, s: (i + 1, {"h": layers.cast(s["h"], "float64")}),
            r"out\[1\]\['h'\] .* float32 \[3\], got float64 \[3\] from body",
        ),
        (
            lambda i, s: (i + 1, {"g": s["h"]}),
            r"out\[1\] must have the same structure everywhere, got a dict of 'h' from loop_vars, "
            "a dict of 'g' from body",
        ),
        (lambda i, s: i + 1, "a list of 2 from loop_vars, a list of 1 from body"),
        (lambda i, s: (i + 1, {"h": 1.5}), None),
        (lambda i, s: (1.5, s), r"out\[0\] must be a number that int64 holds, got 1.5"),
    ],
)
def test_the_body_must_return_what_it_was_given(body, match):
    start = {"h": layers.ones([3], "float32")}

    def call():
        return layers.while_loop(lambda i, s: layers.less_than(i, count(2)), body, [0, start])

    if match is None:
        np.testing.assert_array_equal(run([call()[1]["h"]])[0], [1.5] * 3)
    else:
        refused(fluid.InvalidArgument, match, call)


def test_while_loop_refuses_what_cannot_be():
    x = count()
    less = layers.less_than
    for kind, match, call in [
        (TypeError, "cond must be a function", lambda: layers.while_loop(x, lambda i: i, [x])),
        (TypeError, "body must be a function", lambda: layers.while_loop(lambda i: i, 3, [x])),
        (
            TypeError,
            "loop_vars must be a list or a tuple of at least one item, got Variable",
            lambda: layers.while_loop(lambda i: i, lambda i: i, x),
        ),
        (
            TypeError,
            r"loop_vars\[0\] of the caller must be a Variable, .* got str 'x'",
            lambda: layers.while_loop(lambda i: i, lambda i: i, ["x"]),
        ),
        (
            fluid.InvalidArgument,
            r"what cond returns must be bool with one element, got int64 \[1\]",
            lambda: layers.while_loop(lambda i: i, lambda i: i + 1, [x]),
        ),
        (
            TypeError,
            "what cond returns must be a Variable, got bool True",
            lambda: layers.while_loop(lambda i: True, lambda i: i + 1, [x]),
        ),
        (
            KeyError,
            "mine",
            lambda: layers.while_loop(lambda i: less(i, x), lambda i: {}["mine"], [x]),
        ),
    ]:
        refused(kind, match, call)


def test_a_variable_of_a_block_cannot_be_used_outside():
    inner = []

    def body(i):
        inner.append(i * 2)
        return i + 1

    layers.while_loop(lambda i: layers.less_than(i, count(2)), body, [0])
    with pytest.raises(fluid.NotFound, match="or of a block around it, got the unknown name"):
        layers.scale(inner[0], scale=2.0)
