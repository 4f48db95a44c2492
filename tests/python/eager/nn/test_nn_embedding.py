"""Tables that are read by number."""

import numpy as np
import pytest
from checked_modules import check_parameters

import fluidcore as fluid
from fluidcore import eager
from fluidcore.eager import Tensor, nn


def test_rows_are_read_by_number() -> None:
    table = nn.Embedding(5, 3)
    ids = np.array([[0, 4], [4, 2]])
    np.testing.assert_array_equal(table(ids).numpy(), table.weight.numpy()[ids])
    assert table(Tensor([[1]])).shape == (1, 1, 3)
    assert table(Tensor([1], dtype="int32")).shape == (1, 3)


def test_the_padding_row_is_zero_and_not_learnt() -> None:
    table = nn.Embedding(5, 3, padding_idx=-1)
    assert table.padding_idx == 4
    assert table.weight.numpy()[4].tolist() == [0, 0, 0]
    table(Tensor([1, 4, 4])).sum().backward()
    assert table.weight.grad.numpy().sum(1).tolist() == [0, 3, 0, 0, 0]
    assert repr(table) == "Embedding(5, 3, padding_idx=4)"


def test_first_values_are_normal() -> None:
    eager.seed(0)
    values = nn.Embedding(100, 100).weight.numpy()
    assert abs(values.mean()) < 0.05
    assert values.std() == pytest.approx(1, abs=0.05)


def test_its_gradient_is_right() -> None:
    eager.seed(0)
    check_parameters(nn.Embedding(3, 2, padding_idx=1), Tensor([0, 2, 2, 1]))


def test_bad_arguments_are_errors() -> None:
    with pytest.raises(fluid.InvalidArgument, match=r"a row of the table, in \[-3, 3\), got 3"):
        nn.Embedding(3, 2, padding_idx=3)
    with pytest.raises(
        fluid.InvalidArgument, match=r"x must be int32 or int64, numbers of rows, got float32 \[1\]"
    ):
        nn.Embedding(3, 2)(eager.ones([1]))
