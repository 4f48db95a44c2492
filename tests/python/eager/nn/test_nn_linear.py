"""Dense layers."""

import numpy as np
import pytest
from checked_modules import check_module

import fluidcore as fluid
from fluidcore import eager
from fluidcore.eager import nn


def test_it_is_x_times_the_transposed_weight_plus_the_bias() -> None:
    linear = nn.Linear(3, 2, dtype="float64")
    assert linear.weight.shape == (2, 3)
    for shape in ([3], [4, 3], [2, 4, 3], [0, 3]):
        x = eager.randn(shape, dtype="float64")
        wanted = x.numpy() @ linear.weight.numpy().T + linear.bias.numpy()
        np.testing.assert_allclose(linear(x).numpy(), wanted, rtol=1e-14, atol=1e-14)
    without = nn.Linear(3, 2, bias=False)
    assert (without.bias, len(list(without.parameters()))) == (None, 1)
    assert without(np.ones((1, 3), np.float32)).shape == (1, 2)


def test_first_values_are_uniform_and_the_same_after_the_same_seed() -> None:
    eager.seed(3)
    first = nn.Linear(100, 50)
    again = nn.Linear(100, 50)
    eager.seed(3)
    same = nn.Linear(100, 50)
    assert first.weight.tolist() == same.weight.tolist()
    assert first.bias.tolist() == same.bias.tolist()
    assert first.weight.tolist() != again.weight.tolist()
    for values in (first.weight.numpy(), first.bias.numpy()):
        assert np.abs(values).max() <= 0.1
        assert np.abs(values).max() > 0.09


def test_its_gradients_are_right() -> None:
    eager.seed(0)
    check_module(nn.Linear(3, 2), eager.randn([4, 3]))


@pytest.mark.parametrize(
    ("module", "shape"),
    [
        (nn.Linear(3, 2), [2, 3]),
        (nn.Conv2d(1, 1, 1), [1, 1, 2, 2]),
        (nn.BatchNorm(3), [2, 3]),
        (nn.LayerNorm(3), [2, 3]),
        (nn.LSTM(3, 2), [1, 2, 3]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_input_of_another_dtype_is_an_error(module: eager.Module, shape: list[int]) -> None:
    with pytest.raises(fluid.InvalidArgument) as caught:
        module(np.ones(shape))
    assert str(caught.value) == (
        f"{type(module).__name__}: x must be float32, as the parameters are, got float64 {shape}; "
        "write x.astype('float32')"
    )
    with eager.precision("float64"):
        module(np.ones(shape))


def test_bad_arguments_are_errors() -> None:
    with pytest.raises(fluid.InvalidArgument, match="Linear: in_features must be a whole number"):
        nn.Linear(0, 2)
    with pytest.raises(
        fluid.InvalidArgument, match=r"^Linear: x must be \[\.\.\., 3\], got float32 \[2, 4\]$"
    ):
        nn.Linear(3, 2)(eager.ones([2, 4]))
    with pytest.raises(TypeError, match=r"^Linear: x must be a Tensor or an array, got list$"):
        nn.Linear(3, 2)([1.0, 2.0, 3.0])
