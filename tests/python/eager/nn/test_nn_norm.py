"""Normalization."""

import numpy as np
import pytest
from checked_modules import check_module

import fluidcore as fluid
from fluidcore import eager
from fluidcore.eager import nn


@pytest.mark.parametrize("shape", [(6, 3), (4, 3, 5), (2, 3, 4, 4), (2, 3, 2, 2, 2)])
def test_a_batch_is_normalized_and_the_running_statistics_follow(shape: tuple[int, ...]) -> None:
    norm = nn.BatchNorm(3, momentum=0.25)
    axes = (0, *range(2, len(shape)))
    mean, variance = np.zeros(3), np.ones(3)
    for _ in range(2):
        x = eager.randn(shape)
        array = x.numpy().astype(np.float64)
        own, biased = array.mean(axes), array.var(axes)
        form = (1, 3, *[1] * (len(shape) - 2))
        wanted = (array - own.reshape(form)) / np.sqrt(biased.reshape(form) + 1e-5)
        np.testing.assert_allclose(norm(x).numpy(), wanted, atol=1e-5)
        mean = 0.75 * mean + 0.25 * own  # momentum is the share of the new, as in PyTorch
        variance = 0.75 * variance + 0.25 * array.var(axes, ddof=1)  # and the unbiased variance
    np.testing.assert_allclose(norm.running_mean.numpy(), mean, atol=1e-6)
    np.testing.assert_allclose(norm.running_var.numpy(), variance, atol=1e-6)
    assert norm.num_batches_tracked.item() == 2


def test_eval_normalizes_with_the_running_statistics_and_leaves_them() -> None:
    norm = nn.BatchNorm(2, eps=0.0).eval()
    norm.running_mean.set_value([1.0, 2.0])
    norm.running_var.set_value([4.0, 16.0])
    norm.weight.set_value([2.0, 1.0])
    norm.bias.set_value([0.0, 1.0])
    assert norm(eager.full([1, 2], 5.0)).tolist() == [[4.0, 1.75]]
    assert norm.running_mean.tolist() == [1.0, 2.0]
    assert norm.num_batches_tracked.item() == 0


def test_without_momentum_the_statistics_are_the_mean_of_all_batches() -> None:
    norm = nn.BatchNorm(1, momentum=None)
    for value in (1.0, 2.0, 6.0):
        norm(eager.full([2, 1], value))
    assert norm.running_mean.item() == pytest.approx(3.0)


def test_scale_and_statistics_can_be_left_out() -> None:
    norm = nn.BatchNorm(2, affine=False, track_running_stats=False)
    assert not norm.state_dict()
    x = eager.randn([8, 2])
    assert norm(x).tolist() == norm.eval()(x).tolist()
    assert np.abs(norm(x).numpy().mean(0)).max() < 1e-6


def test_statistics_of_16_bits_stay_of_16_bits() -> None:
    norm = nn.BatchNorm(2, dtype="bfloat16")
    assert norm(eager.randn([4, 2], dtype="bfloat16")).dtype == "bfloat16"
    assert norm.running_var.dtype == "bfloat16"


def test_images_of_16_bits_may_have_statistics_of_float32() -> None:
    norm = nn.BatchNorm(2)
    assert norm(eager.randn([4, 2], dtype="float16")).dtype == "float16"
    assert norm.running_var.dtype == "float32"


def test_bad_batches_are_errors() -> None:
    norm = nn.BatchNorm(3)
    with pytest.raises(fluid.InvalidArgument) as caught:
        norm(eager.ones([2, 4]))
    assert str(caught.value) == (
        "BatchNorm: x must be [batch, 3, ...], of rank 2 to 5, got float32 [2, 4]"
    )
    with pytest.raises(fluid.InvalidArgument) as caught:
        norm(eager.ones([1, 3]))
    assert str(caught.value) == (
        "BatchNorm: a batch must have at least two numbers for each channel, got float32 [1, 3]; "
        "write eval() to use the running statistics"
    )
    with pytest.raises(fluid.InvalidArgument, match=r"momentum must be in \[0, 1\], got 9"):
        nn.BatchNorm(3, momentum=9)


@pytest.mark.parametrize("shape", [4, [3, 4]])
def test_rows_are_normalized(shape: int | list[int]) -> None:
    norm = nn.LayerNorm(shape, dtype="float64")
    x = eager.randn([2, 3, 4], dtype="float64")
    axes = (-1,) if shape == 4 else (-2, -1)
    norm.weight.set_value(2 * norm.weight.numpy())
    norm.bias.set_value(norm.bias.numpy() + 1)
    array = x.numpy()
    spread = np.sqrt(array.var(axes, keepdims=True) + 1e-5)
    wanted = 2 * (array - array.mean(axes, keepdims=True)) / spread + 1
    np.testing.assert_allclose(norm(x).numpy(), wanted, rtol=1e-10, atol=1e-10)
    assert norm.weight.shape == norm.normalized_shape


def test_a_layer_norm_goes_without_parameters() -> None:
    assert list(nn.LayerNorm(3, bias=False).state_dict()) == ["weight"]
    plain = nn.LayerNorm(3, elementwise_affine=False)
    assert not plain.state_dict()
    assert plain(eager.randn([3])).shape == (3,)
    assert repr(plain) == "LayerNorm((3,), eps=1e-05, elementwise_affine=False)"
    with pytest.raises(
        fluid.InvalidArgument, match=r"^LayerNorm: x must be \[\.\.\., 3\], got float32 \[3, 2\]$"
    ):
        plain(eager.ones([3, 2]))
    with pytest.raises(fluid.InvalidArgument, match="normalized_shape must be one extent or more"):
        nn.LayerNorm([])


def test_their_gradients_are_right() -> None:
    eager.seed(0)
    check_module(nn.BatchNorm(2), eager.randn([5, 2]))
    check_module(nn.BatchNorm(2).eval(), eager.randn([3, 2, 2, 2]))
    check_module(nn.LayerNorm([2, 3]), eager.randn([4, 2, 3]))
