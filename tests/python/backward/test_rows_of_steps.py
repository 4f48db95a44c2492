"""Gradients of tables that the steps of a loop read: rows, joined after the loop."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core, layers, optimizer, unique_name
from fluidcore.clip import ErrorClipByValue, GradientClipByNorm
from fluidcore.regularizer import L2Decay

HEIGHT, WIDTH = 12, 3
TABLE = np.random.default_rng(1).standard_normal((HEIGHT, WIDTH))
IDS = np.array([3, 7, 3, 0])
Read = Callable[[fluid.Variable], fluid.Variable]
Steps = Callable[[Read, fluid.Variable, fluid.Variable], fluid.Variable]


def new_state() -> fluid.Variable:
    state = layers.fill_constant([4, WIDTH], "float64", 0.5)
    state.stop_gradient = False
    return state


def repeated(count: fluid.Variable, step: Callable[[fluid.Variable], None]) -> None:
    """Runs a step `count` times in a While."""
    i = layers.fill_constant([1], "int64", 0)
    goes_on = layers.less_than(i, count)
    with layers.While(goes_on).block():
        step(i)
        layers.increment(i, in_place=True)
        layers.less_than(i, count, cond=goes_on)


def of_while(read: Read, ids: fluid.Variable, count: fluid.Variable) -> fluid.Variable:
    state = new_state()
    repeated(count, lambda i: layers.assign(layers.tanh(state + read((ids + i) % HEIGHT)), state))
    return state


def of_while_that_reads_twice(
    read: Read, ids: fluid.Variable, count: fluid.Variable
) -> fluid.Variable:
    state = new_state()

    def step(i: fluid.Variable) -> None:
        layers.assign(layers.tanh(state * read(ids) + read((ids + i) % HEIGHT)), state)

    repeated(count, step)
    return state


def of_nested_whiles(read: Read, ids: fluid.Variable, count: fluid.Variable) -> fluid.Variable:
    state = new_state()

    def step(i: fluid.Variable) -> None:
        repeated(i, lambda j: layers.assign(layers.tanh(state + read((ids + j) % HEIGHT)), state))

    repeated(count, step)
    return state


def of_nested_whiles_that_both_read(
    read: Read, ids: fluid.Variable, count: fluid.Variable
) -> fluid.Variable:
    state = new_state()

    def step(i: fluid.Variable) -> None:
        layers.assign(state + read(ids), state)
        repeated(i, lambda j: layers.assign(layers.tanh(state + read((ids + j) % HEIGHT)), state))

    repeated(count, step)
    return state


def of_branch_in_while(read: Read, ids: fluid.Variable, count: fluid.Variable) -> fluid.Variable:
    state = new_state()

    def step(i: fluid.Variable) -> None:
        one = layers.fill_constant([1], "int64", 1)
        layers.assign(
            layers.cond(i == one, lambda: layers.tanh(state + read(ids)), lambda: 2.0 * state),
            state,
        )

    repeated(count, step)
    return state


def of_branch(read: Read, ids: fluid.Variable, count: fluid.Variable) -> fluid.Variable:
    two = layers.fill_constant([1], "int64", 2)
    state = new_state()
    return layers.cond(count > two, lambda: layers.tanh(state + read(ids)), lambda: 2.0 * state)


def of_static_rnn(read: Read, ids: fluid.Variable, count: fluid.Variable) -> fluid.Variable:
    rows = layers.reshape(ids, [4, 1, 1])
    zeros = layers.fill_constant([1, WIDTH], "float64", 0.0)
    rnn = layers.StaticRNN()
    with rnn.step():
        now = rnn.step_input(rows)
        state = rnn.memory(init=zeros)
        new = layers.tanh(state * read(now) + read(now))
        rnn.update_memory(state, new)
        rnn.step_output(new)
    return rnn()


ALL: list[Steps] = [
    of_while,
    of_while_that_reads_twice,
    of_nested_whiles,
    of_nested_whiles_that_both_read,
    of_branch_in_while,
    of_branch,
    of_static_rnn,
]


class Model:
    """A loss of a table that the steps of a loop read."""

    def __init__(
        self,
        steps: Steps,
        sparse: bool,
        height: int = HEIGHT,
        make: optimizer.Optimizer | None = None,
        **settings: object,
    ) -> None:
        unique_name.switch()
        self.main, startup = fluid.Program(), fluid.Program()
        self.exe, self.scope = fluid.Executor(), core.Scope()
        with fluid.program_guard(self.main, startup):
            ids = layers.data("ids", [4], dtype="int64", append_batch_size=False)
            count = layers.data("count", [1], dtype="int64", append_batch_size=False)
            attr = fluid.ParamAttr("table", **settings)

            def read(rows: fluid.Variable) -> fluid.Variable:
                return layers.embedding(
                    rows, [height, WIDTH], sparse, param_attr=attr, dtype="float64"
                )

            self.loss = layers.reduce_sum(layers.square(steps(read, ids, count)))
            self.table = self.main.global_block().var("table")
            if make is None:
                ((_, self.gradient),) = fluid.append_backward(self.loss)
            else:
                _, ((_, self.gradient),) = make.minimize(self.loss)
        self.exe.run(startup, scope=self.scope)
        if height == HEIGHT:
            self.scope.find_var("table").get_tensor().set(TABLE)

    def run(self, count: int, fetch: list[object] | None = None, ids: np.ndarray = IDS) -> list:
        feed = {"ids": ids, "count": np.array([count])}
        wanted = [self.gradient] if fetch is None else fetch
        return self.exe.run(self.main, feed, fetch_list=wanted, scope=self.scope)

    def parameter(self) -> np.ndarray:
        return np.array(self.scope.find_var("table").get_tensor())


def of_types(program: fluid.Program) -> list[list[str]]:
    return [[op.type for op in block.ops] for block in program.blocks]


@pytest.mark.parametrize("steps", ALL)
def test_the_gradient_is_that_of_a_dense_one(steps: Steps) -> None:
    sparse, dense = Model(steps, True), Model(steps, False)
    for count in (3, 0, 1, 9, 3, 2):
        (rows,), (expected,) = sparse.run(count), dense.run(count)
        assert isinstance(rows, core.SelectedRows)
        np.testing.assert_allclose(rows.to_dense(), expected, rtol=1e-12, atol=1e-15)


def test_the_rows_are_those_that_the_steps_have_read() -> None:
    model = Model(of_while, True)
    for count in (2, 0, 5):
        (gradient,) = model.run(count)
        expected = [row for i in reversed(range(count)) for row in (IDS + i) % HEIGHT]
        assert gradient.rows.tolist() == expected
        assert gradient.value.shape == (4 * count, WIDTH)


def test_the_steps_keep_rows_and_what_comes_after_joins_them() -> None:
    model = Model(of_while, True)
    outside, _, inside = of_types(model.main)
    assert outside[-2:] == ["while_grad", "join_selected_rows"]
    assert inside[-3:] == ["lookup_table_v2_grad", "assign", "push_selected_rows"]
    text = str(model.main)
    assert "table@GRAD: float64 [12, 3] selected rows" in text
    assert "table@GRAD@STEPS: float64 [12, 3] array" in text
    assert "table@GRAD@CARRY" not in text


def test_loops_in_loops_keep_rows_in_one_array_outside() -> None:
    model = Model(of_nested_whiles, True)
    types = of_types(model.main)
    assert [block.count("push_selected_rows") for block in types].count(1) == 1
    assert [block.count("join_selected_rows") for block in types] == [1] + [0] * (len(types) - 1)
    assert "table@GRAD@CARRY" not in str(model.main)


@pytest.mark.parametrize("steps", ALL)
def test_no_variable_is_as_high_as_the_table(steps: Steps) -> None:
    height = 1_000_003
    model = Model(steps, True, height=height, make=optimizer.SGD(0.1))
    plan = model.exe.plan(
        model.main,
        {"ids": IDS, "count": np.array([3])},
        [model.loss],
        scope=model.scope,
    )
    temporaries = int(str(plan).rpartition("temporaries: ")[2].split()[0])
    assert temporaries < height


@pytest.mark.parametrize("steps", ALL)
@pytest.mark.parametrize(
    "settings",
    [{}, {"gradient_clip": GradientClipByNorm(0.5)}],
    ids=["plain", "clipped"],
)
def test_sgd_trains_as_with_a_dense_gradient(steps: Steps, settings: dict[str, object]) -> None:
    sparse, dense = (
        Model(steps, flag, make=optimizer.SGD(0.1), **settings) for flag in (True, False)
    )
    for count in (3, 0, 2):
        losses = [model.run(count, [model.loss])[0] for model in (sparse, dense)]
        np.testing.assert_allclose(*losses, rtol=1e-12)
    np.testing.assert_allclose(sparse.parameter(), dense.parameter(), rtol=1e-12)


def test_adam_moves_the_rows_that_were_read_alone() -> None:
    model = Model(of_while, True, make=optimizer.Adam(0.1))
    model.run(2, [model.loss])
    moved = (model.parameter() != TABLE).any(1)
    assert np.flatnonzero(moved).tolist() == [0, 1, 3, 4, 7, 8]
    before = model.parameter()
    model.run(0, [model.loss])
    np.testing.assert_array_equal(model.parameter(), before)


def test_each_row_decays_once() -> None:
    decayed, plain = (
        Model(of_while, True, make=optimizer.SGD(0.1), regularizer=decay)
        for decay in (L2Decay(0.5), None)
    )
    for model in (decayed, plain):
        model.run(2, [model.loss])
    read = [0, 1, 3, 4, 7, 8]
    expected = plain.parameter()
    expected[read] -= 0.1 * 0.5 * TABLE[read]
    np.testing.assert_allclose(decayed.parameter(), expected, rtol=1e-12)


def test_an_error_clip_is_one_of_the_whole_gradient() -> None:
    model = Model(of_while, True)
    model.table.error_clip = ErrorClipByValue(0.01)
    with fluid.program_guard(model.main):
        ((_, clipped),) = fluid.append_backward(model.loss, callbacks=[fluid.error_clip_callback])
    (rows,) = model.run(3, [clipped])
    (whole,) = model.run(3)
    assert np.abs(whole.to_dense()).max() > 0.01
    np.testing.assert_allclose(rows.to_dense(), whole.to_dense().clip(-0.01, 0.01), rtol=1e-12)


@pytest.mark.parametrize("steps", ALL)
def test_gradients_of_such_gradients(steps: Steps) -> None:
    found = []
    for sparse in (True, False):
        model = Model(steps, sparse)
        with fluid.program_guard(model.main):
            first = model.gradient
            if sparse:
                first = layers.selected_rows_to_dense(first)
            slope = layers.reduce_sum(layers.square(first))
            (second,) = fluid.gradients([slope], [model.table])
        found.append([model.run(count, [second])[0] for count in (3, 1, 4)])
    for got, expected in zip(*found, strict=True):
        if isinstance(got, core.SelectedRows):
            got = got.to_dense()
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-13)


def test_a_table_that_the_steps_also_multiply_with_has_a_dense_gradient() -> None:
    def steps(read: Read, ids: fluid.Variable, count: fluid.Variable) -> fluid.Variable:
        state = new_state()

        def step(i: fluid.Variable) -> None:
            row = read(ids)
            table = fluid.default_main_program().global_block().var("table")
            mixed = layers.matmul(layers.matmul(row, table, transpose_y=True), table)
            layers.assign(layers.tanh(state + mixed), state)

        repeated(count, step)
        return state

    (got,), (expected,) = (Model(steps, flag).run(2) for flag in (True, False))
    assert isinstance(got, np.ndarray)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)


def test_a_saved_program_trains_alike() -> None:
    model = Model(of_while, True, make=optimizer.SGD(0.1))
    again = Model(of_while, True, make=optimizer.SGD(0.1))
    again.main = fluid.Program.parse_from_string(again.main.desc.serialize_to_string())
    for each in (model, again):
        each.run(3, ["table@GRAD"])
    np.testing.assert_array_equal(model.parameter(), again.parameter())


def test_an_id_out_of_range_is_an_error_that_writes_nothing() -> None:
    model = Model(of_while_that_reads_twice, True, make=optimizer.SGD(0.1))
    with pytest.raises(core.InvalidArgument, match=r"Ids must be in \[0, 12\), got 12"):
        model.run(2, [model.loss], ids=np.array([0, 12, 1, 2]))
    np.testing.assert_array_equal(model.parameter(), TABLE)


def test_only_selected_rows_are_joined() -> None:
    array = layers.array_write(new_state(), layers.fill_constant([1], "int64", 0))
    block = fluid.default_main_program().global_block()
    out = block.create_var(name="joined")
    block.append_op("join_selected_rows", {"X": [array]}, {"Out": [out]})
    message = r"join_selected_rows: the elements of X must be selected rows, got float64 \[4, 3\]"
    with pytest.raises(core.InvalidArgument, match=message):
        fluid.Executor().run(fetch_list=[out])
