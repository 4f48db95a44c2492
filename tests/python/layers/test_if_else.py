"""Tests of IfElse."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers


def run(fetches, **feed):
    return fluid.Executor().run(feed=feed, fetch_list=fetches)


def program_text():
    return str(fluid.default_main_program()) + str(fluid.default_startup_program())


def refused(kind, match, call):
    before = program_text()
    with pytest.raises(kind, match=match):
        call()
    assert program_text() == before
    assert fluid.default_main_program().current_block().idx == 0


def mask(shape=(1,)):
    return layers.data("mask", [-1, *shape], dtype="bool")


def test_each_row_goes_through_its_own_block():
    x = layers.data("x", [2])
    branches = layers.IfElse(mask())
    with branches.true_block():
        branches.output(layers.scale(branches.input(x), scale=-1.0))
    with branches.false_block():
        rows = branches.input(x)
        branches.output(rows + 10.0)
    (out,) = branches()
    assert out.shape == (-1, 2)
    executor = fluid.Executor()
    xs = np.arange(8, dtype="float32").reshape(4, 2)
    for bits in ([1, 0, 0, 1], [0, 1, 1, 1], [1, 0, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0]):
        chosen = np.array(bits, bool)[:, None]
        (got,) = executor.run(feed={"x": xs, "mask": chosen}, fetch_list=[out])
        np.testing.assert_array_equal(got, np.where(chosen, -xs, xs + 10))


def test_the_mask_may_have_one_dimension_and_the_batch_any_size():
    x = layers.data("x", [3])
    branches = layers.IfElse(mask(()))
    with branches.true_block():
        branches.output(branches.input(x) * 2.0)
    with branches.false_block():
        branches.output(branches.input(x))
    (out,) = branches()
    for bits in ([1, 0], [0, 1, 1], [], [1]):
        chosen = np.array(bits, bool)
        xs = np.ones((len(bits), 3), "float32")
        (got,) = run([out], x=xs, mask=chosen)
        np.testing.assert_array_equal(got, np.where(chosen[:, None], 2 * xs, xs))


def test_there_may_be_several_inputs_and_outputs():
    x, y = layers.data("x", [2]), layers.data("y", [1], dtype="int64")
    branches = layers.IfElse(mask())
    with branches.true_block():
        a, b = branches.input(x), branches.input(y)
        branches.output(a + 1.0, b)
    with branches.false_block():
        branches.output(branches.input(x))
        branches.output(branches.input(y) * 2)
    first, second = branches()
    program = fluid.default_main_program()
    splits = [op for op in program.global_block().ops if op.type == "split_lod_tensor"]
    assert len(splits) == 2
    xs, ys = np.ones((3, 2), "float32"), np.array([[1], [2], [3]])
    chosen = np.array([[True], [False], [True]])
    a, b = run([first, second], x=xs, y=ys, mask=chosen)
    np.testing.assert_array_equal(a, np.where(chosen, 2, 1) * np.ones((1, 2)))
    np.testing.assert_array_equal(b, [[1], [4], [3]])


def test_an_input_that_was_written_in_between_is_split_again():
    x = layers.assign(layers.data("x", [1]))
    branches = layers.IfElse(mask())
    with branches.true_block():
        branches.output(branches.input(x))
    layers.assign(x * 5.0, output=x)
    with branches.false_block():
        branches.output(branches.input(x))
    (out,) = branches()
    (got,) = run([out], x=np.ones((2, 1), "float32"), mask=np.array([[True], [False]]))
    np.testing.assert_array_equal(got, [[1], [5]])


def test_parameters_may_be_made_in_the_blocks():
    x = layers.data("x", [4])
    branches = layers.IfElse(mask())
    for block in (branches.true_block, branches.false_block):
        with block():
            branches.output(layers.fc(branches.input(x), 2, param_attr="w", bias_attr=False))
    (out,) = branches()
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    w = np.asarray(fluid.global_scope().find_var("w").get_tensor())
    xs = np.random.default_rng(0).random((5, 4), dtype="float32")
    (got,) = executor.run(feed={"x": xs, "mask": xs[:, :1] > 0.5}, fetch_list=[out])
    np.testing.assert_allclose(got, xs @ w, rtol=1e-5)


def test_if_else_refuses_what_cannot_be():
    x, m = layers.data("x", [2]), mask()
    branches = layers.IfElse(m)

    def outside():
        branches.input(x)

    def no_input():
        with branches.true_block():
            branches.output(layers.zeros([1, 2], "float32"))

    def inside():
        with branches.true_block():
            branches.input(x)
            branches()

    def nested():
        with branches.true_block(), branches.false_block():
            pass

    def wrong_output():
        with branches.true_block():
            branches.output(3.0)

    def local_input():
        with branches.true_block():
            branches.input(branches.input(x) * 2.0)

    for kind, match, call in [
        (TypeError, "if_else: cond must be a Variable, got bool", lambda: layers.IfElse(True)),
        (
            fluid.InvalidArgument,
            r"cond must be bool \[N, 1\] or \[N\], got float32 \[-1, 2\] for 'x'",
            lambda: layers.IfElse(x),
        ),
        (fluid.InvalidArgument, r"input\(x\) must be called inside true_block\(\) or", outside),
        (
            fluid.InvalidArgument,
            r"output\(...\) must be called inside true_block\(\)",
            lambda: branches.output(x),
        ),
        (fluid.InvalidArgument, "true_block must be given rows, got a block without", no_input),
        (fluid.InvalidArgument, "after the blocks, got a call inside of true_block", inside),
        (fluid.InvalidArgument, "false_block must stand beside the other block", nested),
        (TypeError, "every output must be a Variable, got float", wrong_output),
        (fluid.InvalidArgument, "x of input must be a variable of block 0", local_input),
        (fluid.InvalidArgument, "got no true_block", branches),
    ]:
        refused(kind, match, call)
    with branches.true_block():
        branches.output(branches.input(x))

    def again():
        with branches.true_block():
            pass

    refused(fluid.InvalidArgument, "true_block must be entered once", again)
    refused(fluid.InvalidArgument, "got no false_block", branches)
    with branches.false_block():
        branches.output(layers.cast(branches.input(x), "float64"))
    refused(
        fluid.InvalidArgument,
        r"output 0 must be rows of the same shape and dtype in both blocks, got "
        r"float32 \[-1, 2\] from true_block, float64 \[-1, 2\] from false_block",
        branches,
    )


def test_the_blocks_must_have_the_same_number_of_outputs():
    x = layers.data("x", [2])
    branches = layers.IfElse(mask())
    with branches.true_block():
        rows = branches.input(x)
        branches.output(rows, rows)
    with branches.false_block():
        branches.output(branches.input(x))
    refused(fluid.InvalidArgument, "got 2 from true_block, 1 from false_block", branches)


def test_the_condition_must_stay_as_it_is():
    x, m = layers.data("x", [1]), layers.assign(mask())
    branches = layers.IfElse(m)
    with branches.true_block():
        branches.output(branches.input(x))
    layers.logical_not(m, out=m)
    with branches.false_block():
        branches.output(branches.input(x))
    refused(fluid.InvalidArgument, "cond must stay as it is until the result is asked", branches)
