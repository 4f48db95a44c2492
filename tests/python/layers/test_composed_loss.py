"""Tests of losses and similarities that are made of several operators."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers
from fluidcore.gradcheck import check_grad


def data(name, shape, dtype="float64"):
    variable = layers.data(name, list(shape), dtype=dtype, append_batch_size=False)
    variable.stop_gradient = False
    return variable


def variables(feed):
    return [data(name, value.shape, str(value.dtype)) for name, value in feed.items()]


def run(out, feed):
    return fluid.Executor().run(feed=feed, fetch_list=[out])[0]


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def check(out, feed, *names):
    loss = layers.reduce_sum(layers.square(out))
    program = fluid.default_main_program()
    check_grad(program, feed, list(names), loss.name, max_relative_error=1e-6)


LABELS = np.array([[0.0, 1.0, 0.25], [1.0, 0.0, 1.0]])


@pytest.mark.parametrize("weights", [[], ["weight"], ["pos_weight"], ["weight", "pos_weight"]])
def test_binary_cross_entropy_of_logits(weights):
    given = {"weight": np.array([[0.5], [2.0]]), "pos_weight": np.array([3.0, 0.5, 1.0])}
    feed = {"x": normal(2, 3), "label": LABELS, **{name: given[name] for name in weights}}
    x, label, *rest = variables(feed)
    out = layers.bce_with_logits(x, label, **dict(zip(weights, rest, strict=True)))
    p = 1 / (1 + np.exp(-feed["x"]))
    expected = -feed.get("pos_weight", 1) * LABELS * np.log(p) - (1 - LABELS) * np.log(1 - p)
    np.testing.assert_allclose(run(out, feed), feed.get("weight", 1) * expected, rtol=1e-12)
    check(out, feed, *feed)


def test_binary_cross_entropy_of_logits_does_not_overflow():
    feed = {
        "x": np.array([1000.0, -1000.0, 1000.0, -1000.0], np.float32),
        "label": np.array([0.0, 0.0, 1.0, 1.0], np.float32),
        "pos_weight": np.array([2.0], np.float32),
    }
    x, label, pos_weight = variables(feed)
    out = layers.bce_with_logits(x, label, pos_weight=pos_weight)
    np.testing.assert_array_equal(run(out, feed), [1000, 0, 0, 2000])


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_the_cosine_along_an_axis(axis):
    feed = {"x": normal(2, 3, 4), "y": normal(2, 3, 4, seed=1)}
    out = layers.cosine_similarity(*variables(feed), axis=axis)
    dot = (feed["x"] * feed["y"]).sum(axis)
    lengths = [np.linalg.norm(value, axis=axis) for value in feed.values()]
    np.testing.assert_allclose(run(out, feed), dot / (lengths[0] * lengths[1]), rtol=1e-12)
    check(out, feed, "x", "y")


def test_the_cosine_of_each_vector_and_one():
    feed = {"x": normal(2, 3, 4), "y": normal(4)}
    out = layers.cosine_similarity(*variables(feed), axis=-1)
    expected = feed["x"] @ feed["y"] / np.linalg.norm(feed["x"], axis=-1)
    np.testing.assert_allclose(run(out, feed), expected / np.linalg.norm(feed["y"]), rtol=1e-12)


def test_the_cosine_of_a_vector_of_zeros_is_0_and_its_gradient_is_finite():
    feed = {"x": np.zeros((1, 3)), "y": np.array([[1.0, 2.0, 2.0]])}
    x, y = variables(feed)
    out = layers.cosine_similarity(x, y, eps=0.5)
    (gradient,) = fluid.gradients(out, x)
    np.testing.assert_array_equal(run(out, feed), [0])
    np.testing.assert_allclose(run(gradient, feed), feed["y"] / (3 * 0.5), rtol=1e-12)


def norm(x, p):
    return (np.abs(x) ** p).sum(-1) ** (1 / p)


@pytest.mark.parametrize("p", [1, 2, 3.0])
@pytest.mark.parametrize("swap", [False, True])
def test_the_margin_of_triplets(p, swap):
    feed = {name: normal(12, 4, seed=i) for i, name in enumerate(("a", "p", "n"))}
    out = layers.triplet_margin_loss(*variables(feed), margin=0.5, p=p, eps=0.01, swap=swap)
    anchor, positive, negative = feed.values()
    far = norm(anchor - negative + 0.01, p)
    if swap:
        far = np.minimum(far, norm(positive - negative + 0.01, p))
    expected = np.maximum(norm(anchor - positive + 0.01, p) - far + 0.5, 0)
    assert 0 < (expected > 0).sum() < 12
    np.testing.assert_allclose(run(out, feed), expected, rtol=1e-12)
    check(out, feed, *feed)


def test_the_gradient_of_an_anchor_that_is_its_positive_is_finite():
    feed = {"a": np.zeros((1, 3)), "p": np.zeros((1, 3)), "n": np.full((1, 3), 0.1)}
    anchor, *others = variables(feed)
    (gradient,) = fluid.gradients(layers.triplet_margin_loss(anchor, *others), anchor)
    assert np.isfinite(run(gradient, feed)).all()


def test_bmm_broadcasts_batches():
    feed = {"x": normal(2, 1, 3, 4), "y": normal(5, 4, 2)}
    out = layers.bmm(*variables(feed))
    np.testing.assert_allclose(run(out, feed), feed["x"] @ feed["y"], rtol=1e-12)


def test_slogdet_gives_signs_and_logarithms():
    feed = {"x": normal(4, 3, 3)}
    (x,) = variables(feed)
    sign, out = layers.slogdet(x)
    expected = np.linalg.slogdet(feed["x"])
    np.testing.assert_array_equal(run(sign, feed), expected.sign)
    np.testing.assert_allclose(run(out, feed), expected.logabsdet, rtol=1e-10)
    check(out, feed, "x")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: layers.bmm(x, x), r"bmm: x must have rank 3 or more, got shape \[2, 3\]"),
        (
            lambda x: layers.cosine_similarity(x, x, axis=2),
            r"cosine_similarity: axis must be in \[-2, 2\) for an input of rank 2, got 2",
        ),
        (
            lambda x: layers.cosine_similarity(x, x, eps=0),
            "cosine_similarity: eps must be above 0, got 0",
        ),
        (
            lambda x: layers.triplet_margin_loss(x, x, x, p=0.5),
            "triplet_margin_loss: p must be at least 1, got 0.5",
        ),
    ],
)
def test_an_argument_that_does_not_fit_is_an_error(call, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        call(data("x", [2, 3]))


@pytest.mark.parametrize(
    ("layer", "arguments", "message"),
    [
        ("bce_with_logits", (1, 2), "bce_with_logits: x must be a Variable, got int 1"),
        ("cosine_similarity", (1, 2), "cosine_similarity: x must be a Variable, got int 1"),
        (
            "triplet_margin_loss",
            (None, 2, 3),
            "triplet_margin_loss: anchor must be a Variable, got NoneType None",
        ),
        ("slogdet", (1,), "slogdet: x must be a Variable, got int 1"),
        ("bmm", (1, 2), "bmm: x must be a Variable, got int 1"),
    ],
)
def test_what_is_no_variable_is_an_error(layer, arguments, message):
    with pytest.raises(TypeError, match=f"^{message}$"):
        getattr(layers, layer)(*arguments)
