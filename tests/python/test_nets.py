from __future__ import annotations

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers, nets


@pytest.fixture(autouse=True)
def programs():
    with (
        fluid.unique_name.guard(),
        fluid.program_guard(fluid.Program(), fluid.Program()),
        fluid.scope_guard(fluid.Scope()),
    ):
        yield


def types() -> list[str]:
    return [op.type for op in fluid.default_main_program().global_block().ops]


def run(fetch: fluid.Variable, **feed: np.ndarray) -> np.ndarray:
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    return exe.run(feed=feed, fetch_list=[fetch])[0]


def test_a_convolution_with_pooling():
    image = layers.data("image", [3, 9, 9])
    out = nets.simple_img_conv_pool(image, 4, 2, pool_size=2, pool_stride=2, act="relu")
    assert types() == ["conv2d", "elementwise_add", "relu", "pool2d"]
    assert out.shape == (-1, 4, 4, 4)
    result = run(out, image=np.ones((2, 3, 9, 9), np.float32))
    assert result.shape == (2, 4, 4, 4)
    assert (result >= 0).all()


def test_a_group_of_convolutions_has_settings_for_each():
    image = layers.data("image", [3, 8, 8])
    out = nets.img_conv_group(
        image,
        conv_num_filter=[4, 6],
        pool_size=2,
        conv_filter_size=[3, 5],
        conv_padding=[1, 2],
        conv_act="relu",
        conv_with_batchnorm=[True, False],
        conv_batchnorm_drop_rate=[0.3, 0.0],
        pool_stride=2,
        pool_type="avg",
    )
    assert out.shape == (-1, 6, 4, 4)
    assert types() == [
        *["conv2d", "elementwise_add", "batch_norm", "relu", "dropout"],
        *["conv2d", "elementwise_add", "relu", "pool2d"],
    ]


def test_a_list_of_another_length_is_an_error():
    image = layers.data("image", [3, 8, 8])
    message = "conv_padding must be one value or one for each of the 2 convolutions, got 3: "
    with pytest.raises(fluid.InvalidArgument, match=message):
        nets.img_conv_group(image, [4, 4], 2, conv_padding=[1, 1, 1])
    with pytest.raises(fluid.InvalidArgument, match=r"must be a list of at least one number"):
        nets.img_conv_group(image, [], 2)
    assert types() == []


def test_a_gated_linear_unit_is_one_half_times_the_sigmoid_of_the_other():
    x = np.random.default_rng(1).standard_normal((3, 6)).astype(np.float32)
    result = run(nets.glu(layers.data("x", [6])), x=x)
    np.testing.assert_allclose(result, x[:, :3] / (1 + np.exp(-x[:, 3:])), rtol=1e-6)


def attention(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, heads: int, causal: bool = False
) -> np.ndarray:
    def cut(x: np.ndarray) -> np.ndarray:
        return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)

    scores = cut(q) @ cut(k).swapaxes(2, 3) / np.sqrt(q.shape[2] / heads)
    if causal:
        scores[..., ~np.tri(*scores.shape[2:], dtype=bool)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return (weights @ cut(v)).swapaxes(1, 2).reshape(*q.shape[:2], -1)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("heads", [1, 2])
def test_attention_is_that_of_its_formula(heads: int, causal: bool):
    random = np.random.default_rng(2)
    shapes = {"q": (2, 3, 4), "k": (2, 5, 4), "v": (2, 5, 6)}
    arrays = {name: random.standard_normal(shape) for name, shape in shapes.items()}
    given = [layers.data(name, list(shape[1:]), "float64") for name, shape in shapes.items()]
    out = nets.scaled_dot_product_attention(*given, num_heads=heads, causal=causal)
    expected = attention(*arrays.values(), heads, causal)
    np.testing.assert_allclose(run(out, **arrays), expected, rtol=1e-12)


def test_attention_with_dropout_drops_weights():
    given = [layers.data(name, [3, 4]) for name in "qkv"]
    out = nets.scaled_dot_product_attention(*given, dropout_rate=0.5)
    assert out.shape == (-1, 3, 4)
    assert "dropout" in types()


def test_dropout_keeps_what_is_causal():
    given = [layers.data(name, [5, 4], "float64") for name in "qkv"]
    out = nets.scaled_dot_product_attention(*given, 2, dropout_rate=0.5, causal=True)
    main = fluid.default_main_program()
    main.random_seed = 1
    random = np.random.default_rng(3)
    feed = {name: random.standard_normal((2, 5, 4)) for name in "qkv"}

    def outputs(program: fluid.Program) -> np.ndarray:
        return fluid.Executor().run(program, feed=feed, fetch_list=[out])[0]

    before = outputs(main)
    test = main.clone(for_test=True)  # its weights are halved, as Fluid's dropout has it
    expected = 0.5 * attention(*feed.values(), 2, causal=True)
    np.testing.assert_allclose(outputs(test), expected, rtol=1e-12)
    feed["k"][:, 3:] = feed["v"][:, 3:] = 9.0
    np.testing.assert_array_equal(outputs(main)[:, :3], before[:, :3])


def test_sizes_that_heads_cannot_share_are_an_error():
    given = [layers.data(name, [3, 4]) for name in "qkv"]
    message = "the size of queries must be a multiple of num_heads, got 4 and 3"
    with pytest.raises(fluid.InvalidArgument, match=message):
        nets.scaled_dot_product_attention(*given, num_heads=3)
    flat = layers.data("flat", [4])
    with pytest.raises(fluid.InvalidArgument, match="keys must have rank 3"):
        nets.scaled_dot_product_attention(given[0], flat, given[2])
