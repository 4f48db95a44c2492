"""Tables whose gradient is selected rows: what is fetched, and how they are trained."""

import pickle
import re

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import clip, core, eager, layers, optimizer, unique_name
from fluidcore.gradcheck import GradientChecker
from fluidcore.regularizer import L1Decay, L2Decay, WeightDecayRegularizer

HEIGHT, WIDTH = 12, 3
BATCHES = [[3, 7, 3, 0], [7, 7, 5, 1], [3, 0, 1, 9]]
NEVER_READ = [2, 4, 6, 8, 10, 11]
TABLE = np.random.default_rng(1).standard_normal((HEIGHT, WIDTH)).astype(np.float32)
COTANGENTS = np.random.default_rng(2).standard_normal((4, WIDTH)).astype(np.float32)

OPTIMIZERS = {
    "sgd": lambda: optimizer.SGD(0.1),
    "momentum": lambda: optimizer.Momentum(0.1, 0.9),
    "nesterov": lambda: optimizer.Momentum(0.1, 0.9, use_nesterov=True),
    "adam": lambda: optimizer.Adam(0.1),
    "adamax": lambda: optimizer.Adamax(0.1),
    "adagrad": lambda: optimizer.Adagrad(0.1),
    "decayed_adagrad": lambda: optimizer.DecayedAdagrad(0.1),
    "adadelta": lambda: optimizer.Adadelta(0.1),
    "rmsprop": lambda: optimizer.RMSProp(0.1),
    "ftrl": lambda: optimizer.Ftrl(0.1, l1=0.01, l2=0.01),
}


class Model:
    """A table, of which each step reads the rows `ids`; the loss is linear in them.

    Attributes:
        loss: The weighted sum of the elements that were read.
    """

    def __init__(
        self,
        make_optimizer,
        sparse=True,
        lookups=1,
        error_clip=None,
        padding_idx=None,
        dtype="float32",
        **settings,
    ):
        unique_name.switch()
        self.main, self.startup = fluid.Program(), fluid.Program()
        with fluid.program_guard(self.main, self.startup):
            ids = layers.data("ids", [-1], dtype="int64", append_batch_size=False)
            weights = layers.data("weights", [-1, WIDTH], dtype=dtype, append_batch_size=False)
            attr = fluid.ParamAttr("table", **settings)
            read = [
                layers.embedding(ids, [HEIGHT, WIDTH], sparse, padding_idx, attr, dtype)
                for _ in range(lookups)
            ]
            self.table = self.main.global_block().var("table")
            self.table.error_clip = error_clip
            self.loss = layers.reduce_sum(layers.sums(read) * weights)
            _, [(_, self.grad)] = make_optimizer().minimize(self.loss)
        self.scope, self.exe = core.Scope(), fluid.Executor()
        self.exe.run(self.startup, scope=self.scope)
        self.scope.find_var("table").get_tensor().set(TABLE.astype(dtype))
        self.dtype = dtype

    def step(self, ids, fetch=(), weights=COTANGENTS):
        feed = {"ids": np.array(ids, np.int64), "weights": weights.astype(self.dtype)}
        return self.exe.run(self.main, feed, fetch_list=list(fetch), scope=self.scope)

    def train(self):
        for ids in BATCHES:
            self.step(ids)
        return self.state()

    def state(self):
        """The table and what the optimizer keeps for it."""
        names = [name for name in self.scope.local_var_names() if name.startswith("table")]
        return {name: np.array(self.scope.find_var(name).get_tensor()) for name in names}


def dense_gradient(ids, weights=COTANGENTS):
    gradient = np.zeros((HEIGHT, WIDTH), np.float32)
    np.add.at(gradient, ids, weights)
    return gradient


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name], err_msg=name)


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


# Where no gradient is no change.
@pytest.mark.parametrize("name", ["sgd", "adagrad"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"padding_idx": 3},
        {"gradient_clip": clip.GradientClipByValue(0.1)},
        {"gradient_clip": clip.GradientClipByNorm(0.5)},
        {"gradient_clip": clip.GradientClipByGlobalNorm(0.5)},
        {"error_clip": clip.ErrorClipByValue(0.05)},
    ],
)
def test_training_is_that_of_a_dense_gradient_bit_for_bit(name, settings):
    one = Model(OPTIMIZERS[name], sparse=True, **settings).train()
    assert_same(one, Model(OPTIMIZERS[name], sparse=False, **settings).train())


def test_two_lookups_of_one_table_add_up():
    one = Model(OPTIMIZERS["sgd"], sparse=True, lookups=2)
    [gradient] = one.step(BATCHES[0], ["table@GRAD"])
    np.testing.assert_array_equal(gradient.rows, BATCHES[0] * 2)
    other = Model(OPTIMIZERS["sgd"], sparse=False, lookups=2)
    other.step(BATCHES[0])
    np.testing.assert_allclose(one.state()["table"], other.state()["table"], rtol=1e-6)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_rows_that_are_not_read_stay_as_they_are_and_so_does_their_state(name):
    model = Model(OPTIMIZERS[name])
    before = model.state()
    after = model.train()
    for key, value in after.items():
        np.testing.assert_array_equal(value[NEVER_READ], before[key][NEVER_READ], err_msg=key)
        assert (value[3] != before[key][3]).all(), key


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_does_to_the_rows_what_it_does_to_a_dense_table(name):
    sparse, dense = (Model(OPTIMIZERS[name], sparse=flag) for flag in (True, False))
    for model in (sparse, dense):
        model.step([3, 7, 3, 0])
        model.step([0, 7, 3, 7])
    for key, value in sparse.state().items():
        np.testing.assert_array_equal(value[[0, 3, 7]], dense.state()[key][[0, 3, 7]], key)


