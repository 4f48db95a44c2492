"""Layers of convolution and pooling, and what Fluid's arguments become."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers


def run(result: fluid.Variable, **feed: object) -> np.ndarray:
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    (got,) = executor.run(fluid.default_main_program(), feed, [result.name])
    return np.asarray(got)


def shape_of(name: str) -> tuple[int, ...]:
    return fluid.default_main_program().global_block().var(name).shape


def test_a_convolution_of_volumes_has_filters_and_a_bias() -> None:
    x = layers.data("x", [4, 5, 6, 7])
    conv = layers.conv3d(x, 6, [1, 3, 3], padding=[0, 1, 1], groups=2, act="relu")
    assert conv.shape == (-1, 6, 5, 6, 7)
    assert shape_of("conv3d_0.w_0") == (6, 2, 1, 3, 3)
    assert shape_of("conv3d_0.b_0") == (6,)
    pool = layers.pool3d(conv, 2, "max", 2)
    assert pool.shape == (-1, 6, 2, 3, 3)
    assert layers.pool3d(conv, pool_type="avg", global_pooling=True).shape == (-1, 6, 1, 1, 1)
    assert run(pool, x=np.ones((2, 4, 5, 6, 7), np.float32)).shape == (2, 6, 2, 3, 3)


def test_a_transposed_convolution_undoes_the_extents_of_a_convolution() -> None:
    x = layers.data("x", [4, 5, 6])
    up = layers.conv2d_transpose(x, 6, filter_size=4, stride=2, padding=1, groups=2)
    assert up.shape == (-1, 6, 10, 12)
    assert shape_of("conv2d_transpose_0.w_0") == (4, 3, 4, 4)
    assert run(up, x=np.ones((2, 4, 5, 6), np.float32)).shape == (2, 6, 10, 12)
    pairs = fluid.append_backward(layers.mean(up))
    assert [p.name for p, g in pairs if g is not None] == [
        "conv2d_transpose_0.w_0",
        "conv2d_transpose_0.b_0",
    ]


def test_output_size_decides_the_filter() -> None:
    x = layers.data("x", [4, 5, 6])
    up = layers.conv2d_transpose(x, 2, output_size=[11, 13], stride=2, bias_attr=False)
    assert up.shape == (-1, 2, 11, 13)
    assert shape_of("conv2d_transpose_0.w_0") == (4, 2, 3, 3)


def test_a_transposed_convolution_refuses_what_cannot_be() -> None:
    x = layers.data("x", [4, 5, 6])
    before = repr(fluid.default_main_program())
    with pytest.raises(fluid.InvalidArgument, match="conv2d_transpose: filter_size must be given"):
        layers.conv2d_transpose(x, 2)
    message = r"output_size must be what filter_size gives, \[11, 13\], got \[9, 13\]"
    with pytest.raises(fluid.InvalidArgument, match=f"conv2d_transpose: {message}"):
        layers.conv2d_transpose(x, 2, [9, 13], 3, stride=2)
    message = r"output_size must be what a filter can give, got \[2, 2\] for input"
    with pytest.raises(fluid.InvalidArgument, match=f"conv2d_transpose: {message}"):
        layers.conv2d_transpose(x, 2, 2)
    message = "num_filters must be a multiple of groups, got 3 with groups 2"
    with pytest.raises(fluid.InvalidArgument, match=f"conv2d_transpose: {message}"):
        layers.conv2d_transpose(x, 3, filter_size=2, groups=2)
    assert repr(fluid.default_main_program()) == before


def test_volumes_need_three_numbers() -> None:
    x = layers.data("x", [4, 5, 6, 7])
    message = r"conv3d: filter_size must be one or three whole numbers, got \[3, 3\]"
    with pytest.raises(fluid.InvalidArgument, match=message):
        layers.conv3d(x, 2, [3, 3])
    message = r"pool3d: pool_size must be at least 1 without global_pooling, got -1"
    with pytest.raises(fluid.InvalidArgument, match=message):
        layers.pool3d(x)
    message = r"conv3d: input must be \[batch, channels, depth, height, width\] with known channels"
    with pytest.raises(fluid.InvalidArgument, match=message):
        layers.conv3d(layers.data("image", [4, 5, 6]), 2, 3)


def test_lrn_divides_by_near_channels() -> None:
    x = np.arange(6, dtype=np.float32).reshape(1, 3, 1, 2)
    got = run(layers.lrn(layers.data("x", [3, 1, 2]), n=3, alpha=0.5, beta=1.0), x=x)
    squares = np.pad(x * x, [(0, 0), (1, 1), (0, 0), (0, 0)])
    near = squares[:, :-2] + squares[:, 1:-1] + squares[:, 2:]
    np.testing.assert_allclose(got, x / (1.0 + 0.5 * near), rtol=1e-6)


def test_images_may_have_their_channels_last() -> None:
    first = layers.data("first", [3, 6, 5])
    last = layers.transpose(first, [0, 2, 3, 1])
    attrs = {"param_attr": fluid.ParamAttr(name="w"), "bias_attr": fluid.ParamAttr(name="b")}
    expected = layers.pool2d(layers.conv2d(first, 4, 3, **attrs), 2)
    hidden = layers.conv2d(last, 4, 3, data_format="NHWC", **attrs)
    out = layers.transpose(layers.pool2d(hidden, 2, data_format="NHWC"), [0, 3, 1, 2])
    assert list(hidden.shape) == [-1, 4, 3, 4]
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    image = np.random.default_rng(0).normal(size=(2, 3, 6, 5)).astype(np.float32)
    wanted, got = exe.run(feed={"first": image}, fetch_list=[expected, out])
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("layer", ["conv2d", "pool2d"])
def test_formats_are_checked(layer: str) -> None:
    x = layers.data("x", [3, 6, 5])
    arguments = (4, 3) if layer == "conv2d" else (2,)
    message = f"{layer}: data_format must be 'NCHW' or 'NHWC', got 'NCWH'"
    with pytest.raises(fluid.InvalidArgument, match=message):
        getattr(layers, layer)(x, *arguments, data_format="NCWH")
