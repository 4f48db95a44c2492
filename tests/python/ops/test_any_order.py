"""Gradients of gradients: of which operators, of which order, and how they are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from op_data import distinct, normal, positive
from op_runner import Array

import fluidcore as fluid
from fluidcore import core, layers
from fluidcore.gradcheck import check_grad
from fluidcore.program import Variable

GRADIENT_OPERATORS = [name for name in core.op_types() if name.endswith("_grad")]


@pytest.mark.parametrize("op_type", GRADIENT_OPERATORS)
def test_every_gradient_operator_has_a_gradient(op_type: str) -> None:
    assert core.op_def(op_type).has_grad


def test_operators_that_draw_random_numbers_say_so() -> None:
    random = {name for name in core.op_types() if core.op_def(name).is_random}
    assert random >= {"dropout", "gaussian_random", "uniform_random"}
    assert "dropout_grad" not in random


def data(name: str, shape: Sequence[int], dtype: str = "float64") -> Variable:
    variable = layers.data(name, list(shape), dtype=dtype, append_batch_size=False)
    variable.stop_gradient = False
    return variable


def run(values: dict[str, Array], *fetches: Variable | None) -> list[Array]:
    return fluid.Executor().run(feed=values, fetch_list=list(fetches))


def power_of(matrix: Variable) -> Variable:
    squared = layers.matmul(matrix, matrix)
    return layers.matmul(squared, squared)


SMOOTH: dict[str, tuple[Callable[..., Variable], list[Array]]] = {
    "exp": (layers.exp, [normal(3, 2)]),
    "log": (layers.log, [positive(3, 2)]),
    "sin": (layers.sin, [normal(3, 2)]),
    "cos": (layers.cos, [normal(3, 2)]),
    "sqrt": (layers.sqrt, [positive(3, 2)]),
    "square": (lambda x: layers.square(layers.square(x)), [normal(3, 2)]),
    "tanh": (layers.tanh, [normal(3, 2)]),
    "sigmoid": (layers.sigmoid, [normal(3, 2)]),
    "erf": (layers.erf, [normal(3, 2)]),
    "gelu": (layers.gelu, [normal(3, 2)]),
    "gelu, approximated": (lambda x: layers.gelu(x, approximate=True), [normal(3, 2)]),
    "softmax": (layers.softmax, [normal(3, 4)]),
    "product": (lambda x, y: layers.square(layers.square(x * y)), [normal(2, 3, 2), normal(3, 1)]),
    "quotient": (lambda x, y: x / (x * y + 1.0), [positive(2, 3), positive(3)]),
    "power": (lambda x, y: x**y, [positive(2, 3), normal(3)]),
    "sums over several dimensions": (
        lambda x: layers.exp(layers.reduce_sum(layers.square(x), dim=[0, 2])),
        [0.3 * normal(2, 2, 3)],
    ),
    "means over several dimensions": (
        lambda x: layers.square(x - layers.reduce_mean(layers.exp(x), dim=[-1, 0], keep_dim=True)),
        [normal(2, 2, 3)],
    ),
    "solutions of repeated matrices": (
        lambda x, y: layers.exp(0.3 * layers.triangular_solve(x, y)),
        [normal(2, 2) + 3 * np.eye(2), normal(2, 2, 1)],
    ),
    "elements of a repeated tensor": (
        lambda x: layers.exp(layers.take_along_axis(x, layers.assign(np.array([[0, 1, 1]])), 1)),
        [0.3 * normal(2, 2)],
    ),
    "matrix product": (lambda x, y: power_of(layers.matmul(x, y)), 2 * [normal(2, 2)]),
}


@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_of_high_order(name: str, order: int) -> None:
    function, arrays = SMOOTH[name]
    inputs = [data(f"x{i}", array.shape) for i, array in enumerate(arrays)]
    values: dict[str, Any] = {x.name: a for x, a in zip(inputs, arrays, strict=True)}
    result: Variable | None = function(*inputs)
    for i in range(order - 1):
        assert result is not None
        weights = data(f"weights{i}", result.shape)
        values[weights.name] = normal(*result.shape, seed=i)
        (result,) = fluid.gradients(result, inputs[i % len(inputs)], weights)
    assert result is not None
    program = fluid.default_main_program()
    check_grad(program, values, [x.name for x in inputs], result.name, max_relative_error=1e-5)


def test_the_second_derivative_of_a_loss_that_reads_softmax_and_loss() -> None:
    x = data("x", [3, 4])
    label = layers.data("label", [3, 1], dtype="int64", append_batch_size=False)
    block = x.block
    softmax, loss = (block.create_var(name=name) for name in ("softmax", "loss"))
    block.append_op(
        type="softmax_with_cross_entropy",
        inputs={"Logits": x, "Label": label},
        outputs={"Softmax": softmax, "Loss": loss},
    )
    total = layers.reduce_sum(loss * loss) + layers.reduce_sum(softmax * softmax)
    (gradient,) = fluid.gradients(total, x)
    assert gradient is not None
    values = {"x": normal(3, 4), "label": np.array([[1], [0], [3]])}
    program = fluid.default_main_program()
    check_grad(program, values, ["x"], total.name, max_relative_error=1e-6)
    check_grad(program, values, ["x"], gradient.name, max_relative_error=1e-6)


def test_the_derivatives_of_a_power_at_zero_are_those_of_the_polynomial() -> None:
    x = data("x", [3])
    exponents = layers.data("k", [4, 1], dtype="float64", append_batch_size=False)
    values = {"x": np.array([0.0, 1.0, -2.0]), "k": np.array([[0.0], [1.0], [2.0], [3.0]])}
    first, second, third = _three_derivatives(x**exponents, x)
    for result, want in zip(
        run(values, first, second, third),
        ([1, 6, 9], [2, 8, -10], [6, 6, 6]),  # of 1 + x + x^2 + x^3
        strict=True,
    ):
        np.testing.assert_allclose(result, want, rtol=1e-14)


def _three_derivatives(y: Variable, x: Variable) -> list[Variable]:
    result = []
    for _ in range(3):
        (derivative,) = fluid.gradients(y, x)
        assert derivative is not None
        result.append(derivative)
        y = derivative
    return result


def test_a_probability_of_zero_does_not_spoil_the_second_derivative() -> None:
    x = data("x", [1, 3])
    label = layers.data("label", [1, 1], dtype="int64", append_batch_size=False)
    (first,) = fluid.gradients(layers.cross_entropy(x, label), x)
    assert first is not None
    (second,) = fluid.gradients(first, x)
    values = {"x": np.array([[0.0, 0.5, 0.5]]), "label": np.array([[1]])}
    np.testing.assert_allclose(run(values, second)[0], [[0, 4, 0]], rtol=1e-14)


def test_the_gradient_of_the_gradient_of_max_pooling_takes_the_first_maximum() -> None:
    x = data("x", [1, 1, 2, 3])
    pooled = layers.pool2d(x, pool_size=[2, 2], pool_type="max")
    cotangent = data("cotangent", pooled.shape)
    (gradient,) = fluid.gradients(pooled, x, cotangent)
    assert gradient is not None
    weights = data("weights", x.shape)
    (picked,) = fluid.gradients(gradient, cotangent, weights)
    values = {
        "x": np.array([[[[1.0, 7.0, 7.0], [7.0, 2.0, 9.0]]]]),
        "cotangent": np.ones((1, 1, 1, 2)),
        "weights": np.arange(6.0).reshape(1, 1, 2, 3),
    }
    np.testing.assert_array_equal(run(values, picked)[0], [[[[1.0, 5.0]]]])


def test_a_max_has_no_second_derivative() -> None:
    x, y = data("x", [3, 4]), data("y", [4])
    (gradient,) = fluid.gradients(layers.reduce_max(layers.elementwise_max(x, y), dim=1), y)
    assert gradient is not None
    values = {"x": distinct(3, 4), "y": distinct(4, seed=1) + 0.01}
    second = fluid.gradients(gradient, [x, y])
    for result in second:
        assert result is None or not run(values, result)[0].any()


def test_integer_inputs_have_no_second_derivative() -> None:
    table = data("table", [5, 2])
    ids = layers.data("ids", [3, 1], dtype="int64", append_batch_size=False)
    rows = layers.data("rows", [3, 2], dtype="float64", append_batch_size=False)
    block = table.block
    out = block.create_var(name="out")
    block.append_op(type="lookup_table", inputs={"W": table, "Ids": ids}, outputs={"Out": out})
    (gradient,) = fluid.gradients(out, table, layers.square(out) * rows)
    assert gradient is not None
    values = {"table": normal(5, 2), "ids": np.array([[1], [4], [1]]), "rows": normal(3, 2)}
    program = fluid.default_main_program()
    check_grad(program, values, ["table"], gradient.name, max_relative_error=1e-6)


def test_the_operators_of_a_second_derivative_are_named_after_the_gradient() -> None:
    x = data("x", [2])
    y = layers.tanh(x)
    (first,) = fluid.gradients(y, x)
    assert first is not None
    start = len(x.block.ops)
    fluid.gradients(first, x)
    written = [name for op in x.block.ops[start:] for name in op.output_arg_names]
    assert [name for name in written if "PART" in name and not name.endswith("GRAD")] == [
        "x@GRAD@PART@0",
        "x@GRAD@PART@1",
        "x@GRAD@PART@2",
    ]


def test_the_first_gradient_stays_as_it_was() -> None:
    x = data("x", [2, 3])
    (first,) = fluid.gradients(layers.softmax(layers.tanh(x) * x), x)
    assert first is not None
    values = {"x": normal(2, 3)}
    before = run(values, first)[0].copy()
    text = [str(op) for op in x.block.ops]
    (second,) = fluid.gradients(layers.square(first), x)
    assert [str(op) for op in x.block.ops[: len(text)]] == text
    np.testing.assert_array_equal(run(values, first, second)[0], before)


@pytest.mark.parametrize("maximum", [layers.elementwise_max, layers.elementwise_min])
@pytest.mark.parametrize("value", [2.0, np.inf, -np.inf])
def test_the_gradient_of_the_gradient_of_a_tie_goes_to_the_first(
    maximum: Callable[..., Variable], value: float
) -> None:
    x, y, cotangent = data("x", [2, 3]), data("y", [3]), data("cotangent", [2, 3])
    to_x, to_y = fluid.gradients(maximum(x, y), [x, y], cotangent)
    assert to_x is not None
    assert to_y is not None
    values = {"x": np.full((2, 3), value), "y": np.full(3, value), "cotangent": normal(2, 3)}
    for gradient, share in ((to_x, 1.0), (to_y, 0.0)):
        (found,) = fluid.gradients(gradient, cotangent)
        np.testing.assert_array_equal(run(values, found)[0], np.full((2, 3), share))


def test_a_mixture_of_the_best_experts_trains_its_gate() -> None:
    scores, outputs = data("scores", [4, 5]), data("outputs", [4, 2])
    values, _ = layers.topk(scores, k=2)
    mixed = layers.reduce_sum(layers.square(layers.softmax(values) * outputs))
    (gradient,) = fluid.gradients(mixed, scores)
    assert gradient is not None
    point = {"scores": distinct(4, 5), "outputs": normal(4, 2)}
    program = fluid.default_main_program()
    check_grad(program, point, ["scores", "outputs"], mixed.name, max_relative_error=1e-6)
    weighted = layers.reduce_sum(layers.square(gradient))
    check_grad(program, point, ["scores", "outputs"], weighted.name, max_relative_error=1e-5)
    (again,) = fluid.gradients(weighted, scores)
    assert again is not None
    third = layers.reduce_sum(layers.square(again))
    check_grad(program, point, ["scores"], third.name, max_relative_error=1e-4)


@pytest.mark.parametrize("loss", [layers.cross_entropy, layers.softmax_with_cross_entropy])
def test_a_teacher_is_trained_through_its_soft_labels_to_the_third_order(
    loss: Callable[..., Variable],
) -> None:
    x, teacher = data("x", [3, 4]), data("teacher", [3, 4])
    point = {"x": positive(3, 4), "teacher": normal(3, 4)}
    result = layers.reduce_sum(layers.square(loss(x, layers.softmax(teacher), soft_label=True)))
    program = fluid.default_main_program()
    for _ in range(3):
        check_grad(program, point, ["x", "teacher"], result.name, max_relative_error=1e-5)
        gradients = fluid.gradients(result, [x, teacher])
        result = layers.reduce_sum(layers.square(gradients[0]) + layers.square(gradients[1]))
