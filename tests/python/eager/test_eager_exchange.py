"""Tensors of other libraries, handed over by DLPack."""

from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import eager
from fluidcore.eager import Tensor


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3)])
def test_numpy_gets_a_copy(dtype: str, shape: Any) -> None:
    x = Tensor(np.arange(np.prod(shape)).reshape(shape).astype(dtype))
    array = np.from_dlpack(x)
    assert array.dtype == x.dtype
    np.testing.assert_array_equal(array, x.numpy())
    assert not np.shares_memory(array, x.numpy())


def test_memory_that_is_shared_can_only_be_read() -> None:
    x = eager.randn([2, 3])
    array = np.from_dlpack(x, copy=False)
    assert np.shares_memory(array, x.numpy())
    assert not array.flags.writeable
    with pytest.raises(BufferError, match="readonly"):
        x.__dlpack__(copy=False)  # of one who does not know such memory


def test_a_tensor_is_on_the_cpu() -> None:
    x = eager.ones([1])
    assert x.__dlpack_device__() == (1, 0)
    x.__dlpack__(dl_device=(1, 0), max_version=(1, 0), copy=True)
    with pytest.raises(BufferError, match=r"the device must be the CPU, \(1, 0\), got \(2, 0\)"):
        x.__dlpack__(dl_device=(2, 0))


def test_a_tensor_is_made_from_what_has_dlpack() -> None:
    class Foreign:
        def __init__(self, array: np.ndarray) -> None:
            self.array = array

        def __dlpack__(self) -> Any:
            return self.array.__dlpack__()

    array = np.arange(6.0).reshape(2, 3).T
    for source in (array, Foreign(array), Tensor(array)):
        x = eager.from_dlpack(source, requires_grad=True)
        assert (x.tolist(), x.dtype, x.requires_grad) == (array.tolist(), "float64", True)
    array[0] = 9
    assert x.tolist()[0] == [0.0, 3.0]
    assert eager.from_dlpack(eager.ones([2], "bfloat16")).dtype == "bfloat16"
    assert eager.from_dlpack(eager.ones([2]).numpy()).tolist() == [1.0, 1.0]  # read-only


def test_what_cannot_be_taken_is_an_error() -> None:
    with pytest.raises(TypeError) as caught:
        eager.from_dlpack([1.0])
    assert str(caught.value) == (
        "from_dlpack: the argument must have __dlpack__, got list; eager.tensor takes arrays and "
        "lists"
    )
    with pytest.raises(fluid.InvalidArgument, match="dtype must be one of"):
        eager.from_dlpack(np.ones(2, np.uint8))


def test_torch_takes_and_gives() -> None:
    torch = pytest.importorskip("torch")
    x = eager.randn([2, 3])
    taken = torch.from_dlpack(x)
    assert taken.tolist() == x.tolist()
    taken[0] = 0  # its own memory
    assert x.tolist()[0] != [0.0, 0.0, 0.0]
    given = eager.from_dlpack(torch.arange(6).reshape(2, 3).T)
    assert (given.tolist(), given.dtype) == ([[0, 3], [1, 4], [2, 5]], "int64")
    half = eager.from_dlpack(torch.ones(2, dtype=torch.bfloat16))
    assert torch.from_dlpack(half).dtype is torch.bfloat16
    with pytest.raises(BufferError, match="gradient"):
        eager.from_dlpack(torch.ones(2, requires_grad=True))
