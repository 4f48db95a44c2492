"""Tests of fluidcore.layers."""

import inspect
from types import ModuleType

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core, layers
from fluidcore.initializer import NumpyArray
from fluidcore.layers import generated


@pytest.fixture
def block():
    return fluid.default_main_program().global_block()


def text(block):
    return [str(op).partition("   #")[0] for op in block.ops]


def both_programs():
    return str(fluid.default_main_program()), str(fluid.default_startup_program())


def test_data_has_a_batch_size_in_front():
    assert layers.data("a", [3]).shape == (-1, 3)
    assert layers.data("b", [3], append_batch_size=False).shape == (3,)
    assert layers.data("c", [-1, 3]).shape == (-1, 3)
    assert layers.data("d", [None, 3]).shape == (-1, 3)
    assert layers.data("e", [1], dtype="int64").dtype == "int64"
    assert layers.data("f", [1]).stop_gradient
    assert layers.data("g", [1]).desc.is_data()


def test_fc_is_mul_plus_bias_then_activation(block):
    x = layers.data("x", [4])
    layers.fc(x, 3, act="relu")
    assert text(block) == [
        "mul(X=x, Y=fc_0.w_0) -> Out=fc_0.tmp_0",
        "elementwise_add(X=fc_0.tmp_0, Y=fc_0.b_0) -> Out=fc_0.tmp_1",
        "relu(X=fc_0.tmp_1) -> Out=fc_0.tmp_2",
    ]
    startup = fluid.default_startup_program().global_block()
    assert [op.type for op in startup.ops] == ["uniform_random", "fill_constant"]


def test_fc_of_several_inputs_is_a_sum(block):
    x, y = layers.data("x", [4]), layers.data("y", [5])
    layers.fc([x, y], 3, bias_attr=False, name="both")
    assert text(block) == [
        "mul(X=x, Y=both.w_0) -> Out=both.tmp_0",
        "mul(X=y, Y=both.w_1) -> Out=both.tmp_1",
        "sum(X=[both.tmp_0, both.tmp_1]) -> Out=both.tmp_2",
    ]


def test_fc_flattens():
    x = layers.data("x", [4, 5, 6], append_batch_size=False)
    assert layers.fc(x, 3, num_flatten_dims=2).shape == (4, 5, 3)
    assert layers.fc(x, 3).shape == (4, 3)


@pytest.mark.parametrize(
    ("shape", "dims", "message"),
    [
        ([4], 1, "below the rank of the input, got 1 for 'x' of shape"),
        ([4, 5], 0, "got 0 for 'x'"),
        ([4, -1], 1, "the extents from 1 on must be known"),
    ],
)
def test_fc_wants_known_features(shape, dims, message):
    x = layers.data("x", shape, append_batch_size=False)
    before = both_programs()
    with pytest.raises(fluid.InvalidArgument, match=message):
        layers.fc(x, 3, num_flatten_dims=dims)
    assert both_programs() == before


def test_a_failed_layer_leaves_nothing():
    x = layers.data("x", [4])
    before = both_programs()
    with pytest.raises(fluid.NotFound):
        layers.fc(x, 3, act="no_such_activation")
    assert both_programs() == before
    with pytest.raises(fluid.InvalidArgument, match="param_attr must not be False"):
        layers.fc(x, 3, param_attr=False)
    assert both_programs() == before


def test_layers_want_variables():
    with pytest.raises(TypeError, match="fc: every item of input must be a Variable, got str 'x'"):
        layers.fc(["x"], 3)
    with pytest.raises(TypeError, match="relu: x must be a Variable, got ndarray"):
        layers.relu(np.ones(3))
    with pytest.raises(TypeError, match="concat: every item of input must be a Variable"):
        layers.concat([1, 2])


@pytest.mark.parametrize("size", [0, -3, 2.5, "3"])
def test_sizes_must_be_whole_and_positive(size):
    x = layers.data("x", [4])
    image = layers.data("image", [3, 8, 8])
    before = both_programs()
    with pytest.raises(fluid.InvalidArgument, match="fc: size must be a whole number of at least"):
        layers.fc(x, size)
    with pytest.raises(fluid.InvalidArgument, match="conv2d: num_filters must be a whole number"):
        layers.conv2d(image, size, 3)
    assert both_programs() == before


def test_embedding_reads_rows(block):
    ids = layers.data("ids", [1], dtype="int64")
    out = layers.embedding(ids, [10, 4], padding_idx=-1)
    assert out.shape == (-1, 4)
    assert block.ops[0].attr("padding_idx") == 9
    with pytest.raises(fluid.InvalidArgument, match="padding_idx must be a row of the table"):
        layers.embedding(ids, [10, 4], padding_idx=10)


