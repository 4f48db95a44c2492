import numpy as np
import pytest

from fluidcore.gradcheck.adapters.operator import operator_target
from tests.power.bug import Bug, BuggyTarget, Point, distance
from tests.power.generic import SEVERITIES, generic_bugs
from tests.power.left_out import EQUIVALENT
from tests.power.wrong_formulas import formula_bugs

X = np.random.default_rng(3).standard_normal((3, 3)).astype(np.float32)


def tanh_target():
    return operator_target("tanh", {"X": X})


def point(gradient):
    other = np.random.default_rng(4).standard_normal(gradient.shape)
    x = np.full(gradient.shape, 1.5)
    return Point([x], [other], 0, lambda: gradient + 1, lambda: gradient - 1)


def test_there_are_generic_bugs_of_eight_sizes():
    assert len(SEVERITIES) == 8
    assert {bug.severity for bug in generic_bugs()} == set(SEVERITIES)
    names = [bug.name for bug in generic_bugs()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("bug", list(generic_bugs()), ids=lambda bug: bug.name)
def test_a_generic_bug_changes_a_copy_of_the_gradient(bug):
    gradient = np.random.default_rng(5).standard_normal((3, 3))
    before = gradient.copy()
    wrong = bug.change(gradient, point(gradient))
    np.testing.assert_array_equal(gradient, before)
    if wrong is not None:
        assert wrong.shape == gradient.shape
        assert not np.array_equal(wrong, gradient)


@pytest.mark.parametrize("bug", list(generic_bugs()), ids=lambda bug: bug.name)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0), (1, 4)])
def test_a_generic_bug_takes_any_shape(bug, shape):
    gradient = np.ones(shape)
    wrong = bug.change(gradient, point(gradient))
    assert wrong is None or wrong.shape == gradient.shape


def test_a_bug_of_one_size_is_that_large():
    sized = {bug.name: bug for bug in generic_bugs()}
    gradient = np.array([1.0, -4.0, 2.0])
    wrong = sized["one element too large by 0.01"].change(gradient, point(gradient))
    np.testing.assert_allclose(wrong, [1.0, -4.04, 2.0])


@pytest.mark.parametrize("where", ["formula", "kernel"])
def test_a_kernel_bug_leaves_float64_right(where):
    bug = Bug("twice", 1.0, lambda gradient, point: 2 * gradient)
    right, wrong = tanh_target(), BuggyTarget(tanh_target(), bug, 0, where)
    v = np.ones_like(X)
    single = wrong.vjp([X], [v], "float32")[0] / right.vjp([X], [v], "float32")[0]
    x, v = X.astype(np.float64), v.astype(np.float64)
    double = wrong.vjp([x], [v], "float64")[0] / right.vjp([x], [v], "float64")[0]
    np.testing.assert_allclose(single, 2, rtol=1e-6)
    np.testing.assert_allclose(double, 2 if where == "formula" else 1)


def test_a_bug_that_changes_nothing_is_recognized():
    tiny = Bug("tiny", 1e-9, lambda gradient, point: gradient * (1 + 1e-9))
    large = Bug("large", 1e-3, lambda gradient, point: gradient * (1 + 1e-3))
    assert distance(tanh_target(), BuggyTarget(tanh_target(), tiny, 0)) <= EQUIVALENT
    assert distance(tanh_target(), BuggyTarget(tanh_target(), large, 0)) > EQUIVALENT


@pytest.mark.parametrize("op_type", ["abs", "relu", "tanh", "sigmoid", "exp", "square", "erf"])
def test_every_wrong_formula_is_wrong(op_type):
    target = operator_target(op_type, {"X": X})
    bugs = formula_bugs(op_type)
    assert len(bugs) >= 3
    assert [
        bug.name for bug in bugs if distance(target, BuggyTarget(target, bug, 0)) <= EQUIVALENT
    ] == []


def test_an_operator_without_known_mistakes_has_none():
    assert formula_bugs("concat") == []