def test_adam_moves_the_rows_that_were_read_and_only_their_moments():
    w = TABLE.astype(np.float64)
    m, v = np.zeros_like(w), np.zeros_like(w)
    for step, ids in enumerate(BATCHES, 1):
        rows = np.unique(ids)
        g = dense_gradient(ids).astype(np.float64)[rows]
        m[rows] = 0.9 * m[rows] + 0.1 * g
        v[rows] = 0.999 * v[rows] + 0.001 * g * g
        rate = 0.1 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        w[rows] -= rate * m[rows] / (np.sqrt(v[rows]) + 1e-8)
    got = Model(OPTIMIZERS["adam"], dtype="float64").train()
    for name, expected in (("table", w), ("table_moment1_0", m), ("table_moment2_0", v)):
        np.testing.assert_allclose(got[name], expected, rtol=1e-6, err_msg=name)


@pytest.mark.parametrize(
    ("decay", "derivative"),
    [(L2Decay(0.5), lambda w: 0.5 * w), (L1Decay(0.5), lambda w: np.sign(w) / 2)],
)
@pytest.mark.parametrize("of_parameter", [True, False])
def test_weights_of_the_rows_that_were_read_decay_once_each(decay, derivative, of_parameter):
    if of_parameter:
        model = Model(OPTIMIZERS["sgd"], regularizer=decay)
    else:
        model = Model(lambda: optimizer.SGD(0.1, regularization=decay))
    rows, ids = [0, 3, 7], [3, 7, 3, 0]
    model.step(ids)
    expected = TABLE.copy()
    expected[rows] -= 0.1 * (dense_gradient(ids)[rows] + derivative(TABLE[rows]))
    np.testing.assert_allclose(model.state()["table"], expected, rtol=1e-5)


def test_a_regularizer_of_ones_own_sees_the_rows():
    seen = []

    class Cubes(WeightDecayRegularizer):
        def __call__(self, param, grad, block):
            seen.append((param.shape, grad.shape))
            return param * param

    model = Model(OPTIMIZERS["sgd"], regularizer=Cubes())
    model.step([3, 3, 3, 3])
    assert seen == [((-1, WIDTH), (-1, WIDTH))]
    expected = TABLE.copy()
    expected[3] -= 0.1 * (COTANGENTS.sum(0) + TABLE[3] ** 2)
    np.testing.assert_allclose(model.state()["table"], expected, rtol=1e-5)


def test_one_norm_clips_rows_and_tensors_together():
    def trained(sparse):
        unique_name.switch()
        main, startup = fluid.Program(), fluid.Program()
        main.random_seed = startup.random_seed = 3
        with fluid.program_guard(main, startup):
            ids = layers.data("ids", [4], dtype="int64", append_batch_size=False)
            x = layers.embedding(ids, [HEIGHT, WIDTH], sparse, param_attr=fluid.ParamAttr("table"))
            y = layers.fc(x, 2, param_attr=fluid.ParamAttr("w"))
            clip.set_gradient_clip(clip.GradientClipByGlobalNorm(0.1))
            optimizer.SGD(0.5).minimize(layers.mean(layers.square(y)))
        scope, exe = core.Scope(), fluid.Executor()
        exe.run(startup, scope=scope)
        for batch in BATCHES:
            exe.run(main, {"ids": np.array(batch)}, scope=scope)
        return [np.array(scope.find_var(name).get_tensor()) for name in ("table", "w")]

    for one, other in zip(trained(True), trained(False), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


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
            result = steps(ids, lambda x: layers.embedding(x, [HEIGHT, WIDTH], sparse, None, attr))
            [(_, grad)] = fluid.append_backward(layers.mean(layers.square(result)))
            exe, scope = fluid.Executor(), core.Scope()
            exe.run(fluid.default_startup_program(), scope=scope)
            return exe.run(feed={"ids": np.array(BATCHES[0])}, fetch_list=[grad], scope=scope)[0]

    np.testing.assert_array_equal(gradient(True), gradient(False))


@pytest.mark.parametrize("bad", [HEIGHT, -1])
def test_a_row_out_of_range_is_an_error_that_writes_nothing(bad):
    model = Model(OPTIMIZERS["adam"])
    model.step(BATCHES[0])
    before = model.state()
    message = rf"lookup_table_v2: Ids must be in \[0, 12\), got {bad} at position 2"
    with pytest.raises(ValueError, match=message):
        model.step([3, 7, bad, 0])
    assert_same(model.state(), before)


def test_no_row_at_all_changes_nothing():
    model = Model(OPTIMIZERS["momentum"], gradient_clip=clip.GradientClipByNorm(1.0))
    before = model.state()
    model.step([], weights=COTANGENTS[:0])
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