@pytest.mark.parametrize(
    ("declared", "op_type", "shape"),
    [
        ([-1, 1], "lookup_table", (-1, 4)),
        ([-1, 5, 1], "lookup_table", (-1, 5, 4)),
        ([-1], "lookup_table_v2", (-1, 4)),
        ([-1, 5], "lookup_table_v2", (-1, 5, 4)),
        ([-1, -1], "lookup_table_v2", (-1, -1, 4)),
        ([], "lookup_table_v2", (4,)),
    ],
)
def test_embedding_takes_ids_of_any_shape(block, declared, op_type, shape):
    ids = layers.data("ids", declared, dtype="int64", append_batch_size=False)
    out = layers.embedding(ids, [10, 4], param_attr=NumpyArray(np.arange(40).reshape(10, 4)))
    assert (block.ops[0].type, out.shape) == (op_type, shape)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    value = np.arange(10)[: 5 if 5 in declared else 1].reshape(
        [1 if e == -1 else e for e in declared]
    )
    rows = np.arange(40).reshape(10, 4)[value]
    (got,) = exe.run(feed={"ids": value}, fetch_list=[out])
    np.testing.assert_array_equal(got, rows[..., 0, :] if op_type == "lookup_table" else rows)


def test_reductions_take_several_dimensions():
    x = layers.data("x", [2, 3, 4], append_batch_size=False)
    assert layers.reduce_sum(x, dim=[1, 2]).shape == (2,)
    assert layers.reduce_mean(x, dim=(0, -1), keep_dim=True).shape == (1, 3, 1)
    assert layers.reduce_max(x, dim=np.array([0, 1, 2])).shape == (1,)
    assert layers.reduce_sum(x, dim=1).shape == (2, 4)


@pytest.mark.parametrize("dim", [[], ()])
def test_a_reduction_names_a_dimension_or_takes_all(dim) -> None:
    x = layers.data("x", [2, 3], append_batch_size=False)
    message = r"reduce_max: dim must name a dimension, got .*; leave it out for all"
    with pytest.raises(fluid.InvalidArgument, match=message):
        layers.reduce_max(x, dim=dim)


def test_a_saved_program_whose_reduction_has_one_number_as_dim_still_runs():
    x = layers.data("x", [2, 3], append_batch_size=False)
    total = layers.reduce_sum(x, dim=1)
    text = fluid.default_main_program().serialize_to_string()
    old = text.replace('"dim":{"ints":[1]}', '"dim":1')
    assert old != text
    program = fluid.Program.parse_from_string(old)
    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    (got,) = fluid.Executor().run(program, {"x": value}, [total.name])
    np.testing.assert_array_equal(got, value.sum(1))


def test_conv_pool_and_batch_norm():
    x = layers.data("x", [3, 8, 8])
    conv = layers.conv2d(x, 6, 3, padding=1, groups=3, act="relu")
    assert conv.shape == (-1, 6, 8, 8)
    assert fluid.default_main_program().global_block().var("conv2d_0.w_0").shape == (6, 1, 3, 3)
    pool = layers.pool2d(conv, 2, "max", 2)
    assert pool.shape == (-1, 6, 4, 4)
    assert layers.pool2d(conv, pool_type="avg", global_pooling=True).shape == (-1, 6, 1, 1)
    norm = layers.batch_norm(pool, act="relu")
    assert norm.shape == pool.shape
    statistics = fluid.default_main_program().global_block().var("batch_norm_0.mean_0")
    assert statistics.stop_gradient
    assert statistics.persistable
    assert not statistics.trainable
    pairs = fluid.append_backward(layers.mean(norm))
    assert [p.name for p, g in pairs if g is not None] == [
        "conv2d_0.w_0",
        "conv2d_0.b_0",
        "batch_norm_0.w_0",
        "batch_norm_0.b_0",
    ]


def test_conv_and_pool_refuse_what_cannot_be():
    x = layers.data("x", [3, 8, 8])
    before = both_programs()
    with pytest.raises(fluid.InvalidArgument, match="a multiple of groups"):
        layers.conv2d(x, 6, 3, groups=2)
    with pytest.raises(fluid.InvalidArgument, match="filter_size must be one or two whole numbers"):
        layers.conv2d(x, 6, [3, 3, 3])
    with pytest.raises(fluid.InvalidArgument, match="pool_size must be at least 1"):
        layers.pool2d(x)
    assert both_programs() == before


def test_losses_and_metrics():
    logits = layers.data("logits", [5])
    label = layers.data("label", [1], dtype="int64")
    assert layers.cross_entropy(layers.softmax(logits), label).shape == (-1, 1)
    assert layers.softmax_with_cross_entropy(logits, label).shape == (-1, 1)
    assert layers.square_error_cost(logits, logits).shape == (-1, 5)
    values, indices = layers.topk(logits, 2)
    assert (values.shape, indices.shape, indices.dtype) == ((-1, 2), (-1, 2), "int64")
    assert layers.accuracy(logits, label, k=2).shape == (1,)


