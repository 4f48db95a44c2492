"""What Fluid was known to get wrong, each by name."""

import subprocess
import sys

import numpy as np
import pytest
from counting import instructions
from differences import differences

import fluidcore as fluid
from fluidcore import layers
from fluidcore.gradcheck import GradientError, check_grad, get_numerical_gradient

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


def carried(x, w, n):
    """X = x + tanh(x * w), n times."""
    return layers.while_loop(
        lambda i, x: layers.less_than(i, n),
        lambda i, x: (i + 1, x + layers.tanh(x * w)),
        [0, x],
    )[1]


def assert_gradients_are_right_in_every_run(loss, names, *feeds):
    """Runs one program with each feed in turn; returns the gradients."""
    program = fluid.default_main_program()
    forward = program.clone()
    gradients = fluid.gradients([loss], [program.global_block().var(name) for name in names])
    exe = fluid.Executor()
    results = []
    for feed in feeds:
        results.append(exe.run(program, feed=feed, fetch_list=gradients))
        for name, value in zip(names, results[-1], strict=True):
            want = differences(exe, loss.name, feed, name, 1e-5, forward)
            np.testing.assert_allclose(value, want, rtol=1e-6, atol=1e-8, err_msg=name)
    return results


def test_a_loop_carried_variable_that_is_not_an_array():
    x, w, n = data("x", [3]), data("w", [3]), data("n", [1], dtype="int64")
    loss = layers.reduce_sum(layers.square(carried(x, w, n)))
    values = {"x": RNG.standard_normal(3), "w": RNG.standard_normal(3)}
    feeds = [values | {"n": np.array([trips])} for trips in (3, 0, 5, 1)]
    assert_gradients_are_right_in_every_run(loss, ["x", "w"], *feeds)


def test_a_branch_that_is_not_taken_has_a_gradient_of_zero_whatever_was_taken_before():
    x, y, flag = data("x", [3]), data("y", [3]), data("flag", [1], dtype="bool")
    out = layers.cond(flag, lambda: x * x * x, lambda: layers.exp(y))
    values = {"x": RNG.standard_normal(3), "y": RNG.standard_normal(3)}
    taken = (True, False, False, True)
    feeds = [values | {"flag": np.array([flag])} for flag in taken]
    loss = layers.reduce_sum(out)
    results = assert_gradients_are_right_in_every_run(loss, ["x", "y"], *feeds)
    for flag, (dx, dy) in zip(taken, results, strict=True):
        np.testing.assert_array_equal(dy if flag else dx, np.zeros(3))


def test_counters_integers_and_metrics_in_a_loop_are_constants():
    x, n = data("x", [4, 3]), data("n", [1], dtype="int64")
    label = data("label", [4, 1], dtype="int64")
    i, steps = layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "float64", 0.0)
    h, running = layers.assign(x * 1.0), layers.less_than(i, n)
    with layers.While(running).block():
        probabilities = layers.softmax(h)
        right = layers.cast(layers.accuracy(probabilities, label), "float64")
        _, best = layers.topk(probabilities, 1)
        is_large = layers.cast(layers.greater_than(h, x * 0.5), "float64")
        layers.increment(steps, 0.25)
        factor = right + steps + layers.mean(layers.cast(best, "float64"))
        layers.assign(layers.tanh(h) * factor + is_large * x, output=h)
        layers.increment(i)
        layers.less_than(i, n, cond=running)
    loss = layers.mean(layers.square(h)) * steps + layers.cast(i, "float64")
    values = {"x": RNG.standard_normal((4, 3)), "label": np.array([[0], [1], [2], [0]])}
    feeds = [values | {"n": np.array([trips])} for trips in (3, 0, 1)]
    assert_gradients_are_right_in_every_run(loss, ["x"], *feeds)
    differentiated = {op.type for block in loss.block.program.blocks for op in block.ops}
    assert not {"increment_grad", "accuracy_grad", "top_k_grad"} & differentiated


PRINT_BACKWARD = """
import fluidcore as fluid
from fluidcore import layers
x = layers.data("x", [4])
parts = [layers.fc(x, 4, act=act) for act in ("relu", "tanh", "sigmoid", "exp")]
a, b = layers.split(layers.sums(parts + parts[:2]), 2, dim=1)
fluid.optimizer.Adam().minimize(layers.mean(a * b + a))
print(fluid.default_main_program())
"""

