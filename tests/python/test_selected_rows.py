"""Gradients of tables that are selected rows: what is fetched and made of them."""

import pickle
import re

import numpy as np
import pytest
from table_model import (
    BATCHES,
    COTANGENTS,
    HEIGHT,
    OPTIMIZERS,
    TABLE,
    WIDTH,
    Model,
    assert_same,
    dense_gradient,
)

import fluidcore as fluid
from fluidcore import core, eager, layers, unique_name
from fluidcore.gradcheck import GradientChecker


def test_a_fetched_gradient_is_the_rows_that_were_read():
    model = Model(OPTIMIZERS["sgd"])
    [gradient] = model.step([3, 7, 3, 0], ["table@GRAD"])
    assert repr(gradient) == "SelectedRows(float32 [12, 3], 4 selected rows)"
    assert gradient.height == HEIGHT
    assert gradient.shape == (HEIGHT, WIDTH)
    np.testing.assert_array_equal(gradient.rows, [3, 7, 3, 0])
    np.testing.assert_array_equal(gradient.value, COTANGENTS)
    expected = dense_gradient([3, 7, 3, 0])
    np.testing.assert_array_equal(gradient.to_dense(), expected)
    np.testing.assert_array_equal(gradient, expected)
    assert np.asarray(gradient, np.float64).dtype == np.float64


def test_the_program_says_what_is_selected_rows_also_when_it_was_saved():
    model = Model(OPTIMIZERS["sgd"])
    text = model.main.desc.serialize_to_string()
    back = fluid.Program.parse_from_string(text)
    assert back.global_block().var("table@GRAD").desc.type() == "selected_rows"
    assert "table@GRAD: float32 [12, 3] selected rows" in str(back)
    expected = model.train()
    model.scope.find_var("table").get_tensor().set(TABLE)
    model.main = back
    assert_same(model.train(), expected)


def test_the_scope_gives_what_lives_there():
    model = Model(OPTIMIZERS["sgd"])
    model.main.global_block().var("table@GRAD").persistable = True
    model.step([3, 7, 3, 0])
    variable = model.scope.find_var("table@GRAD")
    np.testing.assert_array_equal(variable.get_selected_rows().rows, [3, 7, 3, 0])
    np.testing.assert_array_equal(variable.get_tensor(), dense_gradient([3, 7, 3, 0]))
    copy = pickle.loads(pickle.dumps(model.scope)).find_var("table@GRAD")
    np.testing.assert_array_equal(copy.get_selected_rows().rows, [3, 7, 3, 0])
    model.step([5, 1], weights=COTANGENTS[:2])
    np.testing.assert_array_equal(variable.get_selected_rows().rows, [5, 1])
    message = r"variable: must hold selected rows, got float32 \[12, 3\]; see get_tensor\(\)"
    with pytest.raises(ValueError, match=message):
        model.scope.find_var("table").get_selected_rows()


def test_selected_rows_are_made_of_arrays_and_pickled():
    rows = core.SelectedRows(np.array([2, 0, 2]), np.array([[1.0], [2.0], [3.0]]), 4)
    for same in (rows, pickle.loads(pickle.dumps(rows))):
        np.testing.assert_array_equal(same.to_dense(), [[2.0], [0.0], [4.0], [0.0]])
    with pytest.raises(ValueError, match="an array needs a copy"):
        np.asarray(rows, copy=False)


@pytest.mark.parametrize(
    ("rows", "value", "message"),
    [
        ([0, 4], [[1.0], [2.0]], "rows must be in [0, 4), got 4 at position 1"),
        ([0, -1], [[1.0], [2.0]], "rows must be in [0, 4), got -1 at position 1"),
        ([0.0, 1.0], [[1.0], [2.0]], "rows must be int64 [n], got float64 [2]"),
        ([0, 1], [[1.0]], "value must have one row for each of the 2 rows, got shape [1, 1]"),
    ],
)
def test_selected_rows_that_cannot_be_are_refused(rows, value, message):
    with pytest.raises(ValueError, match=re.escape(f"SelectedRows: {message}")):
        core.SelectedRows(np.array(rows), np.array(value), 4)


