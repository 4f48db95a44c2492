"""Gradients of what ran."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import eager
from fluidcore.eager import Tensor, autograd


def leaf(values: Any, dtype: str = "float64") -> Tensor:
    return Tensor(values, dtype=dtype, requires_grad=True)


def gradient(x: Tensor) -> Any:
    assert x.grad is not None
    return x.grad.numpy()


def test_the_gradient_of_several_elements_is_that_of_their_sum() -> None:
    x = leaf([1.0, 2.0, 3.0])
    (x * x).backward()
    np.testing.assert_array_equal(gradient(x), [2, 4, 6])


def test_a_cotangent_may_be_given() -> None:
    x = leaf([1.0, 2.0, 3.0])
    (x * x).backward(np.array([1.0, 0.0, -1.0]))
    np.testing.assert_array_equal(gradient(x), [2, 0, -6])
    x.zero_grad()
    (x * x).backward(Tensor([1.0, 1.0, 1.0], dtype="float64"))
    np.testing.assert_array_equal(gradient(x), [2, 4, 6])
    with pytest.raises(fluid.InvalidArgument, match=r"form of the tensor, float64 \[3\], got"):
        (x * x).backward([1.0])
    with pytest.raises(fluid.InvalidArgument, match=r"got float32 \[3\]"):
        (x * x).backward(np.ones(3, dtype=np.float32))


def test_gradients_add_up_until_they_are_forgotten() -> None:
    x = leaf([3.0])
    y = x * x
    y.backward()
    y.backward()
    np.testing.assert_array_equal(gradient(x), [12])
    x.zero_grad()
    assert x.grad is None
    y.backward()
    np.testing.assert_array_equal(gradient(x), [6])


def test_a_network_of_two_layers() -> None:
    rng = np.random.default_rng(0)
    x, w, v = (leaf(rng.standard_normal(s)) for s in ((4, 3), (3, 5), (5, 2)))
    (x.matmul(w).tanh().matmul(v)).sum().backward()
    h = np.tanh(x.numpy() @ w.numpy())
    dh = (np.ones((4, 2)) @ v.numpy().T) * (1 - h * h)
    np.testing.assert_allclose(gradient(v), h.T @ np.ones((4, 2)))
    np.testing.assert_allclose(gradient(w), x.numpy().T @ dh)
    np.testing.assert_allclose(gradient(x), dh @ w.numpy().T)


def test_a_value_that_is_used_twice_gets_both_gradients() -> None:
    x = leaf([2.0])
    y = x * x
    (y * y + y * x).backward()
    np.testing.assert_allclose(gradient(x), [4 * 8 + 3 * 4])


def test_constants_get_no_gradient() -> None:
    x, c = leaf([2.0]), Tensor([3.0], dtype="float64")
    (x * c + x.detach() * x).backward()
    np.testing.assert_array_equal(gradient(x), [5])
    assert c.grad is None


def test_a_leaf_is_its_own_gradient() -> None:
    x = leaf([2.0, 3.0])
    x.backward()
    np.testing.assert_array_equal(gradient(x), [1, 1])


def test_without_recording_there_is_nothing_to_differentiate() -> None:
    x = leaf([2.0])
    with eager.no_grad():
        y = x * x
    assert y.is_leaf
    assert not y.requires_grad
    with pytest.raises(fluid.InvalidArgument, match="must depend on one that requires a gradient"):
        y.backward()

    @eager.no_grad()
    def square(x: Tensor) -> Tensor:
        return x * x

    assert not square(x).requires_grad
    assert (x * x).requires_grad


def test_comparisons_and_whole_numbers_end_the_recording() -> None:
    x = leaf([2.0])
    assert not (x < 3.0).requires_grad
    assert not x.astype("int64").requires_grad


def test_random_operators_pass_the_gradient_of_what_they_drew() -> None:
    x = Tensor.ones([1000], requires_grad=True)
    y = x.dropout(dropout_prob=0.5)
    y.backward()
    np.testing.assert_array_equal(gradient(x), y.numpy())


def test_the_forward_operators_do_not_run_again() -> None:
    x = leaf([1.0, 2.0])
    y = x.exp().tanh().sum()
    tape = autograd.Tape(y.record, y.position)
    made = autograd.Backward(tape, [0])
    types = [op.type() for op in made._desc.block(0).ops()]
    assert not {"exp", "tanh", "reduce_sum"} & set(types)
    assert {"exp_grad", "tanh_grad"} <= set(types)


def test_another_value_of_a_leaf_changes_nothing_that_was_calculated() -> None:
    x = leaf([2.0])
    y = x * x
    x.set_value([5.0])
    z = x * x
    (y + z).backward()
    np.testing.assert_array_equal(gradient(x), [4 + 10])
    with pytest.raises(fluid.InvalidArgument, match="set_value: the tensor must be a leaf"):
        y.set_value([1.0])
    with pytest.raises(fluid.InvalidArgument, match=r"the shape must stay \[1\], got \[2\]"):
        x.set_value([1.0, 2.0])


def test_gradient_descent_finds_a_minimum() -> None:
    w = leaf([4.0, -3.0])
    for _ in range(50):
        w.zero_grad()
        (w - np.array([1.0, 2.0])).square().sum().backward()
        w.set_value(w.numpy() - 0.2 * gradient(w))
    np.testing.assert_allclose(w.numpy(), [1, 2], atol=1e-9)


def test_equal_programs_share_their_backward_program() -> None:
    x = leaf([1.0, 2.0])
    kept = autograd._kept._by_key
    x.sin().exp().sum().backward()
    size = len(kept)
    last = next(reversed(kept.values()))
    x.zero_grad()
    x.set_value([3.0, 4.0])
    x.sin().exp().sum().backward()
    assert len(kept) == size
    assert next(reversed(kept.values())) is last
    expected = np.cos([3.0, 4.0]) * np.exp(np.sin([3.0, 4.0]))
    np.testing.assert_allclose(gradient(x), expected)
    for n in range(2, 60):
        leaf(np.ones(n)).relu().backward()
    assert len(kept) <= 32


def test_gradients_can_be_asked_for_without_adding_to_grad() -> None:
    x, w, other = leaf([2.0]), leaf([3.0]), leaf([1.0])
    y = x * x * w
    dw, dx, none = eager.grad(y, [w, x, other])
    assert none is None
    assert dx is not None
    assert dw is not None
    assert (dx.item(), dw.item()) == (12.0, 4.0)
    assert x.grad is None
    with pytest.raises(fluid.InvalidArgument, match="inputs must be leaves"):
        eager.grad(y, y)


def test_in_another_precision_gradients_arrive_in_that_of_the_leaf() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    with eager.precision("float64"):
        y = (x * x).sum()
    assert y.dtype == "float64"
    y.backward()
    assert gradient(x).dtype == np.float32
    np.testing.assert_array_equal(gradient(x), [2, 4])


def test_operators_whose_results_are_constants_end_the_recording() -> None:
    found = eager.apply("fill_zeros_like", {"X": leaf([2.0, 1.0])})
    assert not found["Out"].requires_grad


def test_the_tape_is_a_program_that_can_be_run() -> None:
    x, w = leaf(np.ones((2, 3))), Tensor(np.ones((3, 2)))
    y = (x @ w).relu()
    program = eager.tape(y)
    types = [op.type for op in program.global_block().ops]
    assert types == ["matmul", "relu"]
    assert "test_eager_backward.py" in program.global_block().ops[0].call_site
    names = list(program.global_block().vars)
    assert names == ["x_0", "constant_1", "matmul_2", "relu_3"]
    feed = {"x_0": x.numpy(), "constant_1": w.numpy()}
    (result,) = fluid.Executor().run(program, feed=feed, fetch_list=["relu_3"])
    np.testing.assert_array_equal(result, y.numpy())
    with pytest.raises(fluid.InvalidArgument, match="must be the result of an operator"):
        eager.tape(x)


def test_what_no_tensor_needs_is_freed() -> None:
    x = leaf(np.ones(10))
    y = x * 2
    record = y.record

    class Probe:
        pass

    assert record is not None
    arrays = record.outputs[0]
    y.backward()
    probe = weakref.ref(arrays)
    gc.disable()
    try:
        del y, record, arrays
        assert probe() is None  # without the garbage collector: there are no cycles
    finally:
        gc.enable()


def test_a_long_chain_is_recorded_differentiated_and_freed() -> None:
    x = leaf([1.0])
    y = x
    for _ in range(3000):
        y = y + x
    y.backward()
    np.testing.assert_array_equal(gradient(x), [3001])
    for _ in range(50000):
        y = y + 1.0
    del y


def test_requires_grad_of_a_result_cannot_be_taken_back() -> None:
    y = leaf([1.0]) * 2
    with pytest.raises(fluid.InvalidArgument, match=r"only a leaf .* write x.detach\(\)"):
        y.requires_grad = False
    y.requires_grad = True


def test_threads_do_not_disturb_each_other() -> None:
    def work(factor: float) -> Any:
        x = leaf(np.full(50, factor))
        for _ in range(20):
            x.zero_grad()
            (x * x).tanh().sum().backward()
        return gradient(x)

    with ThreadPoolExecutor(4) as pool:
        factors = [0.1 * k for k in range(1, 9)]
        for factor, found in zip(factors, pool.map(work, factors), strict=True):
            expected = 2 * factor / np.cosh(factor**2) ** 2
            np.testing.assert_allclose(found, np.full(50, expected), rtol=1e-12)


def test_in_place_operators_make_new_tensors() -> None:
    x = leaf([1.0, 2.0])
    y = x
    y *= x
    y += 1.0
    assert x.tolist() == [1.0, 2.0]
    y.backward()
    np.testing.assert_array_equal(gradient(x), [2, 4])
