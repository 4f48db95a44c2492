"""Elements that are differentiated by in one run, each in a copy of the point of its own."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from targets import NumpyTarget, checked

from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.measure import batches
from fluidcore.gradcheck.measure.batches import batch_size, differentiate_batch
from fluidcore.gradcheck.measure.modes import Numerical, differentiate
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.target.target import Array, Run
from fluidcore.gradcheck.verdict import Verdict

RANDOM = np.random.default_rng(5)
X, Y = RANDOM.uniform(0.5, 2, (3, 4)), RANDOM.uniform(0.5, 2, (4, 2))


def several(x: Array, y: Array) -> tuple[Array, ...]:
    return np.exp(x) @ y, np.sum(x) * np.sum(y), x[0] ** 3


def several_vjp(x: Array, y: Array, v: Array, s: Array, w: Array) -> tuple[Array, Array]:
    a = np.exp(x) * (v @ y.T) + s * np.sum(y)
    a[0] += 3 * x[0] ** 2 * w
    return a, np.exp(x).T @ v + s * np.sum(x)


class Batched(NumpyTarget):
    """Runs one copy after the other, and counts."""

    batches = 0
    change: Callable[[Array], Array] = staticmethod(lambda y: y)

    def batched(self, k: int, elements: Array, dtype: str) -> Run:
        points = [part.value.astype(dtype) for part in self.inputs]

        def run(zs: Sequence[Array]) -> list[Array]:
            self.batches += 1
            copies = []
            for element, z in zip(elements, zs[0], strict=True):
                moved = points[k].copy()
                moved.flat[element] = z
                copies.append(self.forward([*points[:k], moved, *points[k + 1 :]], dtype))
            return [self.change(np.stack(ys)) for ys in zip(*copies, strict=True)]

        return run


def session(dtype: str = "float64", change: Any = None, **settings: Any) -> Session:
    target = Batched(several, several_vjp, [X, Y], dtype)
    if change is not None:
        target.change = change
    return Session(target, GradCheckConfig(**settings))


def full(one: Session, k: int, noise: Array | None = None) -> Numerical:
    found = differentiate(one, k, "full", noise)
    assert found is not None
    return found


def alone(k: int, noise: Array | None = None, **settings: Any) -> Numerical:
    one = session(**settings)
    one.has_batches = False
    return full(one, k, noise)


@pytest.mark.parametrize("k", [0, 1])
@pytest.mark.parametrize("settings", [{}, {"subset": 5}, {"cotangents": 3}])
@pytest.mark.parametrize("noise", [None, np.geomspace(1e-14, 1e-6, 11)])
def test_batches_find_what_is_found_element_by_element(k, settings, noise) -> None:
    one = session(**settings)
    together, apart = full(one, k, noise), alone(k, noise, **settings)
    np.testing.assert_array_equal(together.elements, apart.elements)
    np.testing.assert_array_equal(together.reference.flags, apart.reference.flags)
    for ours, theirs in zip(together.reference.numbers, apart.reference.numbers, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-11)
    assert one.has_batches
    assert together.evaluations < 30 < apart.evaluations


def test_every_run_is_counted() -> None:
    one = session()
    before = one.calls.forwards
    found = full(one, 0)
    assert isinstance(one.target, Batched)
    assert one.calls.forwards - before == one.target.batches == found.evaluations


def test_large_inputs_are_cut_into_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = X.size + 6 + 1 + 4
    monkeypatch.setattr(batches, "_NUMBERS", 5 * numbers + 1)
    one = session()
    assert batch_size(one, 0, X.size) == 5
    found = full(one, 0)
    assert isinstance(one.target, Batched)
    assert 3 * 7 <= one.target.batches <= 3 * 12
    np.testing.assert_allclose(found.reference.value, alone(0).reference.value, rtol=1e-9)
    monkeypatch.setattr(batches, "_NUMBERS", numbers - 1)
    assert batch_size(one, 0, X.size) == 0


def test_below_float64_there_are_no_batches() -> None:
    assert batch_size(session("float32", shadow="off"), 0, X.size) == 0
    assert batch_size(session("float32"), 0, X.size) > 0  # the formula's


def test_elements_that_are_too_few_for_a_batch_are_moved_one_by_one() -> None:
    one = session()
    one.target.smallest_batch = Y.size + 1
    assert batch_size(one, 1, Y.size) == 0
    assert full(one, 1).evaluations > 5 * Y.size
    assert batch_size(one, 0, X.size) > 0


def refused(y: Array) -> Array:
    raise RuntimeError("no rule for batches")


@pytest.mark.parametrize(
    "change",
    [
        refused,
        lambda y: y * (1 + 2.0**-38),
        lambda y: y[..., None],
        lambda y: np.full_like(y, np.nan),
    ],
    ids=["refused", "another function", "other shapes", "not finite"],
)
def test_a_function_that_is_not_the_same_on_a_batch_is_not_run_on_one_again(change) -> None:
    one = session(change=change)
    assert differentiate_batch(one, 0, np.arange(4), None) is None
    assert batch_size(one, 0, X.size) == 0
    np.testing.assert_array_equal(full(one, 0).reference.value, alone(0).reference.value)


def test_the_order_of_a_sum_may_differ_on_a_batch() -> None:
    one = session(change=lambda y: y * (1 + 2.0**-43))
    assert differentiate_batch(one, 0, np.arange(4), None) is not None
    assert one.has_batches


def test_what_raises_beside_the_point_is_looked_at_element_by_element() -> None:
    def root(x: Array) -> Array:
        if (x < 0).any():
            raise ValueError("out of the domain")
        return np.sqrt(x)

    target = Batched(root, lambda x, v: v / (2 * np.sqrt(x)), [np.array([1.0, 1.0, 1e-3])])
    one = Session(target, GradCheckConfig())
    assert differentiate_batch(one, 0, np.arange(3), None) is None
    assert one.has_batches
    assert checked(target).verdict is Verdict.PASS


def test_one_wrong_element_among_several_batches_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_NUMBERS", 100)

    def vjp(*arguments: Array) -> tuple[Array, Array]:
        a, b = several_vjp(*arguments)
        a[2, 1] *= 1.001
        return a, b

    wrong, right = checked(Batched(several, vjp, [X, Y])).results
    assert wrong.verdict is Verdict.FAIL
    assert [error.index for error in wrong.element_errors or ()] == [9]
    assert right.verdict is Verdict.PASS
