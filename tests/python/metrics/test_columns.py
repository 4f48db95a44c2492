import ml_dtypes
import numpy as np
import pytest

import fluidcore as fluid
from fluidcore.metrics.columns import (
    as_classes,
    as_column,
    as_numbers,
    as_probabilities,
    check_as_many,
)


def test_a_column_is_n_or_n_by_1():
    assert as_column("x", [[1], [2]]).tolist() == [1, 2]
    assert as_column("x", (1, 2)).tolist() == [1, 2]
    assert as_column("x", np.zeros((0, 1))).tolist() == []
    for shape in ((), (2, 2), (1, 2, 1)):
        message = rf"^x must be \[n\] or \[n, 1\], got \[{', '.join(map(str, shape))}\]$"
        with pytest.raises(fluid.InvalidArgument, match=message):
            as_column("x", np.zeros(shape))


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16, np.uint8, bool])
def test_numbers_of_all_widths_are_taken(dtype):
    assert as_numbers("x", np.array([0, 1], dtype)).tolist() == [0, 1]


@pytest.mark.parametrize("values", [["a"], [1j], [object()], None])
def test_what_is_no_array_of_numbers_is_an_error(values):
    with pytest.raises(TypeError, match=r"^x must be an array of numbers, got "):
        as_numbers("x", values)


@pytest.mark.parametrize("wrong", [-1, 3, 0.5, np.nan, np.inf])
def test_a_class_is_a_whole_number_in_its_range(wrong):
    assert as_classes("x", [0.0, 2.0], 3).tolist() == [0, 2]
    message = rf"^x must be whole numbers in \[0, 3\), got {wrong}.* at 1$"
    with pytest.raises(fluid.InvalidArgument, match=message):
        as_classes("x", [0, wrong], 3)


@pytest.mark.parametrize("wrong", [-0.1, 1.5, np.nan])
def test_a_probability_is_in_0_to_1(wrong):
    assert as_probabilities("x", [0.0, 1.0]).tolist() == [0, 1]
    message = rf"^x must be probabilities in \[0, 1\], got {wrong} at 0$"
    with pytest.raises(fluid.InvalidArgument, match=message):
        as_probabilities("x", [wrong])


def test_there_is_a_label_for_each_prediction():
    message = "^Auc: there must be a label for each prediction, got 2 predictions, 3 labels$"
    with pytest.raises(fluid.InvalidArgument, match=message):
        check_as_many("Auc", np.zeros(2), np.zeros(3))
