"""Tests of layers.nce."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers

RNG = np.random.default_rng(2)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def of_one_class(**settings):
    """The cost where the classes that are drawn are known: there is one only; 3 are drawn."""
    x = layers.data("x", [4], dtype="float64")
    x.stop_gradient = False
    label = layers.data("label", [2], dtype="int64")
    settings = {"num_neg_samples": 3, "param_attr": "w", "bias_attr": "b"} | settings
    return layers.nce(x, label, 1, **settings)


def test_it_is_the_formula_and_its_gradient_is_that_by_differences():
    weights = layers.data("weights", [1], dtype="float64")
    cost = of_one_class(sample_weight=weights)
    assert (cost.shape, cost.dtype) == ((-1, 1), "float64")
    found = fluid.append_backward(layers.reduce_sum(cost), ["x", "w", "b"])
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    held = {name: fluid.global_scope().find_var(name).get_tensor() for name in ("w", "b")}
    held["b"].set(np.array([[0.25]]))
    feed = {
        "x": RNG.normal(size=(5, 4)),
        "label": np.zeros((5, 2), np.int64),
        "weights": RNG.random((5, 1)),
    }

    def expected(x, w, b):
        p, q = sigmoid(x @ w.T + b), 3.0
        return feed["weights"] * (-2 * np.log(p / (p + q)) - 3 * np.log(q / (p + q)))

    at = [feed["x"], np.array(held["w"]), np.array(held["b"])]
    value, *gradients = exe.run(feed=feed, fetch_list=[cost, *(grad for _, grad in found)])
    np.testing.assert_allclose(value, expected(*at), rtol=1e-12)
    for position, gradient in enumerate(gradients):
        numeric = np.zeros_like(at[position])
        for index in np.ndindex(numeric.shape):
            step = np.zeros_like(numeric)
            step[index] = 1e-6
            above = [a + step if i == position else a for i, a in enumerate(at)]
            below = [a - step if i == position else a for i, a in enumerate(at)]
            numeric[index] = (expected(*above) - expected(*below)).sum() / 2e-6
        np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-8)


def test_large_logits_of_true_classes_have_finite_costs():
    cost = of_one_class(bias_attr=False)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    fluid.global_scope().find_var("w").get_tensor().set(np.full((1, 4), 1000.0))
    feed = {"x": np.array([[1.0] * 4, [-1.0] * 4]), "label": np.zeros((2, 2), np.int64)}
    (value,) = exe.run(feed=feed, fetch_list=[cost])
    wanted = [2 * np.log(4) + 3 * np.log(4 / 3), 2 * 4000 + 2 * np.log(3)]
    np.testing.assert_allclose(value[:, 0], wanted, rtol=1e-12)


def test_a_network_learns_which_class_is_true():
    rng = np.random.default_rng(0)
    x = layers.data("x", [16])
    label = layers.data("label", [1], dtype="int64")
    cost = layers.nce(x, label, 6, num_neg_samples=6, param_attr="w", bias_attr="b")
    loss = layers.mean(cost)
    fluid.optimizer.Adam(0.05).minimize(loss)
    fluid.default_main_program().random_seed = fluid.default_startup_program().random_seed = 1
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    centres = rng.normal(size=(6, 16)).astype(np.float32)
    for _ in range(200):
        labels = rng.integers(6, size=(64, 1))
        exe.run(feed={"x": centres[labels[:, 0]], "label": labels})
    scope = fluid.global_scope()
    w, b = (np.array(scope.find_var(name).get_tensor()) for name in ("w", "b"))
    assert (centres @ w.T + b[:, 0]).argmax(axis=1).tolist() == list(range(6))


def test_ten_classes_are_drawn_unless_told_otherwise():
    x = layers.data("x", [3])
    layers.nce(x, layers.data("label", [1], dtype="int32"), 5, param_attr="w", bias_attr=False)
    ops = fluid.default_main_program().global_block().ops
    (draw,) = [op for op in ops if op.type == "randint_batch_size_like"]
    assert draw.attr("shape") == [1, 10]
    assert [p.name for p in fluid.default_main_program().all_parameters()] == ["w"]


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"num_total_classes": 0}, "nce: num_total_classes must be a whole number of at least 1"),
        ({"num_neg_samples": 0}, "nce: num_neg_samples must be a whole number of at least 1"),
        ({"label": "flat"}, r"nce: label must be \[n, true classes\], got Variable"),
        ({"input": "label"}, r"nce: input must be floating \[n, width\], got Variable"),
    ],
)
def test_wrong_arguments_are_errors_that_leave_nothing(settings, text):
    variables = {
        "x": layers.data("x", [3]),
        "label": layers.data("label", [1], dtype="int64"),
        "flat": layers.data("flat", [], dtype="int64"),
    }
    settings = {"input": "x", "label": "label", "num_total_classes": 5} | settings
    given = {name: variables.get(value, value) for name, value in settings.items()}
    with pytest.raises(fluid.InvalidArgument, match=text):
        layers.nce(**given)
    assert fluid.default_main_program().global_block().ops == ()
