"""What Fluid was known to get wrong, each by name."""

import subprocess
import sys

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers
from fluidcore.gradcheck import get_numerical_gradient

RNG = np.random.default_rng(0)


def data(name, shape, dtype="float64"):
    """A variable of known shape that a gradient may pass."""
    return layers.data(name, shape, dtype=dtype, append_batch_size=False, stop_gradient=False)


def assert_gradient_is_right(loss, inputs):
    """Compares every gradient of the default program with the numerical one."""
    program = fluid.default_main_program()
    forward = program.clone()
    gradients = fluid.gradients([loss], [program.global_block().var(name) for name in inputs])
    actual = fluid.Executor().run(program, feed=inputs, fetch_list=gradients)
    for name, value in zip(inputs, actual, strict=True):
        want = get_numerical_gradient(forward, inputs, loss.name, name, delta=1e-5)
        np.testing.assert_allclose(value, want, rtol=1e-6, atol=1e-9, err_msg=name)


@pytest.mark.parametrize(
    "use_twice",
    [
        lambda x: x * x,
        lambda x: x + x,
        lambda x: x / (x * x),
        lambda x: layers.matmul(x, x),
        lambda x: layers.matmul(x, x, transpose_y=True),
        lambda x: layers.concat([x, x], axis=1),
        lambda x: layers.sums([x, x, x]),
    ],
)
def test_one_variable_twice_in_one_operator(use_twice):
    x = data("x", [3, 3])
    loss = layers.reduce_sum(layers.square(use_twice(x)))
    assert_gradient_is_right(loss, {"x": RNG.uniform(0.5, 2, (3, 3))})


def test_an_output_that_nobody_uses_has_a_gradient_of_zero():
    x = data("x", [2, 6])
    _, used, _ = layers.split(x, 3, dim=1)
    loss = layers.reduce_sum(layers.exp(used))
    assert_gradient_is_right(loss, {"x": RNG.standard_normal((2, 6))})


def test_counters_integers_and_metrics_on_the_path_are_constants():
    x = data("x", [4, 3])
    label = data("label", [4, 1], dtype="int64")
    weight = layers.create_parameter([3, 5], "float64", "w")
    probabilities = layers.softmax(layers.mul(x, weight))
    values, indices = layers.topk(probabilities, 2)
    right = layers.cast(layers.accuracy(probabilities, label), "float64")
    counter = layers.increment(layers.fill_constant([1], "float64", 2.0))
    is_small = layers.cast(layers.less_than(values, values * 2.0), "float64")
    rows = layers.cast(layers.cast(indices, "int64"), "float64")
    factors = counter + right + layers.mean(is_small) + layers.mean(rows)
    loss = layers.mean(layers.cross_entropy(probabilities, label)) * factors
    ((parameter, gradient),) = fluid.append_backward(loss)
    assert parameter is weight
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    feed = {"x": RNG.standard_normal((4, 3)), "label": np.array([[0], [1], [2], [4]])}
    actual, factor = exe.run(feed=feed, fetch_list=[gradient, factors])

    p = exe.run(feed=feed, fetch_list=[probabilities])[0]
    p[np.arange(4), feed["label"][:, 0]] -= 1
    np.testing.assert_allclose(actual, feed["x"].T @ p / 4 * factor, rtol=1e-10)


PRINT_BACKWARD = """
import fluidcore as fluid
x = fluid.layers.data("x", [4])
parts = [fluid.layers.fc(x, 4, act=act) for act in ("relu", "tanh", "sigmoid", "exp")]
a, b = fluid.layers.split(fluid.layers.sums(parts + parts[:2]), 2, dim=1)
fluid.optimizer.Adam().minimize(fluid.layers.mean(a * b + a))
print(fluid.default_main_program())
"""


def test_the_same_program_has_the_same_backward_text_in_every_process():
    def text(seed):
        command = [sys.executable, "-c", PRINT_BACKWARD]
        environment = {"PYTHONHASHSEED": str(seed), "PYTHONPATH": ":".join(sys.path)}
        return subprocess.run(command, env=environment, capture_output=True, check=True).stdout

    assert len({text(seed) for seed in range(3)}) == 1


def test_a_parameter_that_the_loss_does_not_depend_on_has_no_gradient_and_is_left_alone():
    x = data("x", [2, 3])
    used = layers.create_parameter([3], "float64", "used")
    unused = layers.create_parameter([3], "float64", "unused")
    loss = layers.mean(x * used)
    _, params_grads = fluid.optimizer.SGD(0.1).minimize(loss)
    assert [(p.name, g is None) for p, g in params_grads] == [("used", False), ("unused", True)]
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    before = np.array(fluid.global_scope().find_var(unused.name).get_tensor())
    exe.run(feed={"x": np.ones((2, 3))})
    after = np.array(fluid.global_scope().find_var(unused.name).get_tensor())
    np.testing.assert_array_equal(after, before)
    assert used.name == "used"


def test_a_run_neither_copies_nor_changes_the_program():
    x = data("x", [2])
    y = layers.relu(x)
    program = fluid.default_main_program()
    text, revision = str(program), program.desc.revision()
    exe = fluid.Executor()
    for _ in range(3):
        exe.run(program, feed={"x": np.ones(2)}, fetch_list=[y])
    assert (str(program), program.desc.revision()) == (text, revision)


def test_an_error_names_shapes_and_the_users_line():
    x, y = data("x", [2, 3]), data("y", [4, 3])
    with pytest.raises(fluid.InvalidArgument) as caught:
        layers.elementwise_add(x, y)
    assert str(caught.value) == (
        "elementwise_add: X and Y must have equal extents or 1 in every dimension, "
        "got X [2, 3], Y [4, 3]"
    )
    (note,) = caught.value.__notes__
    assert note.startswith("added at ")
    assert note.endswith("layers.elementwise_add(x, y)")
    assert "test_fluid_faults.py" in note


def test_nesterov_momentum_goes_down_the_slope():
    weight = layers.create_parameter([1], "float64", "w")
    loss = layers.reduce_sum(layers.square(weight))
    fluid.optimizer.Momentum(0.1, 0.9, use_nesterov=True).minimize(loss)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    tensor = fluid.global_scope().find_var("w").get_tensor()
    tensor.set(np.array([1.0]))
    exe.run()
    # g = 2, v = 2: w - (g + 0.9 v) 0.1
    np.testing.assert_allclose(np.array(fluid.global_scope().find_var("w").get_tensor()), 0.62)


@pytest.mark.parametrize("shape", [[4, 1], [4]])
def test_accuracy_takes_labels_with_and_without_a_dimension_of_one(shape):
    scores = data("scores", [4, 3], dtype="float32")
    label = data("label", shape, dtype="int64")
    feed = {
        "scores": np.eye(4, 3, dtype=np.float32),
        "label": np.array([0, 1, 1, 2]).reshape(shape),
    }
    (right,) = fluid.Executor().run(feed=feed, fetch_list=[layers.accuracy(scores, label)])
    assert right.item() == 0.5