def test_intermediate_results_need_not_be_asked_for(block):
    x = layers.data("x", [3])
    block.append_op("dropout", {"X": x}, {"Out": "y"})
    assert len(block.ops[0].output("Mask")) == 1


def test_dropout_takes_a_seed(block):
    x = layers.data("x", [3])
    layers.dropout(x, 0.3)
    layers.dropout(x, 0.3, seed=5)
    assert [op.attr("fix_seed") for op in block.ops] == [False, True]
    assert block.ops[1].attr("seed") == 5


def test_shapes_are_rearranged():
    x = layers.data("x", [2, 3, 4], append_batch_size=False)
    assert layers.reshape(x, [6, -1]).shape == (6, 4)
    assert layers.transpose(x, [2, 0, 1]).shape == (4, 2, 3)
    assert layers.concat([x, x], axis=1).shape == (2, 6, 4)
    assert [part.shape for part in layers.split(x, 2)] == [(2, 3, 2)] * 2
    assert [part.shape for part in layers.split(x, [1, 2], dim=1)] == [(2, 1, 4), (2, 2, 4)]
    assert [part.shape for part in layers.unstack(x, axis=-1)] == [(2, 3)] * 4
    assert layers.stack(layers.unstack(x, axis=1), axis=1).shape == (2, 3, 4)
    assert layers.reduce_sum(x).shape == (1,)
    assert layers.reduce_mean(x, dim=-1).shape == (2, 3)
    assert layers.reduce_max(x, dim=1, keep_dim=True).shape == (2, 1, 4)
    assert layers.matmul(x, x, transpose_y=True).shape == (2, 3, 3)


def test_unstack_wants_a_dimension_and_how_many_parts_there_are():
    x = layers.data("x", [3, 4])
    assert [part.shape for part in layers.unstack(x, num=2)] == [(3, 4)] * 2
    with pytest.raises(ValueError, match=r"unstack: axis must be in \[-3, 3\) .* rank 3, got 3$"):
        layers.unstack(x, axis=3)
    message = (
        "unstack: num must be given and at least 1 where axis 0 of x has no known extent, "
        r"got num None, x \[-1, 3, 4\]$"
    )
    with pytest.raises(ValueError, match=message):
        layers.unstack(x)


def test_tensors_are_made(block):
    assert layers.fill_constant([2, 3], "int64", 7).dtype == "int64"
    assert layers.zeros([2], "float32").shape == (2,)
    x = layers.data("x", [2])
    assert layers.cast(x, np.int32).dtype == "int32"
    assert layers.sums([x, x]).shape == x.shape
    assert layers.assign(x).name != "x"
    y = layers.assign(x)
    assert layers.assign(x, y) is y
    with pytest.raises(TypeError, match="assign: the output must be a Variable"):
        layers.assign(x, "y")


def test_increment_and_less_than_may_write_an_existing_variable(block):
    i = layers.fill_constant([1], "float32", 0)
    n = layers.fill_constant([1], "float32", 3)
    assert layers.increment(i) is i
    assert layers.increment(i, in_place=False) is not i
    cond = layers.less_than(i, n)
    assert cond.dtype == "bool"
    assert layers.less_than(i, n, cond=cond) is cond


def test_global_variables_are_filled_by_the_startup_program():
    v = layers.create_global_var([2], 1.5, "float32", persistable=True, name="v")
    assert v.stop_gradient
    fluid.Executor().run(fluid.default_startup_program())
    np.testing.assert_array_equal(fluid.global_scope().find_var("v").get_tensor(), [1.5, 1.5])


# Generated layers


def test_a_generated_layer_looks_like_a_function():
    function = layers.scale
    assert function.__name__ == "scale"
    assert str(inspect.signature(function)) == (
        "(x: 'Variable', scale: 'float' = 1.0, *, act: 'str | None' = None, "
        "name: 'str | None' = None) -> 'Variable'"
    )
    assert "Args:\n    x: " in function.__doc__
    assert "Returns:\n    Out: " in function.__doc__
    assert layers.scale is function
    assert "scale" in dir(layers)


def test_a_generated_layer_checks_its_arguments():
    x = layers.data("x", [2])
    with pytest.raises(TypeError, match=r"scale\(\) missing a required argument: 'x'"):
        layers.scale()
    with pytest.raises(TypeError, match=r"scale\(\) too many positional arguments"):
        layers.scale(x, 2.0, "relu")
    with pytest.raises(TypeError, match=r"scale\(\) got an unexpected keyword argument 'scales'"):
        layers.scale(x, scales=2.0)


