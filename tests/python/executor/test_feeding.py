"""Tests of fluidcore.executor.feeding."""

import warnings
from fractions import Fraction

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers
from fluidcore.base.dtypes import numpy_dtype
from fluidcore.executor.feeding import is_lossless

# What every number of an element type converts to without loss; NumPy's and fluidcore's types.
LOSSLESS = {
    "bool": "bool int16 int32 int64 float16 bfloat16 float32 float64",
    "int8": "int16 int32 int64 float16 bfloat16 float32 float64",
    "uint8": "int16 int32 int64 float16 bfloat16 float32 float64",
    "int16": "int16 int32 int64 float32 float64",
    "uint16": "int32 int64 float32 float64",
    "int32": "int32 int64 float64",
    "uint32": "int64 float64",
    "int64": "int64",
    "uint64": "",
    "float16": "float16 float32 float64",
    "bfloat16": "bfloat16 float32 float64",
    "float32": "float32 float64",
    "float64": "float64",
    "complex64": "",
}
TARGETS = ["bool", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]


def dtype_of(name):
    return numpy_dtype(name) if name == "bfloat16" else np.dtype(name)


def copied(value, dtype="float32", shape=(2,)):
    """What a program that copies `x` returns for a fed value."""
    with fluid.program_guard(fluid.Program()):
        x = layers.data("x", shape, dtype=dtype, append_batch_size=False)
        return fluid.Executor().run(feed={"x": value}, fetch_list=[layers.assign(x)])[0]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", LOSSLESS)
def test_arrays_convert_where_no_number_is_lost(source, target):
    is_rounded = (source, target) == ("float64", "float32")
    kept = target in LOSSLESS[source].split()
    assert is_lossless(dtype_of(source), dtype_of(target)) == kept
    array = np.array([0, 1], dtype_of(source))
    if kept:
        result = copied(array, target)
        assert result.dtype == dtype_of(target)
        np.testing.assert_array_equal(result.astype(np.float64), [0, 1])
    elif not is_rounded:
        with pytest.raises(fluid.InvalidArgument, match=f"feed 'x': must be .*{target}"):
            copied(array, target)


@pytest.mark.parametrize("source", [name for name in LOSSLESS if LOSSLESS[name]])
def test_the_extreme_numbers_of_an_element_type_survive(source):
    dtype = dtype_of(source)
    if dtype.kind in "iu":
        extremes = [np.iinfo(dtype).min, np.iinfo(dtype).max]
    elif source == "bool":
        extremes = [False, True]
    else:
        extremes = [np.finfo(dtype).tiny, np.finfo(dtype).max] if dtype.kind == "f" else [0.5, 1.5]
    array = np.array(extremes, dtype)
    for target in LOSSLESS[source].split():
        result = copied(array, target)
        assert (result.astype(dtype) == array).all(), target


def test_a_float64_array_for_float32_is_rounded_with_one_warning_for_each_variable_and_program():
    array = np.array([0.1, 1 / 3])

    def program():
        main = fluid.Program()
        with fluid.program_guard(main):
            x, y = (layers.data(name, [2], append_batch_size=False) for name in "xy")
            return main, x + y

    (main, total), (other, _) = program(), program()
    exe = fluid.Executor()
    feed = {"x": array, "y": array}
    with pytest.warns(UserWarning, match="rounded") as told:
        results = [e.run(main, feed, [total])[0] for e in (exe, exe, fluid.Executor())]
    assert [str(warning.message) for warning in told] == [
        f"feed '{name}': a float64 array is rounded to float32 in every run; "
        f"write {name}.astype('float32')"
        for name in "xy"
    ]
    assert {warning.filename for warning in told} == {__file__}
    np.testing.assert_array_equal(results, [array.astype(np.float32) * 2] * 3)
    with pytest.warns(UserWarning, match="feed 'x'"):
        exe.run(other, {"x": array, "y": array.astype(np.float32)})


@pytest.mark.parametrize(
    ("value", "cure"),
    [
        ([np.array(0.1), np.array(0.2)], r"write np.asarray\(x\).astype\('float32'\)"),
        (np.array([0.1, 0.2]), r"write x.astype\('float32'\)"),
        ([np.float64(0.1), 0.2], r"write np.asarray\(x\).astype\('float32'\)"),
    ],
)
def test_a_list_of_float64_arrays_is_fed_as_one_array_is(value, cure):
    with pytest.warns(UserWarning, match=cure):
        np.testing.assert_array_equal(copied(value), np.float32([0.1, 0.2]))


def test_a_float64_tensor_is_fed_as_an_array_is():
    tensor = fluid.Tensor()
    tensor.set(np.array([0.1, 0.2]))
    with pytest.warns(UserWarning, match="feed a float32 tensor"):
        np.testing.assert_array_equal(copied(tensor), np.float32([0.1, 0.2]))


