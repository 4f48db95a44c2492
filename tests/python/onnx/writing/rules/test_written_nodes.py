"""Which nodes operators become: one where ONNX has the operator."""

import numpy as np
import pytest
from runtimes import Array
from saved import every_runtime, saved

import fluidcore as fluid
from fluidcore import layers


def normal(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def test_a_fully_connected_layer_of_sequences_is_one_product() -> None:
    x = layers.data("x", [7, 5])
    model = saved([layers.fc(x, 3, num_flatten_dims=2)], x=normal(2, 7, 5))
    assert model.node_types() == ["MatMul", "Add"]
    model.agrees("reference")


def test_a_layer_that_sees_images_as_rows_flattens_them() -> None:
    x = layers.data("x", [2, 4, 4])
    model = saved([layers.fc(x, 3)], x=normal(5, 2, 4, 4))
    assert model.node_types() == ["Flatten", "MatMul", "Add"]
    model.agrees("reference")


def test_a_bias_of_channels_is_put_at_their_axis() -> None:
    x = layers.data("x", [3, 4, 4])
    model = saved([layers.conv2d(x, 2, 3)], x=normal(2, 3, 4, 4))
    assert model.node_types() == ["Conv", "Unsqueeze", "Add"]
    model.agrees("reference")


def test_channels_that_are_last_are_transposed() -> None:
    x = layers.data("x", [6, 6, 3])
    y = layers.conv2d(x, 2, 3, bias_attr=False, data_format="NHWC")
    model = saved([y], x=normal(2, 6, 6, 3))
    assert model.node_types() == ["Transpose", "Conv", "Transpose"]
    model.agrees("reference")


def test_a_normalization_of_rows_is_one_node() -> None:
    x = layers.data("x", [7, 5])
    model = saved([layers.layer_norm(x, begin_norm_axis=2)], x=normal(2, 7, 5))
    assert model.node_types() == ["LayerNormalization"]
    model.agrees("reference")


@every_runtime
def test_the_last_window_of_an_image_whose_size_is_known_is_padded_out(runtime: str) -> None:
    x = layers.data("x", [1, 7, 6])
    y = layers.pool2d(x, 3, "avg", 2, 1, ceil_mode=True)
    model = saved([y], x=normal(2, 1, 7, 6))
    (pads,) = [a.ints for a in model.model.graph.node[0].attribute if a.name == "pads"]
    assert list(pads) == [1, 1, 1, 2]
    model.agrees(runtime)


@every_runtime
@pytest.mark.parametrize("size", [6, 7, 8])
@pytest.mark.parametrize("kind", ["avg", "max"])
def test_the_last_window_of_an_image_of_any_size_is_left_to_onnx(
    kind: str, size: int, runtime: str
) -> None:
    x = layers.data("x", [-1, 1, -1, -1])
    y = layers.pool2d(x, 3, kind, 2, 1, ceil_mode=True)
    model = saved([y], x=normal(2, 1, size, size))
    assert [a.i for a in model.model.graph.node[0].attribute if a.name == "ceil_mode"] == [1]
    model.agrees(runtime)


def test_an_adaptive_window_over_an_extent_that_is_not_known_is_refused() -> None:
    x = layers.data("x", [-1, 1, -1, -1])
    block = fluid.default_main_program().global_block()
    y = block.create_var("y")
    attrs = {"pooling_type": "avg", "ksize": [2, 2], "adaptive": True}
    block.append_op("pool2d", {"X": x}, {"Out": y}, attrs)
    with pytest.raises(
        fluid.InvalidArgument,
        match=r"^onnx.save: pool2d: an adaptive window must have an ONNX form, got one over an "
        r"unknown extent",
    ):
        saved([y], x=normal(2, 1, 6, 6))


@every_runtime
def test_whole_numbers_divided_by_0_are_0(runtime: str) -> None:
    x = layers.data("x", [4], dtype="int64")
    y = layers.data("y", [4], dtype="int64")
    found = [layers.elementwise_div(x, y), x // y, x % y]
    feed = {"x": np.array([[7, -7, 7, -7]]), "y": np.array([[2, 2, 0, -2]])}
    model = saved(found, **feed)
    assert [want.tolist() for want in model.wanted] == [
        [[3, -3, 0, 3]],
        [[3, -4, 0, 3]],
        [[1, 1, 0, -1]],
    ]
    model.agrees(runtime)


@every_runtime
def test_a_shape_may_be_fed(runtime: str) -> None:
    x = layers.data("x", [6])
    shape = layers.data("shape", [2], dtype="int32", append_batch_size=False)
    y = layers.reshape(x, [-1, -1], actual_shape=shape)
    saved([y], x=normal(2, 6), shape=np.array([3, 4], np.int32)).agrees(runtime)


@every_runtime
def test_a_row_of_a_table_may_be_no_row(runtime: str) -> None:
    ids = layers.data("ids", [3, 1], dtype="int64")
    model = saved([layers.embedding(ids, [7, 2], padding_idx=5)], ids=np.array([[[1], [5], [6]]]))
    np.testing.assert_array_equal(model.wanted[0][0, 1], 0)
    model.agrees(runtime)


@every_runtime
def test_a_query_that_sees_no_key_gets_0(runtime: str) -> None:
    q = layers.data("q", [2, 3, 4])
    mask = layers.data("mask", [1, 3, 3])
    hidden = np.zeros((1, 1, 3, 3), np.float32)
    hidden[0, 0, 1] = -np.inf
    found = layers.scaled_dot_product_attention(q, q, q, mask, causal=True)
    model = saved([found], q=normal(1, 2, 3, 4), mask=hidden)
    np.testing.assert_array_equal(model.wanted[0][0, :, 1], 0)
    model.agrees(runtime)


@every_runtime
@pytest.mark.parametrize("count", [5, 300, -1])
def test_the_last_update_of_a_row_counts(count: int, runtime: str) -> None:
    ref = layers.data("ref", [7, 2], append_batch_size=False)
    index = layers.data("index", [count], dtype="int64", append_batch_size=False)
    updates = layers.data("updates", [count, 2], append_batch_size=False)
    rng = np.random.default_rng(0)
    rows = 5 if count == 5 else 300
    feed = {"ref": normal(7, 2), "index": rng.integers(0, 6, rows), "updates": normal(rows, 2)}
    saved([layers.scatter(ref, index, updates)], **feed).agrees(runtime)
