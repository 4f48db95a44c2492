"""Notes of the operators that run."""

from threading import Thread

import pytest

import fluidcore as fluid
from fluidcore import eager
from fluidcore.eager import Tensor
from fluidcore.eager.notes import check_known, is_known, noting


def test_operators_are_noted_in_their_order_with_all_that_they_write() -> None:
    x, w = Tensor([1.0, 2.0]), Tensor([3.0, 4.0], requires_grad=True)
    with noting([x.array]) as notes:
        y = (x * w).layer_norm(begin_norm_axis=0)
    assert [note.operation.op_type for note in notes.notes] == ["elementwise_mul", "layer_norm"]
    product, norm = notes.notes
    assert [id(array) for array in product.inputs] == [id(x.array), id(w.array)]
    assert norm.inputs[0] is product.outputs[0]
    assert len(norm.outputs) == 3  # mean and variance, too
    assert id(w.array) in notes.learnt
    y.sum().backward()  # which is recorded as ever
    assert w.grad is not None
    assert "test_eager_notes.py:" in product.site


def test_what_depends_on_the_arrays_is_not_known_inside() -> None:
    x, other = Tensor([1.0]), Tensor([2.0])
    with noting([x.array]):
        y, z = x + other, other * 2
        assert not is_known(x.array)
        assert not is_known(y.array)
        assert not is_known(y.detach().array)
        assert is_known(z.array)
        with pytest.raises(
            fluid.InvalidArgument, match=r"^trace: numpy\(\) must not take the valu"
        ):
            check_known("numpy()", y.array)
    assert y.item() == 3.0
    assert is_known(y.array)


def test_other_threads_are_not_noted() -> None:
    x = Tensor([1.0])
    with noting([x.array]) as notes:
        thread = Thread(target=lambda: eager.relu(x).item())
        thread.start()
        thread.join()
    assert not notes.notes