@pytest.mark.parametrize("value", [0.1, [0.1, 3], ((1, True), (2.5, 0)), range(2), [], [[], []]])
def test_numbers_and_lists_of_them_convert_in_silence(value):
    array = np.asarray(value)
    result = copied(value, shape=array.shape)
    np.testing.assert_array_equal(result, array.astype(np.float32))


def test_range_and_whole_numbers_are_not_lost():
    with pytest.raises(
        fluid.InvalidArgument, match=r"must hold numbers in the range of float32, go"
    ):
        copied(np.array([1.0, 1e300]))
    with pytest.raises(fluid.InvalidArgument, match="a number is too large for float32"):
        copied([1.0, 1e300])
    with pytest.raises(fluid.InvalidArgument, match="a whole number has too many digits for float"):
        copied([1, 2**24 + 1])
    with pytest.raises(fluid.InvalidArgument, match="a whole number has too many digits for float"):
        copied([1, 2**53 + 1], "float64")
    with pytest.raises(fluid.InvalidArgument, match="numbers that int16 can hold, got list"):
        copied([1, 2**15], "int16")
    with pytest.raises(
        fluid.InvalidArgument, match="must be int64 as the variable, got uint64; wr"
    ):
        copied(np.array([1, 2], np.uint64), "int64")
    with pytest.raises(fluid.InvalidArgument, match="must be float16 as the variable, got float64"):
        copied(np.array([0.5, 1.0]), "float16")


def test_infinities_and_nan_are_no_loss():
    with pytest.warns(UserWarning, match="rounded"):
        result = copied(np.array([np.inf, np.nan]))
    np.testing.assert_array_equal(result, np.float32([np.inf, np.nan]))


@pytest.mark.parametrize("value", [Fraction(1, 2), 1j, [1, None], {"a": 1}, "1.5"])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(fluid.InvalidArgument, match="feed 'x': must be an array, a Tensor, or num"):
        copied(value)


class Foreign:
    """A tensor of another library."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **settings):
        return self.array.__dlpack__(**settings)

    def __dlpack_device__(self):
        return (1, 0)


def test_tensors_with_strides_and_of_other_element_types_are_fed():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(copied(Foreign(array.T), shape=(3, 2)), array.T)
    np.testing.assert_array_equal(copied(Foreign(array[:, ::2]), shape=(2, 2)), array[:, ::2])
    pixels = np.array([0, 255], np.uint8)
    np.testing.assert_array_equal(copied(Foreign(pixels), shape=(2,)), np.float32([0, 255]))


def test_a_tensor_that_another_library_does_not_hand_over_is_an_error():
    class Kept(Foreign):
        def __dlpack__(self, **settings):
            raise BufferError("use tensor.detach()")

    message = r"feed 'x': must be readable, got use tensor\.detach\(\)"
    with pytest.raises(fluid.InvalidArgument, match=message):
        copied(Kept(np.zeros(2)))


def test_arrays_of_another_byte_order_are_fed():
    np.testing.assert_array_equal(copied(np.array([0.5, 2], ">f4")), np.float32([0.5, 2]))


@pytest.mark.parametrize("label", [np.array([0, 2]), [0, 2], np.array([0, 2], np.uint8)])
def test_labels_without_the_last_extent_of_1_are_fed(label):
    x = layers.data("x", [3])
    y = layers.data("y", [1], dtype="int64")
    loss = layers.softmax_with_cross_entropy(x, y)
    right = layers.accuracy(layers.softmax(x), y)
    feed = {"x": np.array([[9, 0, 0], [0, 9, 0]]), "y": label}
    results = fluid.Executor().run(feed=feed | {"x": feed["x"].tolist()}, fetch_list=[loss, right])
    assert results[0].shape == (2, 1)
    assert results[1] == 0.5


def test_labels_may_be_declared_without_the_last_extent_of_1():
    x = layers.data("x", [3])
    y = layers.data("y", [], dtype="int64")
    losses = [layers.cross_entropy(layers.softmax(x), y), layers.softmax_with_cross_entropy(x, y)]
    right = layers.accuracy(x, y)
    feed = {"x": [[2.0, 0, 0], [0, 2, 0]], "y": [0, 2]}
    first, second, share = fluid.Executor().run(feed=feed, fetch_list=[*losses, right])
    np.testing.assert_allclose(first, second, rtol=1e-5)
    assert first.shape == (2, 1)
    assert share == 0.5


def test_a_number_is_fed_to_a_variable_of_one_element():
    assert copied(3, shape=(1,)).tolist() == [3.0]


def test_other_shapes_that_do_not_fit_are_errors():
    for value in (np.zeros([2, 1, 1], np.float32), np.zeros([3], np.float32)):
        with pytest.raises(fluid.InvalidArgument, match="feed: 'x' must have the shape"):
            copied(value, shape=(2, 1))


def test_a_run_with_the_right_arrays_warns_of_nothing():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        copied(np.float32([1, 2]))
        copied([0.1, 0.2])
    assert told == []