PRINT_BACKWARD_OF_BLOCKS = """
import fluidcore as fluid
from fluidcore import layers
n = layers.fill_constant([1], "int64", 3)
zero = layers.fill_constant([1], "int64", 0)
xs = layers.data("xs", [3, 2, 4], append_batch_size=False)
rnn = layers.StaticRNN()
with rnn.step():
    x = rnn.step_input(xs)
    before = rnn.memory(shape=[2, 4])
    h = layers.fc([x, before], 4, act="tanh")
    h.error_clip = fluid.ErrorClipByValue(1.0)
    h = layers.cond(
        layers.less_than(layers.mean(h), layers.mean(x)),
        lambda: layers.fc(h, 4, param_attr="shared"),
        lambda: layers.while_loop(
            lambda i, v: layers.less_than(i, n),
            lambda i, v: (i + 1, layers.tanh(layers.fc(v, 4, param_attr="shared")) * v + h),
            [zero, h],
        )[1],
    )
    rnn.update_memory(before, h)
    rnn.output(h, x * h)
first, second = rnn()
array = layers.create_array("float32", [3, 2, 4])
layers.array_write(first * second, zero, array=array)
i = layers.fill_constant([1], "int64", 0)
running = layers.less_than(i, n)
with layers.While(running).block():
    layers.array_write(layers.array_read(array, i) * first + second, i + 1, array=array)
    layers.increment(i)
    layers.less_than(i, n, cond=running)
mask = layers.less_than(layers.data("m", [1]), layers.data("k", [1]))
rows = layers.IfElse(mask)
with rows.true_block():
    rows.output(layers.fc(rows.input(layers.data("r", [4])), 4))
with rows.false_block():
    rows.output(layers.tanh(rows.input(layers.data("r", [4]))))
loss = layers.mean(layers.array_read(array, n)) + layers.mean(rows()[0])
fluid.optimizer.Adam().minimize(loss)
slope = fluid.gradients(loss, [xs])[0]
fluid.gradients(layers.mean(slope * slope), [xs])
print(fluid.default_main_program())
"""


@pytest.mark.parametrize("source", [PRINT_BACKWARD, PRINT_BACKWARD_OF_BLOCKS])
def test_the_same_program_has_the_same_backward_text_in_every_process(source):
    def start(seed):
        command = [sys.executable, "-c", source]
        environment = {"PYTHONHASHSEED": str(seed), "PYTHONPATH": ":".join(sys.path)}
        return subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    texts = set()
    for process in [start(seed) for seed in range(3)]:
        text, error = process.communicate(timeout=60)
        assert process.returncode == 0, error.decode()
        texts.add(text)
    assert len(texts) == 1
    assert b"@GRAD" in texts.pop()


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


@pytest.mark.parametrize("in_a_block", [False, True])
def test_backward_takes_linear_time(in_a_block):
    def work(length):
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            x = data("x", [2])

            def chain():
                h = x
                for _ in range(length):
                    h = layers.tanh(h)
                return h

            flag = layers.fill_constant([1], "bool", 1)
            loss = layers.mean(layers.cond(flag, chain, lambda: x) if in_a_block else chain())
            return instructions(lambda: fluid.append_backward(loss))

    work(10)  # caches what is read once
    assert work(200) < 4.5 * work(50)  # quadratic would be 16


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


def test_an_error_in_a_step_names_the_operator_and_the_users_line():
    x, n = layers.data("x", [2], append_batch_size=False), data("n", [1], dtype="int64")
    array = layers.array_write(x, layers.fill_constant([1], "int64", 0))
    out = layers.while_loop(
        lambda i, y: layers.less_than(i, n),
        lambda i, y: (i + 1, y + layers.array_read(array, i)),
        [0, x],
    )[1]
    feed = {"x": np.ones(2, np.float32), "n": np.array([2])}
    with pytest.raises(fluid.InvalidArgument, match=r"read_from_array: .*1") as caught:
        fluid.Executor().run(feed=feed, fetch_list=[out])
    (note,) = caught.value.__notes__
    assert "(read_from_array), added at " in note
    assert note.endswith("lambda i, y: (i + 1, y + layers.array_read(array, i)),")


