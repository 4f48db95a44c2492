"""Convolutions."""

import numpy as np
import pytest
from checked_modules import check_module

import fluidcore as fluid
from fluidcore import eager
from fluidcore.eager import nn


def test_it_is_the_sum_of_products_under_the_window() -> None:
    conv = nn.Conv2d(2, 4, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2)
    assert conv.weight.shape == (4, 1, 3, 2)
    x = eager.randn([1, 2, 5, 6])
    out = conv(x).numpy()
    padded = np.pad(x.numpy(), ((0, 0), (0, 0), (1, 1), (0, 0)))
    assert out.shape == (1, 4, 3, 4)
    for m in range(4):
        for i in range(3):
            for j in range(4):
                window = padded[0, m // 2, 2 * i : 2 * i + 3, j : j + 3 : 2]
                wanted = (window * conv.weight.numpy()[m, 0]).sum() + conv.bias.numpy()[m]
                assert out[0, m, i, j] == pytest.approx(wanted, abs=1e-6)


def test_its_gradients_are_right() -> None:
    eager.seed(0)
    check_module(nn.Conv2d(2, 2, 3, padding=1), eager.randn([1, 2, 4, 4]))


def test_repr_has_the_arguments() -> None:
    assert repr(nn.Conv2d(1, 4, 3)) == "Conv2d(1, 4, kernel_size=(3, 3), stride=(1, 1))"
    assert repr(nn.Conv2d(4, 4, 3, 2, 1, 2, 4, False)) == (
        "Conv2d(4, 4, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), dilation=(2, 2), "
        "groups=4, bias=False)"
    )


def test_bad_arguments_are_errors() -> None:
    with pytest.raises(fluid.InvalidArgument) as caught:
        nn.Conv2d(3, 4, 3, groups=2)
    assert str(caught.value) == (
        "Conv2d: in_channels and out_channels must be multiples of groups, got 3, 4 and 2 groups"
    )
    with pytest.raises(fluid.InvalidArgument, match=r"stride must be whole numbers of at least 1"):
        nn.Conv2d(1, 1, 3, stride=0)
    with pytest.raises(
        fluid.InvalidArgument, match=r"padding must be a whole number or two.*'same'"
    ):
        nn.Conv2d(1, 1, 3, padding="same")
    with pytest.raises(fluid.InvalidArgument) as caught:
        nn.Conv2d(3, 1, 3)(eager.ones([2, 1, 8, 8]))
    assert str(caught.value) == (
        "Conv2d: x must be [batch, 3, height, width], got float32 [2, 1, 8, 8]"
    )