def test_a_table_that_is_also_used_whole_has_a_dense_gradient():
    def gradient(sparse):
        unique_name.switch()
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            ids = layers.data("ids", [4], dtype="int64", append_batch_size=False)
            attr = fluid.ParamAttr(
                "table", initializer=fluid.initializer.NumpyArrayInitializer(TABLE)
            )
            x = layers.embedding(ids, [HEIGHT, WIDTH], sparse, param_attr=attr)
            table = fluid.default_main_program().global_block().var("table")
            loss = layers.mean(layers.square(layers.matmul(x, table, transpose_y=True)))
            [(_, grad)] = fluid.append_backward(loss)
            exe, scope = fluid.Executor(), core.Scope()
            exe.run(fluid.default_startup_program(), scope=scope)
            return exe.run(feed={"ids": np.array(BATCHES[0])}, fetch_list=[grad], scope=scope)[0]

    assert isinstance(gradient(True), np.ndarray)
    np.testing.assert_allclose(gradient(True), gradient(False), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kind", ["while", "static_rnn"])
def test_the_gradient_of_a_table_that_a_loop_reads_is_that_of_a_dense_one(kind):
    def steps_of_while(ids, read):
        i = layers.fill_constant([1], "int64", 0)
        count = layers.fill_constant([1], "int64", 3)
        state = layers.fill_constant([4, WIDTH], "float32", 0.5)
        state.stop_gradient = False
        condition = layers.less_than(i, count)
        loop = layers.While(condition)
        with loop.block():
            layers.assign(layers.tanh(state + read(ids)), state)
            layers.increment(i, in_place=True)
            layers.less_than(i, count, cond=condition)
        return state

    def steps_of_static_rnn(ids, read):
        zero = layers.fill_constant([1, WIDTH], "float32", 0.0)
        rows = layers.reshape(ids, [4, 1])
        rnn = layers.StaticRNN()
        with rnn.step():
            row = rnn.step_input(rows)
            state = rnn.memory(init=zero)
            new = layers.tanh(state + read(row))
            rnn.update_memory(state, new)
            rnn.step_output(new)
        return rnn()

    steps = {"while": steps_of_while, "static_rnn": steps_of_static_rnn}[kind]

    def gradient(sparse):
        unique_name.switch()
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            ids = layers.data("ids", [4], dtype="int64", append_batch_size=False)
            attr = fluid.ParamAttr(
                "table", initializer=fluid.initializer.NumpyArrayInitializer(TABLE)
            )
            result = steps(
                ids, lambda x: layers.embedding(x, [HEIGHT, WIDTH], sparse, param_attr=attr)
            )
            [(_, grad)] = fluid.append_backward(layers.mean(layers.square(result)))
            exe, scope = fluid.Executor(), core.Scope()
            exe.run(fluid.default_startup_program(), scope=scope)
            return exe.run(feed={"ids": np.array(BATCHES[0])}, fetch_list=[grad], scope=scope)[0]

    np.testing.assert_allclose(gradient(True), gradient(False), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("bad", [HEIGHT, -1])
def test_a_row_out_of_range_is_an_error_that_writes_nothing(bad):
    model = Model(OPTIMIZERS["adam"])
    model.step(BATCHES[0])
    before = model.state()
    message = rf"lookup_table_v2: Ids must be in \[0, 12\), got {bad} at position 2"
    with pytest.raises(ValueError, match=message):
        model.step([3, 7, bad, 0])
    assert_same(model.state(), before)


def test_an_operator_on_tensors_names_the_cure():
    model = Model(OPTIMIZERS["sgd"])
    with fluid.program_guard(model.main):
        message = (
            "scale: X must be a tensor, got the selected rows 'table@GRAD'; make a tensor of them "
            "with selected_rows_to_dense"
        )
        with pytest.raises(core.InvalidArgument, match=message):
            layers.scale(model.grad, scale=2.0)
        doubled = layers.scale(layers.selected_rows_to_dense(model.grad), scale=2.0)
    [got] = model.step(BATCHES[0], [doubled])
    np.testing.assert_array_equal(got, 2 * dense_gradient(BATCHES[0]))


def test_the_gradient_checker_proves_gradients_that_are_selected_rows():
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        ids = layers.data("ids", [4], dtype="int64", append_batch_size=False)
        attr = fluid.ParamAttr("table")
        x, y = (layers.embedding(ids, [6, 2], is_sparse=True, param_attr=attr) for _ in range(2))
        loss = layers.reduce_sum(layers.tanh(x) * y)
        fluid.Executor().run(fluid.default_startup_program())
        feed = {"ids": np.array([3, 1, 3, 0])}
        GradientChecker().check_program(fluid.default_main_program(), feed, loss)


def test_gradients_of_eager_tensors_are_tensors():
    table = eager.Tensor(TABLE, requires_grad=True)
    ids = eager.Tensor(np.array([3, 7, 3]))
    eager.lookup_table_v2(table, ids, is_sparse=True).sum().backward()
    np.testing.assert_array_equal(
        table.grad.numpy(), dense_gradient([3, 7, 3], np.ones((3, WIDTH)))
    )


def test_a_gradient_of_a_gradient_goes_through_the_rows():
    unique_name.switch()
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        ids = layers.data("ids", [4], dtype="int64", append_batch_size=False)
        table = layers.data("table", [HEIGHT, WIDTH], append_batch_size=False, stop_gradient=False)
        read = layers.lookup_table_v2(table, ids, is_sparse=True)
        [first] = fluid.gradients([layers.reduce_sum(read * read * read)], [table])
        dense = layers.selected_rows_to_dense(first)
        [second] = fluid.gradients([layers.reduce_sum(dense * dense)], [table])
        feed = {"ids": np.array([3, 7, 3, 0]), "table": TABLE}
        [got] = fluid.Executor().run(feed=feed, fetch_list=[second])
    counts = np.bincount([3, 7, 3, 0], minlength=HEIGHT)[:, None]
    # d/dw of (c 3 w^2)^2
    np.testing.assert_allclose(got, 36 * counts**2 * TABLE**3, rtol=1e-4, atol=1e-6)
