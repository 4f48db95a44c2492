"""What a tensor is."""

from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import eager
from fluidcore.eager import Tensor


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        ([1.0, 2.0], "float32", (2,)),
        ([[1, 2], [3, 4]], "int64", (2, 2)),
        (2.5, "float32", ()),
        (True, "bool", ()),
        (np.zeros((2, 0)), "float64", (2, 0)),
        (np.float16(3), "float16", ()),
        (np.arange(3, dtype=np.int32), "int32", (3,)),
        ([], "float32", (0,)),
    ],
)
def test_data_has_the_element_type_one_expects(data: Any, dtype: str, shape: Any) -> None:
    tensor = Tensor(data)
    assert (tensor.dtype, tensor.shape) == (dtype, shape)
    assert tensor.ndim == len(shape)
    np.testing.assert_array_equal(tensor.numpy(), np.asarray(data))


def test_the_data_is_copied_and_never_changes() -> None:
    array = np.ones(3)
    tensor = Tensor(array)
    array[0] = 5
    assert tensor.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="read-only"):
        tensor.numpy()[0] = 2
    with pytest.raises(TypeError, match=r"cannot be changed in place; .* x\.set_value"):
        tensor[0] = 2.0
    with pytest.raises(ValueError, match="read-only"):
        (tensor * 2).numpy()[0] = 2


def test_one_element_is_a_number() -> None:
    assert Tensor([2.5]).item() == 2.5
    assert float(Tensor(2.5)) == 2.5
    assert int(Tensor([3])) == 3
    assert bool(Tensor([1.0]) < 2.0)
    with pytest.raises(fluid.InvalidArgument, match=r"item: .* one element, got \[2\]"):
        Tensor([1.0, 2.0]).item()
    with pytest.raises(fluid.InvalidArgument, match="one element"):
        bool(Tensor([1.0, 2.0]) < 2.0)


def test_numpy_reads_a_tensor() -> None:
    tensor = Tensor([[1.0, 2.0]])
    assert np.asarray(tensor).dtype == np.float32
    assert np.asarray(tensor, dtype=np.float64).dtype == np.float64
    assert np.array(tensor).flags.writeable
    assert len(tensor) == 1
    with pytest.raises(TypeError, match="no length"):
        len(Tensor(1.0))


def test_tensors_are_made_from_nothing() -> None:
    assert Tensor.zeros([2, 3]).numpy().sum() == 0
    assert eager.ones([2], dtype="int64").tolist() == [1, 1]
    assert eager.full([2], 0.5, requires_grad=True).requires_grad
    assert Tensor.randn([10, 5]).shape == (10, 5)
    assert eager.randn([2], dtype="bfloat16").dtype == "bfloat16"
    assert 0 <= eager.rand([1]).item() < 1
    assert Tensor.from_vec([1.0, 2.0, 3.0, 4.0], [2, 2]).tolist() == [[1, 2], [3, 4]]
    back = Tensor.randn([2, 3])
    assert Tensor.from_vec(back.to_vec(), back.dims()).tolist() == back.tolist()
    assert (Tensor(2.0).to_vec(), Tensor(2.0).dims()) == ([2.0], [])
    assert eager.from_numpy(np.ones(2)).dtype == "float64"
    with pytest.raises(fluid.InvalidArgument, match=r"from_vec: .* 4 numbers fills \[2, 2\]"):
        Tensor.from_vec([1.0], [2, 2])
    with pytest.raises(TypeError, match="must be an array, got list"):
        eager.from_numpy([1.0])
    with pytest.raises(fluid.InvalidArgument, match="extents must be known"):
        eager.zeros([-1])
    with pytest.raises(fluid.InvalidArgument, match="must be floating, got int64"):
        eager.randn([2], dtype="int64")


def test_only_floating_tensors_require_a_gradient() -> None:
    with pytest.raises(
        fluid.InvalidArgument, match=r"must be floating, got int64; write x.astype\('float32'\)"
    ):
        Tensor([1, 2], requires_grad=True)
    with pytest.raises(fluid.InvalidArgument, match="must be floating, got bool"):
        Tensor([True]).requires_grad = True
    assert Tensor([1.0]).set_requires_grad().requires_grad


def test_what_is_no_data_is_an_error() -> None:
    with pytest.raises(fluid.InvalidArgument, match="the data must be numbers, got str"):
        Tensor("abc")
    with pytest.raises(fluid.InvalidArgument, match="the data must be numbers"):
        Tensor(np.array([1j]))
    with pytest.raises(fluid.InvalidArgument, match="dtype must be one of"):
        Tensor(np.zeros(2, dtype=np.uint8))


def test_repr_is_what_one_wants_to_see() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    assert repr(x) == "Tensor([1., 2.], float32 [2], requires_grad=True)"
    assert repr(x * x) == "Tensor([1., 4.], float32 [2], op=elementwise_mul)"
    assert repr(x.detach()) == "Tensor([1., 2.], float32 [2])"


def test_tensors_are_keys_and_have_operators_among_their_names() -> None:
    x, y = Tensor([1.0]), Tensor([1.0])
    assert {x: 1, y: 2}[x] == 1
    assert {"relu", "softmax", "backward", "shape"} <= set(dir(x))
    assert {"relu", "Tensor"} <= set(dir(eager))
    assert x.relu.func.__doc__.startswith("Out = max(X, 0)")