def test_gradient_checks_hold_in_float32_over_large_sums_and_name_the_worst_element():
    rng = np.random.default_rng(0)
    values = {
        "x": rng.standard_normal((3, 500)).astype(np.float32),
        "w": rng.standard_normal((500, 2)).astype(np.float32),
    }
    mul = fluid.core.OpDesc("mul", {"X": ["x"], "Y": ["w"]}, {"Out": ["out"]}, {})
    check_grad(mul, values, ["x", "w"], "out")
    relu = fluid.core.OpDesc("relu", {"X": ["x"]}, {"Out": ["out"]}, {})
    kink = {"x": np.array([[1.0, 2.0, 3.0], [-1.0, -2.0, 0.0]])}
    with pytest.raises(GradientError, match=r"at \[1, 2\] of float64 \[2, 3\]"):
        check_grad(relu, kink, ["x"], "out", max_relative_error=0.005)


def test_gradients_of_gradients_also_through_loops_and_branches():
    x, w, n = data("x", [3]), data("w", [3]), data("n", [1], dtype="int64")
    flag = data("flag", [1], dtype="bool")
    h = layers.cond(flag, lambda: carried(x, w, n), lambda: layers.exp(x * w))
    block = fluid.default_main_program().global_block()
    slopes = fluid.gradients([layers.reduce_sum(layers.square(h))], [block.var("x"), w])
    loss = layers.sums([layers.reduce_sum(layers.square(slope)) for slope in slopes])
    values = {"x": RNG.standard_normal(3) / 2, "w": RNG.standard_normal(3) / 2}
    feeds = [
        values | {"n": np.array([trips]), "flag": np.array([flag])}
        for trips, flag in ((2, True), (0, True), (2, False))
    ]
    assert_gradients_are_right_in_every_run(loss, ["x", "w"], *feeds)


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


def looped(x, weight, steps):
    def body(i, h):
        t = layers.tanh(h * weight)
        t.stop_gradient = True
        u = layers.dropout(t + h, 0.5)
        u.error_clip = fluid.ErrorClipByValue(0.5)
        return i + 1, u

    start = layers.fill_constant([1], "int64", 0)
    return layers.while_loop(lambda i, h: layers.less_than(i, steps), body, [start, x])[1]


def looped_program():
    x = data("x", [3])
    steps = data("steps", [1], dtype="int64")
    return looped(x, layers.create_parameter([3], "float64", "w"), steps)


def test_a_clone_keeps_stop_gradient_and_error_clip_of_plain_variables_in_all_blocks():
    result = looped_program()
    result.error_clip = fluid.ErrorClipByValue(0.25)
    program = fluid.default_main_program()
    saved = fluid.Program.parse_from_string(program.serialize_to_string())
    for copy in (program.clone(), program.clone(for_test=True), saved):
        for block, twin in zip(program.blocks, copy.blocks, strict=True):
            for name, variable in block.vars.items():
                other = twin.var(name)
                assert other.stop_gradient == variable.stop_gradient
                assert clip_bounds(other) == clip_bounds(variable)
    assert [clip_bounds(v) for v in saved.list_vars()].count((-0.5, 0.5)) == 1
    assert sum(v.stop_gradient for v in saved.block(1).vars.values()) >= 1


def clip_bounds(variable):
    clip = variable.error_clip
    return None if clip is None else (clip.min, clip.max)


def test_a_clone_for_tests_sets_is_test_in_all_blocks_and_drops_nothing():
    looped_program()
    program = fluid.default_main_program()
    test = program.clone(for_test=True)
    assert str(test) == str(program).replace("is_test=False", "is_test=True") != str(program)


def test_pruning_numbers_blocks_anew_and_saving_keeps_them():
    unused = looped_program()
    layers.mean(unused)
    result = looped(
        data("z", [3]), layers.create_parameter([3], "float64", "v"), data("m", [1], "int64")
    )
    fluid.append_backward(layers.mean(result))
    pruned = fluid.default_main_program().clone(for_test=True).prune([result])
    (loop,) = (op for op in pruned.global_block().ops if op.type == "while")
    assert (pruned.num_blocks, loop.attr("sub_block").value) == (2, 1)
    assert pruned.block(1).parent_idx == 0
    saved = fluid.Program.parse_from_string(pruned.serialize_to_string())
    assert str(saved) == str(pruned)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    feed = {"z": RNG.standard_normal(3), "m": np.array([4])}
    w = np.asarray(fluid.global_scope().find_var("v").get_tensor())
    want = feed["z"]
    for _ in range(4):
        want = (np.tanh(want * w) + want) * 0.5  # in prediction a dropout only scales
    (got,) = exe.run(saved, feed=feed, fetch_list=[result.name])
    np.testing.assert_allclose(got, want, rtol=1e-12)
