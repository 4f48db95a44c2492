"""Calls of a target: on copies, counted, and with what is wrong about them written down."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from targets import NumpyTarget

from fluidcore import core
from fluidcore.gradcheck.target.calls import Calls, cast, flat, size_of
from fluidcore.gradcheck.target.target import Input, Target
from fluidcore.gradcheck.verdict import Reason

X = np.array([[1.0, 2.0, 3.0]])
V = np.array([[1.0, 1.0, 1.0]])


class Raw(Target):
    """Returns whatever it is given."""

    def __init__(self, outputs: Any = None, gradients: Any = None) -> None:
        self.inputs = [Input("x", X)]
        self.who, self.dtype, self.has_shadow = "raw", "float64", True
        self.outputs, self.gradients = outputs, gradients

    def forward(self, xs: Any, dtype: str) -> Any:
        return self.outputs

    def vjp(self, xs: Any, vs: Any, dtype: str) -> Any:
        return self.gradients

    def function(self, dtype: str) -> core.Function:
        raise NotImplementedError


def test_calls_are_counted() -> None:
    calls = Calls(NumpyTarget(np.sin, lambda x, v: v * np.cos(x), [X]))
    assert (calls.forwards, calls.backwards, calls.faults, calls.changed) == (0, 0, {}, [])
    for _ in range(3):
        calls.forward("float64", [X])
    for _ in range(2):
        calls.gradient([V], "float64", [X])
    assert (calls.forwards, calls.backwards, calls.faults, calls.changed) == (3, 2, {}, [])


def test_gradients_are_flat_and_of_float64() -> None:
    (found,) = Calls(Raw(gradients=[X.astype(np.float32)])).gradient([V], "float32", [X])
    assert found.dtype == np.float64
    assert found.tolist() == [1.0, 2.0, 3.0]


def test_what_comes_back_is_a_copy() -> None:
    target = Raw([X], [X])
    calls = Calls(target)
    (y,), (a,) = calls.forward("float64", [X]), calls.gradient([V], "float64", [X])
    assert not np.shares_memory(y, X)
    assert not np.shares_memory(a, X)


def test_arguments_that_are_changed_are_told_once_and_the_given_ones_stay() -> None:
    def f(x, y):
        y += 1
        return x + y

    def vjp(x, y, v):
        x *= 2
        v *= 2
        return v + 0, v + 0

    x, y, v = X.copy(), X.copy(), V.copy()
    calls = Calls(NumpyTarget(f, vjp, [X, X]))
    for _ in range(2):
        calls.forward("float64", [x, y])
        calls.gradient([v], "float64", [x, y])
    assert calls.changed == [
        "f changes its input 'x1'",
        "the gradient changes the input 'x0'",
        "the gradient changes the cotangent of output 0",
    ]
    assert (x == X).all()
    assert (y == X).all()
    assert (v == V).all()


class Shaped:
    """Has one of the two attributes of an array only."""

    def __init__(self, name: str) -> None:
        setattr(self, name, np.dtype("float64") if name == "dtype" else (1, 3))


@pytest.mark.parametrize(
    ("y", "kind"), [(None, "None"), (2.0, "float"), (Shaped("dtype"), "Shaped"), ([1.0], "list")]
)
def test_an_output_must_be_an_array(y: object, kind: str) -> None:
    message = f"raw: output 1 of f must be an array, got {kind}"
    with pytest.raises(TypeError, match=message):
        Calls(Raw([X, y])).forward("float64", [X])


def test_an_output_needs_both_attributes_of_an_array() -> None:
    with pytest.raises(TypeError, match="raw: output 0 of f must be an array, got Shaped"):
        Calls(Raw([Shaped("shape")])).forward("float64", [X])


def test_an_output_must_be_floating() -> None:
    message = "raw: output 0 of f must be floating to be differentiated, got int64"
    with pytest.raises(core.InvalidArgument, match=message):
        Calls(Raw([np.array([1, 2])])).forward("float64", [X])


def test_outputs_come_in_a_list() -> None:
    with pytest.raises(TypeError, match="raw: f must return a list of arrays, got ndarray"):
        Calls(Raw(X)).forward("float64", [X])
    assert len(Calls(Raw((X, X))).forward("float64", [X])) == 2


@pytest.mark.parametrize(
    ("gradients", "reason", "detail"),
    [
        (None, Reason.WRONG_SHAPE, "the gradient must be a list of 1 arrays, got None"),
        (X, Reason.WRONG_SHAPE, "the gradient must be a list of 1 arrays, got ndarray"),
        ([], Reason.WRONG_SHAPE, "the gradient must be a list of 1 arrays, got 0 arrays"),
        ((X, X), Reason.WRONG_SHAPE, "the gradient must be a list of 1 arrays, got 2 arrays"),
        ([None], Reason.WRONG_SHAPE, "the gradient must be an array, got None"),
        ([1.0], Reason.WRONG_SHAPE, "the gradient must be an array, got float"),
        ([Shaped("dtype")], Reason.WRONG_SHAPE, "the gradient must be an array, got Shaped"),
        ([Shaped("shape")], Reason.WRONG_SHAPE, "the gradient must be an array, got Shaped"),
        (
            [X[0]],
            Reason.WRONG_SHAPE,
            "the gradient must have the shape of the input, [1, 3], got [3]",
        ),
        (
            [X.astype(np.float32)],
            Reason.WRONG_DTYPE,
            "the gradient must have the dtype of the input, float64, got float32",
        ),
        (
            [X.astype(np.int64)],
            Reason.WRONG_DTYPE,
            "the gradient must have the dtype of the input, float64, got int64",
        ),
    ],
)
def test_a_gradient_of_another_form_is_a_fault(gradients, reason: Reason, detail: str) -> None:
    calls = Calls(Raw(gradients=gradients))
    (found,) = calls.gradient([V], "float64", [X])
    assert np.isnan(found).all()
    assert found.shape == (3,)
    assert calls.faults == {(0, "float64"): (reason, detail)}


def test_the_first_fault_of_each_input_and_dtype_stays() -> None:
    target = Raw(gradients=[X[0]])
    calls = Calls(target)
    calls.gradient([V], "float64", [X])
    target.gradients = None
    calls.gradient([V], "float64", [X])
    calls.gradient([V], "float32", [X])
    assert "got [3]" in calls.faults[0, "float64"].detail
    assert "got None" in calls.faults[0, "float32"].detail


def test_an_exception_says_who_raised_it_and_where() -> None:
    def f(*xs):
        raise ValueError("bad")

    calls = Calls(NumpyTarget(f, f, [X, X[0]], who="mine"))
    with pytest.raises(ValueError, match="bad") as caught:
        calls.forward("float64", [X, X[0]])
    where = "x0 float64 [1, 3], x1 float64 [3]"
    assert caught.value.__notes__ == [f"mine: raised by f at the inputs {where}"]
    calls = Calls(NumpyTarget(f, f, [X, X[0]], who="mine"))
    with pytest.raises(ValueError, match="bad") as caught:
        calls.gradient([V], "float64", [X, X[0]])
    assert caught.value.__notes__ == [f"mine: raised by the gradient at the inputs {where}"]


def test_the_point_is_cast() -> None:
    (x,) = Calls(Raw()).point("bfloat16")
    assert x.dtype == ml_dtypes.bfloat16
    assert x.tolist() == X.tolist()


def test_a_cast_is_a_row_major_copy_and_does_not_warn() -> None:
    transposed = np.arange(6.0).reshape(2, 3).T
    copy = cast(transposed, "float64")
    assert copy.flags.c_contiguous
    assert not np.shares_memory(copy, transposed)
    assert copy.tolist() == transposed.tolist()
    assert cast(1e300, "float32") == np.inf


def test_all_elements_of_all_arrays_in_a_row() -> None:
    found = flat([X.astype(np.float32), np.array(7.0)])
    assert found.dtype == np.float64
    assert found.tolist() == [1.0, 2.0, 3.0, 7.0]
    assert flat([]).shape == (0,)


def test_the_size_of_an_array_is_its_root_mean_square_or_1() -> None:
    assert size_of(np.array([3.0, -4.0, 0.0, 5.0])) == pytest.approx(12.5**0.5)
    assert size_of(np.array([[300.0]], np.float16)) == 300
    assert size_of(np.zeros((2, 3))) == 1


@pytest.mark.parametrize("size", [3, 5_000])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_bits_are_the_same_or_not_whatever_the_strides(size: int, dtype: Any) -> None:
    a = np.arange(size).astype(dtype)
    a[0] = np.nan
    twice = np.repeat(a, 2)
    assert core.same_bits(a, twice[::2])
    assert core.same_bits(a.reshape(1, -1), np.broadcast_to(a, (1, size)))
    other = a.copy()
    other[-1] = -0.0
    zero = a.copy()
    zero[-1] = 0.0
    assert not core.same_bits(other, zero)
    assert not core.same_bits(a, other)


def test_a_cotangent_may_be_a_scalar_of_numpy() -> None:
    calls = Calls(NumpyTarget(lambda x: x * x, lambda x, v: 2 * x * v, [np.array(3.0)]))
    (found,) = calls.gradient([np.float64(0.5)], "float64")
    assert found == [3.0]
    assert not calls.changed


def test_what_is_flat_is_not_written_to_as_it_may_be_the_users() -> None:
    x = np.ones(3)
    with pytest.raises(ValueError, match="read-only"):
        flat([x])[0] = 2.0
    x[0] = 3.0
    assert flat([x]).tolist() == [3.0, 1.0, 1.0]
