"""Random numbers are not those of fluidcore, but of the same distribution."""

import numpy as np
import pytest
from runtimes import Array
from saved import RUNTIMES, every_runtime, saved

import fluidcore as fluid
from fluidcore import layers


def drawn(out: fluid.Variable, runtime: str, **feed: Array) -> Array:
    model = saved([out], **feed)
    (numbers,) = RUNTIMES[runtime](model.model, feed)
    assert numbers.shape == model.wanted[0].shape
    assert numbers.dtype == model.wanted[0].dtype
    return numbers


@every_runtime
def test_normal_numbers(runtime: str) -> None:
    numbers = drawn(layers.gaussian_random([4000], mean=2.0, std=0.5, seed=1), runtime)
    assert abs(numbers.mean() - 2) < 0.05
    assert abs(numbers.std() - 0.5) < 0.05


@every_runtime
def test_uniform_numbers_of_a_batch(runtime: str) -> None:
    x = layers.data("x", [1000])
    out = layers.uniform_random_batch_size_like(x, [-1, 1000], min=-1.0, max=3.0, seed=1)
    numbers = drawn(out, runtime, x=np.zeros((4, 1000), np.float32))
    assert -1 <= numbers.min() < -0.9
    assert 2.9 < numbers.max() <= 3


@every_runtime
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_whole_numbers(dtype: str, runtime: str) -> None:
    numbers = drawn(layers.randint(-2, 3, [1000], dtype, seed=1), runtime)
    assert set(numbers.tolist()) == {-2, -1, 0, 1, 2}


@every_runtime
def test_numbers_of_probabilities(runtime: str) -> None:
    x = layers.data("x", [2000])
    p = np.stack([np.full(2000, 0.25, np.float32), np.full(2000, 0.75, np.float32)])
    numbers = drawn(layers.bernoulli(x, seed=1), runtime, x=p)
    assert set(numbers.ravel().tolist()) == {0, 1}
    np.testing.assert_allclose(numbers.mean(axis=1), [0.25, 0.75], atol=0.05)


def test_too_many_whole_numbers_are_refused() -> None:
    out = layers.randint(0, 2**30, [3])
    with pytest.raises(
        fluid.InvalidArgument,
        match=r"^onnx.save: randint: high - low must be at most 16777216 in ONNX, got 1073741824",
    ):
        saved([out])


@every_runtime
def test_dropout_is_as_in_a_test(runtime: str) -> None:
    x = layers.data("x", [3])
    model = saved([layers.dropout(x, 0.25)], x=np.ones((2, 3), np.float32))
    assert model.node_types() == ["Mul"]
    model.agrees(runtime)


@every_runtime
def test_numbers_in_a_random_order(runtime: str) -> None:
    numbers = drawn(layers.randperm(50, seed=1), runtime)
    assert sorted(numbers.tolist()) == list(range(50)) != numbers.tolist()


@every_runtime
@pytest.mark.parametrize("replacement", [False, True])
def test_classes_of_a_distribution(replacement: bool, runtime: str) -> None:
    x = layers.data("x", [4])
    weights = np.tile(np.array([1, 0, 6, 3], np.float32), (3000, 1))
    out = layers.multinomial(x, 2, seed=1, replacement=replacement)
    numbers = drawn(out, runtime, x=weights)
    first = np.bincount(numbers[:, 0], minlength=4) / 3000
    np.testing.assert_allclose(first, [0.1, 0, 0.6, 0.3], atol=0.04)
    # With a 2 drawn, in place of it 0 or 3 in proportion to their weights.
    second = np.bincount(numbers[numbers[:, 0] == 2, 1], minlength=4)
    wanted = [0.1, 0, 0.6, 0.3] if replacement else [0.25, 0, 0, 0.75]
    np.testing.assert_allclose(second / second.sum(), wanted, atol=0.04)