def test_attributes_may_be_given_by_position_those_first_that_must_be(block):
    x = layers.data("x", [2])
    layers.elementwise_add(x, x, 0)
    assert block.ops[-1].attr("axis") == 0
    assert layers.expand(x, [1, 3]).shape == (-1, 6)
    layers.clip(x, 0.0, max=6.0)
    clip = block.ops[-1]
    assert (clip.attr("min"), clip.attr("max")) == (0.0, 6.0)
    with pytest.raises(TypeError, match=r"clip\(\) missing a required argument: 'max'"):
        layers.clip(x, 0.0)
    # After an input that may be left out there is no telling which is which.
    with pytest.raises(TypeError, match=r"nll_loss\(\) too many positional arguments"):
        layers.nll_loss(x, x, None, 0)


def test_a_part_has_a_given_shape_or_that_of_a_variable():
    x = layers.data("x", [3, 4], append_batch_size=False)
    like = layers.data("like", [1, 2], append_batch_size=False)
    parts = [layers.crop(x, [2, 2], [1, 1]), layers.crop(x, like), layers.crop(x, shape=[3, 1])]
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    feed = {"x": array, "like": np.zeros((1, 2), np.float32)}
    expected = [array[1:, 1:3], array[:1, :2], array[:, :1]]
    for value, part in zip(
        fluid.Executor().run(feed=feed, fetch_list=parts), expected, strict=True
    ):
        np.testing.assert_array_equal(value, part)
    with pytest.raises(fluid.InvalidArgument, match=r"crop: .*shape"):
        layers.crop(x)


def test_a_generated_layer_can_be_named(block):
    x = layers.data("x", [2])
    assert layers.relu(x, name="mine").name == "mine.tmp_0"


def test_there_is_no_layer_of_gradients_optimizers_or_unknown_operators():
    for name in ("relu_grad", "sgd", "split", "nonsense"):
        with pytest.raises(AttributeError):
            getattr(generated, name)
    with pytest.raises(AttributeError, match=r"module 'fluidcore.layers' has no layer 'nonsense'"):
        _ = layers.nonsense


@pytest.mark.parametrize("op_type", core.op_types())
def test_every_definition_can_be_described(op_type):
    layer = generated.describe(op_type)
    if layer is not None:
        function = getattr(generated, op_type)
        assert inspect.signature(function).parameters["name"].default is None
        assert all(a.name.isidentifier() for a in layer.inputs + layer.attrs)


def test_fill_constant_takes_true_and_false_for_bool_only():
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        yes, no = (layers.fill_constant([2], "bool", value) for value in (True, False))
        found = fluid.Executor().run(fluid.default_main_program(), fetch_list=[yes, no])
        assert [array.tolist() for array in found] == [[True, True], [False, False]]
        with pytest.raises(TypeError, match="value must be a number, got bool True"):
            layers.fill_constant([2], "float32", True)


def test_an_operator_with_several_results_gives_them_all():
    x = layers.data("x", [2, 2], append_batch_size=False)
    sign, logarithm = layers.slogdet(x)
    values, positions = layers.top_k(x, k=1)
    fed = {"x": np.array([[0, 2], [3, 0]], np.float32)}
    got = fluid.Executor().run(feed=fed, fetch_list=[sign, logarithm, values, positions])
    np.testing.assert_allclose(got[1], np.log(6), rtol=1e-6)
    assert got[0] == -1
    np.testing.assert_array_equal(got[2], [[2], [3]])
    np.testing.assert_array_equal(got[3], [[1], [0]])


def test_random_whole_numbers_take_limits_and_shape_in_the_order_of_numpy() -> None:
    x = layers.data("x", [-1, 2], append_batch_size=False)
    one = layers.randint(5, 8, [300])
    two = layers.randint_batch_size_like(x, 5, 8, [-1, 300], dtype="int32")
    feed = {"x": np.zeros((4, 2), np.float32)}
    drawn = fluid.Executor().run(feed=feed, fetch_list=[one, two])
    assert [(a.shape, a.dtype.name) for a in drawn] == [((300,), "int64"), ((4, 300), "int32")]
    assert [np.unique(a).tolist() for a in drawn] == [[5, 6, 7]] * 2


def test_logsumexp_without_a_dimension_is_of_all_elements() -> None:
    x = layers.data("x", [2, 3], append_batch_size=False)
    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    fetches = [layers.logsumexp(x), layers.logsumexp(x, 1), layers.logsumexp(x, reduce_all=False)]
    found = fluid.Executor().run(feed={"x": value}, fetch_list=fetches)
    exp = np.exp(value.astype(np.float64))
    for ours, sums in zip(found, (exp.sum(keepdims=True)[0], exp.sum(1), exp.sum(0)), strict=True):
        np.testing.assert_allclose(ours, np.log(sums), rtol=1e-6)


def test_no_module_of_the_package_hides_a_layer():
    made = generated.layer_names()
    hidden = [name for name in made if isinstance(getattr(layers, name), ModuleType)]
    assert hidden == []
