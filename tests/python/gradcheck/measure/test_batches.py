"""Elements that are differentiated by in one run, each in a copy of the point of its own."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numerical import differentiate
from targets import NumpyTarget, checked

from fluidcore.gradcheck.config import GradCheckConfig
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

    def batched(self, k: int, elements: Array, dtype: str) -> Run:
        points = [part.value.astype(dtype) for part in self.inputs]

        def run(zs: Sequence[Array]) -> list[Array]:
            self.batches += 1
            copies = []
            for element, z in zip(elements, zs[0], strict=True):
                moved = points[k].copy()
                moved.flat[element] = z
                copies.append(self.forward([*points[:k], moved, *points[k + 1 :]], dtype))
            return [np.stack(ys) for ys in zip(*copies, strict=True)]

        return run


def test_every_run_is_counted() -> None:
    target = Batched(several, several_vjp, [X, Y])
    session = Session(target, GradCheckConfig())
    found = differentiate(session, 0, "full")
    assert found is not None
    assert session.formula is not None
    assert session.formula.runs_on_copies
    assert found.evaluations == target.batches < 30


@pytest.mark.parametrize(
    ("dtype", "settings", "is_batched"),
    [
        ("float64", {}, True),
        ("float32", {}, True),  # the formula's
        ("float32", {"shadow": "off"}, False),
    ],
)
def test_below_float64_there_are_no_batches(
    dtype: str, settings: dict[str, Any], is_batched: bool
) -> None:
    target = Batched(several, several_vjp, [X, Y], dtype)
    assert checked(target, **settings).verdict is Verdict.PASS
    assert (target.batches > 0) is is_batched


def test_what_raises_beside_the_point_is_looked_at_element_by_element() -> None:
    def root(x: Array) -> Array:
        if (x < 0).any():
            raise ValueError("out of the domain")
        return np.sqrt(x)

    x = np.array([1.0, 1.0, 1e-3])
    target = Batched(root, lambda x, v: v / (2 * np.sqrt(x)), [x])
    assert checked(target).verdict is Verdict.PASS
    assert target.batches > 0


def test_one_wrong_element_in_a_batch_is_named() -> None:
    def vjp(*arguments: Array) -> tuple[Array, Array]:
        a, b = several_vjp(*arguments)
        a[2, 1] *= 1.001
        return a, b

    target = Batched(several, vjp, [X, Y])
    wrong, right = checked(target).results
    assert target.batches > 0
    assert wrong.verdict is Verdict.FAIL
    assert [error.index for error in wrong.element_errors or ()] == [9]
    assert right.verdict is Verdict.PASS
