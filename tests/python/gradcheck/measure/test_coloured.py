"""Elements of different rows are moved at once, if the rows really are independent."""

import numpy as np
import pytest
from targets import FUNCTIONS, NumpyTarget, checked

from fluidcore.gradcheck.verdict import Verdict

X = np.random.default_rng(7).standard_normal((500, 6))


def target(name: str, rows: int, dtype: str = "float64", fault=None) -> NumpyTarget:
    f, vjp, _ = FUNCTIONS[name]
    backward = vjp if fault is None else (lambda x, v: fault(vjp(x, v)))
    return NumpyTarget(f, backward, [X], dtype, rows=rows)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    ("name", "rows"), [("tanh", 3000), ("relu", 3000), ("softmax", 500), ("layer_norm", 500)]
)
def test_rows_are_moved_at_once(name: str, rows: int, dtype: str) -> None:
    report = checked(target(name, rows, dtype))
    assert report.verdict is Verdict.PASS
    result = report.results[0]
    assert result.mode == "coloured"
    assert result.num_elements == X.size
    assert result.num_forward < 60 * 3000 / rows + 60


def test_the_wrong_element_is_named() -> None:
    def fault(a):
        a[321, 2] *= 1.0001
        return a

    (result,) = checked(target("softmax", 500, fault=fault)).results
    assert [error.index for error in result.element_errors or ()] == [321 * 6 + 2]


def test_small_inputs_give_the_same_as_one_by_one() -> None:
    f, vjp, _ = FUNCTIONS["tanh"]
    small = NumpyTarget(f, vjp, [X[:10]], rows=60)
    full, coloured = (checked(small, mode=mode).results[0] for mode in ("full", "coloured"))
    assert (full.mode, coloured.mode) == ("full", "coloured")
    assert coloured.resolution == full.resolution
    assert coloured.num_forward < full.num_forward


@pytest.mark.parametrize(("size", "mode"), [(500, "directional"), (20, "full")])
def test_a_false_promise_is_noticed(size: int, mode: str) -> None:
    right = NumpyTarget(
        lambda x: np.cumsum(x, 0), lambda x, v: np.cumsum(v[::-1], 0)[::-1], [X[:size]], rows=size
    )
    (result,) = checked(right, mode="coloured").results
    assert result.mode == mode
    assert result.verdict is Verdict.PASS
    assert "promise" in result.detail


def test_a_gradient_that_believes_the_false_promise_fails() -> None:
    wrong = NumpyTarget(lambda x: np.cumsum(x, 0), lambda x, v: v, [X[:20]], rows=20)
    assert checked(wrong, mode="coloured").verdict is Verdict.FAIL


def test_no_promise_means_one_by_one() -> None:
    f, vjp, _ = FUNCTIONS["tanh"]
    assert checked(NumpyTarget(f, vjp, [X[:3]]), mode="coloured").results[0].mode == "full"
