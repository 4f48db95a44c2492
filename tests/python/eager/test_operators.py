"""Operators on tensors, run at once."""

from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import eager
from fluidcore.base.dtypes import numpy_dtype
from fluidcore.eager import Tensor

X = np.array([[1.0, -2.0, 3.0], [0.5, 0.25, -1.0]], dtype=np.float32)
Y = np.array([2.0, 0.5, -1.0], dtype=np.float32)


@pytest.mark.parametrize(
    ("of_tensors", "of_arrays"),
    [
        (lambda x, y: x + y, lambda x, y: x + y),
        (lambda x, y: x - y, lambda x, y: x - y),
        (lambda x, y: x * y, lambda x, y: x * y),
        (lambda x, y: x / y, lambda x, y: x / y),
        (lambda x, y: x.abs() ** y, lambda x, y: np.abs(x) ** y),
        (lambda x, y: -x, lambda x, y: -x),
        (lambda x, y: x @ x.T, lambda x, y: x @ x.T),
        (lambda x, y: x < y, lambda x, y: x < y),
        (lambda x, y: x <= y, lambda x, y: x <= y),
        (lambda x, y: x > y, lambda x, y: x > y),
        (lambda x, y: x >= y, lambda x, y: x >= y),
        (lambda x, y: 2 + x, lambda x, y: 2 + x),
        (lambda x, y: 2.5 - x, lambda x, y: 2.5 - x),
        (lambda x, y: x * 3, lambda x, y: x * 3),
        (lambda x, y: 1 / x, lambda x, y: 1 / x),
        (lambda x, y: x // y, lambda x, y: x // y),
        (lambda x, y: 1 // x, lambda x, y: 1 // x),
        (lambda x, y: x % y, lambda x, y: x % y),
        (lambda x, y: 2.5 % x, lambda x, y: 2.5 % x),
        (lambda x, y: x % Y, lambda x, y: x % y),
        (lambda x, y: 2.0**x, lambda x, y: 2.0**x),
        (lambda x, y: x.add(y).sub(1.0).mul(y).div(2.0), lambda x, y: (x + y - 1) * y / 2),
        (lambda x, y: x.pow(2), lambda x, y: x**2),
        (lambda x, y: x + Y, lambda x, y: x + y),
        (lambda x, y: X - y, lambda x, y: x - y),
        (lambda x, y: np.float32(2) * x, lambda x, y: 2 * x),
        (lambda x, y: x.matmul(x, transpose_y=True), lambda x, y: x @ x.T),
        (lambda x, y: X @ x.T, lambda x, y: x @ x.T),
    ],
)
def test_the_operators_of_python_are_those_of_numpy(of_tensors: Any, of_arrays: Any) -> None:
    result = of_tensors(Tensor(X), Tensor(Y))
    np.testing.assert_allclose(result.numpy(), of_arrays(X, Y), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_whole_numbers_are_divided_as_in_numpy(dtype: str) -> None:
    x, y = np.array([7, -7, 6], dtype), np.array([2, 2, -4], dtype)
    s, t = Tensor(x), Tensor(y)
    for quotient in (s / t, s / y, s.div(t), s / Tensor(y.astype(np.float32)), s / t.numpy()):
        assert quotient.dtype == "float32"
        np.testing.assert_array_equal(quotient.numpy(), x / y)
    np.testing.assert_array_equal((s / 2).numpy(), x / 2)
    np.testing.assert_array_equal((s / 2.5).numpy(), (x / 2.5).astype(np.float32))
    np.testing.assert_array_equal((3 / t).numpy(), 3 / y)
    np.testing.assert_array_equal((y / s).numpy(), (y / x).astype(np.float32))
    assert (s / y.astype(np.float64)).dtype == "float64"
    for rounded, want in ((s // t, x // y), (s // 2, x // 2), (-7 // t, -7 // y), (x // t, x // y)):
        assert rounded.dtype == dtype
        np.testing.assert_array_equal(rounded.numpy(), want)
    for left, want in ((s % t, x % y), (s % 4, x % 4), (-7 % t, -7 % y), (x % t, x % y)):
        assert left.dtype == dtype
        np.testing.assert_array_equal(left.numpy(), want)


@pytest.mark.parametrize(
    ("of_tensor", "of_array"),
    [
        (lambda x: x.sum(), lambda x: x.sum().reshape(1)),
        (lambda x: x.sum(1), lambda x: x.sum(1)),
        (lambda x: x.mean(dim=0, keep_dim=True), lambda x: x.mean(0, keepdims=True)),
        (lambda x: x.max(1), lambda x: x.max(1)),
        (lambda x: x.sum([0, 1]), lambda x: x.sum().reshape(1)),
        (lambda x: x.max(dim=(1, 0), keep_dim=True), lambda x: x.max(keepdims=True)),
        (lambda x: x.reshape(3, 2), lambda x: x.reshape(3, 2)),
        (lambda x: x.reshape([-1]), lambda x: x.reshape(-1)),
        (lambda x: x.transpose(1, 0), lambda x: x.T),
        (lambda x: x.transpose(), lambda x: x.T),
        (lambda x: x.relu(), lambda x: np.maximum(x, 0)),
        (lambda x: eager.tanh(x), np.tanh),
        (lambda x: x.exp().log(), lambda x: x),
        (lambda x: x.square().sqrt(), np.abs),
        (lambda x: x.sin(), np.sin),
        (lambda x: x.scale(scale=2.0), lambda x: 2 * x),
        (lambda x: eager.reduce_sum(x), lambda x: x.sum(keepdims=True)[0]),
        (lambda x: eager.reduce_max(x, dim=None), lambda x: x.max(keepdims=True)[0]),
        (lambda x: eager.reduce_mean(x, 1, True), lambda x: x.mean(1, keepdims=True)),
        (lambda x: eager.reduce_prod(x, reduce_all=False), lambda x: x.prod(0)),
        (lambda x: eager.reduce_min(x, [0], reduce_all=True), lambda x: x.min(keepdims=True)[0]),
        (lambda x: eager.logsumexp(x, -1), lambda x: np.log(np.exp(x).sum(-1))),
        (lambda x: eager.concat([x, x], axis=1), lambda x: np.concatenate([x, x], 1)),
        (lambda x: eager.split(x, 3, dim=1)[1], lambda x: x[:, 1:2]),
        (lambda x: eager.split(x, [1, 2], dim=1)[1], lambda x: x[:, 1:]),
        (lambda x: x.astype("float64"), lambda x: x.astype(np.float64)),
        (lambda x: x.astype("int64"), lambda x: x.astype(np.int64)),
    ],
)
def test_methods_and_functions_apply_operators(of_tensor: Any, of_array: Any) -> None:
    result = of_tensor(Tensor(X))
    expected = of_array(X)
    assert result.shape == expected.shape
    assert result.dtype == expected.dtype.name
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_every_floating_element_type_keeps_its_type(dtype: str) -> None:
    x = Tensor([1.0, 2.0], dtype=dtype, requires_grad=True)
    y = (x * 0.5 + 1).relu()
    assert y.dtype == dtype
    y.backward()
    assert x.grad is not None
    assert x.grad.dtype == dtype
    np.testing.assert_array_equal(x.grad.numpy(), np.full(2, 0.5, numpy_dtype(dtype)))


def test_an_operator_with_several_results_is_applied_by_its_slots() -> None:
    found = eager.apply("top_k", {"X": Tensor(X)}, {"k": 1})
    assert list(found) == ["Out", "Indices"]
    np.testing.assert_array_equal(found["Indices"].numpy(), [[2], [0]])


def test_what_an_operator_does_not_accept_is_its_own_error_with_the_users_line() -> None:
    x = Tensor(X, requires_grad=True)
    with pytest.raises(fluid.InvalidArgument, match="matmul: columns of X must equal") as caught:
        x.matmul(x)
    assert any("test_operators.py" in note for note in caught.value.__notes__)
    assert any("x.matmul(x)" in note for note in caught.value.__notes__)
    with pytest.raises(fluid.InvalidArgument, match="elementwise_add"):
        x + Tensor(X, dtype="float64")
    y = x * 2  # what failed left nothing behind
    assert len(eager.tape(y).global_block().ops) == 1


def test_an_error_while_running_has_the_line_of_that_call() -> None:
    table = Tensor(X)
    good, bad = Tensor([[1]]), Tensor([[7]])
    eager.lookup_table(table, good)
    with pytest.raises(fluid.Error) as caught:
        eager.lookup_table(table, bad)
    assert any("lookup_table(table, bad)" in note for note in caught.value.__notes__)


def test_wrong_arguments_are_named() -> None:
    x = Tensor(X)
    with pytest.raises(TypeError, match=r"relu\(\) takes x by position, got 2 arguments"):
        x.relu(x)
    with pytest.raises(TypeError, match=r"gelu\(\) takes x, approximate, got 'approx' too"):
        x.gelu(approx=True)
    with pytest.raises(TypeError, match=r"expand\(\) must be given expand_times"):
        x.expand()
    with pytest.raises(AttributeError, match="no attribute or operator 'reluu'"):
        x.reluu()
    with pytest.raises(AttributeError, match="no operator 'reluu'"):
        eager.reluu(x)
    with pytest.raises(TypeError, match="relu: inputs must be Tensors, arrays or numbers, got str"):
        eager.relu("x")
    with pytest.raises(TypeError):
        x + "x"
    with pytest.raises(fluid.InvalidArgument, match=r"int64 must be whole, got 0\.5"):
        Tensor([1, 2]) + 0.5


def test_random_operators_draw_new_numbers_until_the_seed_is_set_again() -> None:
    x = Tensor.ones([1000])
    eager.seed(5)
    first, second = x.dropout(dropout_prob=0.5), x.dropout(dropout_prob=0.5)
    numbers = Tensor.randn([3])
    assert (first.numpy() != second.numpy()).any()
    assert 0.4 < first.numpy().mean() < 0.6
    eager.seed(5)
    np.testing.assert_array_equal(x.dropout(dropout_prob=0.5).numpy(), first.numpy())
    x.dropout(dropout_prob=0.5)
    np.testing.assert_array_equal(Tensor.randn([3]).numpy(), numbers.numpy())
    with pytest.raises(fluid.InvalidArgument, match="seed must be a whole number"):
        eager.seed(-1)


def test_a_seed_of_the_users_own_gives_the_same_numbers() -> None:
    x = Tensor.ones([100])
    a, b = (x.dropout(dropout_prob=0.5, fix_seed=True, seed=7) for _ in range(2))
    np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_a_function_runs_in_the_precision_asked_for() -> None:
    x, w = Tensor(X), Tensor(X.T)
    with eager.precision("float64"):
        y = (x @ w).exp() + eager.ones([2, 2])
    assert y.dtype == "float64"
    exact = np.exp(X.astype(np.float64) @ X.T.astype(np.float64)) + 1
    np.testing.assert_allclose(y.numpy(), exact, rtol=1e-14)
    with eager.precision("float64"):
        assert (x.astype("float16") * 2).dtype == "float64"
        assert x.astype("int32").dtype == "int32"
    with (
        pytest.raises(fluid.InvalidArgument, match="the dtype must be floating, got int64"),
        eager.precision("int64"),
    ):
        pass


def test_numbers_may_stay_those_of_another_precision() -> None:
    x = Tensor([1.0])
    with eager.precision("float64", numbers="float32"):
        assert (x * 0.1).item() == float(np.float32(0.1))
        assert x.scale(scale=0.1).item() == float(np.float32(0.1))
    with eager.precision("float64", numbers="float16"):
        assert (x * 0.1).item() == float(np.float16(0.1))
    with eager.precision("float64"):
        assert (x * 0.1).item() == 0.1


def test_an_operator_with_several_results_gives_a_tuple() -> None:
    x = Tensor([[3.0, 1.0, 2.0]], requires_grad=True)
    values, positions = x.top_k(k=2)
    assert values.tolist() == [[3, 2]]
    assert positions.tolist() == [[0, 2]]
    values.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[1, 0, 1]]
    assert [part.tolist() for part in eager.unstack(x, 1)] == [[3], [1], [2]]
    with pytest.raises(fluid.InvalidArgument, match=r"^unstack: axis must be in \[-2, 2\)"):
        eager.unstack(x, 2)


@pytest.mark.parametrize("sections", [0, -1, []])
def test_a_tensor_is_split_into_one_part_or_more(sections: Any) -> None:
    with pytest.raises(fluid.InvalidArgument, match="split: there must be at least one part, got"):
        eager.split(Tensor(X), sections)


def test_along_nothing_there_are_no_slices() -> None:
    assert eager.unstack(Tensor(X[:0])) == []
    with pytest.raises(fluid.InvalidArgument, match="unstack: axis"):
        eager.unstack(Tensor(X[:0]), 2)


def test_an_attribute_is_not_none() -> None:
    with pytest.raises(fluid.InvalidArgument, match="got None; leave it out if it has a default"):
        eager.one_hot(Tensor(np.array([[1]])), depth=None)
