"""Tests of fluidcore.executor."""

import re
import sys
import threading

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers


@pytest.fixture
def doubled():
    x = layers.data("x", [3])
    return layers.scale(x, scale=2.0)


ARRAY = np.arange(6, dtype=np.float32).reshape(2, 3)


def run(feed, fetch, **settings):
    return fluid.Executor().run(feed=feed, fetch_list=fetch, **settings)


def test_a_run_returns_arrays(doubled):
    (value,) = run({"x": ARRAY}, [doubled])
    assert isinstance(value, np.ndarray)
    np.testing.assert_array_equal(value, ARRAY * 2)


def test_a_run_can_return_tensors(doubled):
    (value,) = run({"x": ARRAY}, [doubled.name], return_numpy=False)
    assert isinstance(value, fluid.Tensor)
    np.testing.assert_array_equal(np.asarray(value), ARRAY * 2)


def test_a_fetched_value_does_not_change_in_later_runs(doubled):
    exe = fluid.Executor()
    (first,) = exe.run(feed={"x": ARRAY}, fetch_list=[doubled])
    exe.run(feed={"x": ARRAY + 1}, fetch_list=[doubled])
    np.testing.assert_array_equal(first, ARRAY * 2)


def test_a_fetched_parameter_does_not_change_in_later_runs():
    step = layers.create_global_var([1], 0.0, "float32", persistable=True)
    layers.increment(step)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    (first,) = exe.run(fetch_list=[step])
    (second,) = exe.run(fetch_list=[step])
    assert (first[0], second[0]) == (1.0, 2.0)


@pytest.mark.parametrize(
    "value", [ARRAY.tolist(), tuple(map(tuple, ARRAY.tolist())), np.asfortranarray(ARRAY)]
)
def test_lists_and_strided_arrays_can_be_fed(doubled, value):
    np.testing.assert_array_equal(run({"x": value}, [doubled])[0], ARRAY * 2)


def test_tensors_can_be_fed(doubled):
    tensor = fluid.Tensor()
    tensor.set(ARRAY)
    np.testing.assert_array_equal(run({"x": tensor}, [doubled])[0], ARRAY * 2)


def test_anything_with_dlpack_can_be_fed(doubled):
    class Foreign:
        def __dlpack__(self, **settings):
            return ARRAY.__dlpack__()

        def __dlpack_device__(self):
            return (1, 0)

    np.testing.assert_array_equal(run({"x": Foreign()}, [doubled])[0], ARRAY * 2)


def test_a_wrong_dtype_says_what_to_write(doubled):
    with pytest.raises(
        fluid.InvalidArgument,
        match=r"feed 'x': must be float32 as the variable, got int64; write x.astype\('float32'",
    ):
        run({"x": ARRAY.astype(np.int64)}, [doubled])
    tensor = fluid.Tensor()
    tensor.set(ARRAY.astype(np.int64))
    with pytest.raises(fluid.InvalidArgument, match="got int64; feed a float32 tensor"):
        run({"x": tensor}, [doubled])


def other_program():
    """A program with variables of the same names, and its Variable of the doubled one's name."""
    with fluid.program_guard(fluid.Program()), fluid.unique_name.guard():
        x = layers.data("x", [3])
        return layers.scale(x, scale=3.0)


def test_a_variable_of_another_program_is_not_fetched(doubled):
    other = other_program()
    assert other.name == doubled.name
    message = (
        f"fetch_list: the Variables must belong to the program or to one that it is a clone of, "
        f"got '{other.name}' of another one; write '{other.name}' if the variable of this name is"
    )
    with pytest.raises(fluid.InvalidArgument, match=message):
        run({"x": ARRAY}, [other])
    np.testing.assert_array_equal(run({"x": ARRAY}, [other.name])[0], ARRAY * 2)


def test_a_variable_is_fetched_of_clones_in_both_directions(doubled):
    main = fluid.default_main_program()
    test = main.clone(for_test=True)
    twin = test.clone().prune([doubled])
    for program in (main, test, twin):
        for owner in (main, test, twin):
            variable = owner.global_block().var(doubled.name)
            (value,) = run({"x": ARRAY}, [variable], program=program)
            np.testing.assert_array_equal(value, ARRAY * 2)


def test_a_list_of_names_refuses_variables_of_another_program(doubled, tmp_path):
    other = other_program()
    main = fluid.default_main_program()
    with pytest.raises(fluid.InvalidArgument, match="prune: targets: the Variables must belong to"):
        main.prune([other])
    with pytest.raises(
        fluid.InvalidArgument, match="target_vars: the Variables must belong to the"
    ):
        fluid.io.save_inference_model(tmp_path, ["x"], [other], fluid.Executor())
    with pytest.raises(
        fluid.InvalidArgument, match="no_grad_set: the Variables must belong to the"
    ):
        fluid.append_backward(layers.mean(doubled), no_grad_set=[other])


@pytest.mark.parametrize("value", ["text", [[1, 2, 3], [4]], [["a", "b", "c"]], None, object()])
def test_what_is_no_array_is_refused(doubled, value):
    with pytest.raises(fluid.InvalidArgument, match="feed 'x': must be an array, a Tensor, or num"):
        run({"x": value}, [doubled])


def test_fractions_are_not_rounded_to_integers():
    n = layers.data("n", [1], dtype="int64", append_batch_size=False)
    out = layers.assign(n)
    assert run({"n": [3]}, [out])[0].tolist() == [3]
    with pytest.raises(fluid.InvalidArgument, match="numbers that int64 can hold"):
        run({"n": [1.5]}, [out])


def test_numbers_can_be_fed_to_scalars():
    n = layers.data("n", [], append_batch_size=False)
    assert run({"n": 1.5}, [layers.scale(n, scale=2.0)])[0] == 3.0


def test_unknown_names_are_errors(doubled):
    with pytest.raises(fluid.NotFound, match="no variable 'y'"):
        run({"y": ARRAY}, [doubled])
    with pytest.raises(fluid.NotFound):
        run({"x": ARRAY}, ["nothing"])


def test_fetch_list_must_be_a_list(doubled):
    with pytest.raises(TypeError, match="fetch_list must be a list"):
        run({"x": ARRAY}, doubled)
    with pytest.raises(TypeError, match="fetch_list must be a list, got 'x'"):
        run({"x": ARRAY}, "x")


def test_an_error_names_the_line_that_added_the_operator():
    x, y = layers.data("x", [3]), layers.data("y", [3])
    z = x + y
    with pytest.raises(fluid.InvalidArgument) as caught:
        run({"x": ARRAY, "y": np.ones((5, 3), np.float32)}, [z])
    assert caught.value.__notes__[-1].endswith("z = x + y")


def test_a_changed_program_is_run_as_it_is_now(doubled):
    exe = fluid.Executor()
    exe.run(feed={"x": ARRAY}, fetch_list=[doubled])
    doubled.block.ops[0].set_attr("scale", 3.0)
    (value,) = exe.run(feed={"x": ARRAY}, fetch_list=[doubled])
    np.testing.assert_array_equal(value, ARRAY * 3)


def test_scope_guard_changes_the_global_scope():
    scope = fluid.Scope()
    outer = fluid.global_scope()
    with fluid.scope_guard(scope):
        assert fluid.global_scope() is scope
    assert fluid.global_scope() is outer
    with pytest.raises(TypeError, match="scope must be a Scope, got int"):
        fluid.scope_guard(3).__enter__()


def test_scope_guard_acts_in_its_own_thread_only():
    seen = []
    thread = threading.Thread(target=lambda: seen.append(fluid.global_scope()))
    thread.start()
    thread.join()
    assert seen[0] is not fluid.global_scope()


def test_a_scope_can_be_given():
    step = layers.create_global_var([1], 5.0, "float32", persistable=True)
    scope = fluid.Scope()
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program(), scope=scope)
    assert exe.run(fetch_list=[step], scope=scope)[0][0] == 5.0
    assert fluid.global_scope().find_var(step.name) is None


def test_the_first_nan_is_named_when_asked_for(monkeypatch):
    x = layers.data("x", [1])
    y = layers.scale(layers.log(x), scale=2.0)
    feed = {"x": np.array([[-1]], np.float32)}
    assert np.isnan(run(feed, [y])[0]).all()
    monkeypatch.setenv("FLUIDCORE_CHECK_NAN", "1")
    with pytest.raises(fluid.Error, match="log"):
        run(feed, [y])


def test_threads_are_set_and_checked():
    before = fluid.get_num_threads()
    try:
        fluid.set_num_threads(1)
        assert fluid.get_num_threads() == 1
        with pytest.raises(fluid.InvalidArgument, match="at least 1, got 0"):
            fluid.set_num_threads(0)
        with pytest.raises(TypeError):
            fluid.set_num_threads("two")
    finally:
        fluid.set_num_threads(before)


def test_close_forgets_plans(doubled):
    exe = fluid.Executor()
    exe.run(feed={"x": ARRAY}, fetch_list=[doubled])
    exe.close()
    np.testing.assert_array_equal(exe.run(feed={"x": ARRAY}, fetch_list=[doubled])[0], ARRAY * 2)


def test_wrong_types_are_type_errors(doubled):
    exe = fluid.Executor()
    with pytest.raises(TypeError, match="program must be a Program, got str"):
        exe.run("program")
    with pytest.raises(TypeError, match="scope must be a Scope, got int"):
        exe.run(scope=3)
    with pytest.raises(TypeError, match="fetch_list must hold Variables or names, got 3"):
        exe.run(fetch_list=[3])
    with pytest.raises(TypeError, match=r"place must be CPUPlace\(\) or CUDAPlace\(i\), got 'cpu'"):
        fluid.Executor("cpu")


def test_feed_maps_names_to_values(doubled):
    with pytest.raises(TypeError, match="feed must map names to values, got list"):
        run([("x", ARRAY)], [doubled])
    for name in (5, doubled):
        with pytest.raises(TypeError, match="a name in feed must be a str, got"):
            run({name: ARRAY}, [doubled])


def test_fed_numbers_are_never_changed(doubled):
    with pytest.raises(fluid.InvalidArgument, match="a number is too large for float32"):
        run({"x": [[1e300, 1.0, 1.0]]}, [doubled])
    assert np.isinf(run({"x": [[np.inf, 1.0, 1.0]]}, [doubled])[0][0, 0])
    flag = layers.data("flag", [2], dtype="bool")
    with pytest.raises(fluid.InvalidArgument, match="int64 does not convert to bool"):
        run({"flag": [[5, 0]]}, [layers.cast(flag, "float32")])


def test_a_masked_array_is_refused(doubled):
    with pytest.raises(fluid.InvalidArgument, match="feed 'x': must be without a mask"):
        run({"x": np.ma.masked_array(ARRAY, mask=True)}, [doubled])


def test_threads_with_one_executor_do_not_mix_up_their_programs():
    exe, programs, failures = fluid.Executor(), [], []
    for dtype in ("float32", "float64"):
        program = fluid.Program()
        with fluid.program_guard(program, fluid.Program()):
            y = layers.scale(layers.data("x", [2], dtype=dtype), scale=2.0)
        programs.append((program, np.ones((1, 2), dtype), y))

    def work(program, array, y):
        try:
            for _ in range(300):
                exe.run(program, {"x": array}, [y], fluid.Scope())
        except Exception as error:
            failures.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=of) for of in programs * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert failures == []


ADDRESS_SPACE = 2**47  # bytes that a process can address


def test_where_there_is_no_memory_for_temporaries_the_operator_is_named():
    small = layers.fill_constant([2], "float32", 1.0)
    large = layers.fill_constant([ADDRESS_SPACE // 4], "float32", 1.0)
    with pytest.raises(fluid.Error) as caught:
        run({}, [small, layers.relu(large)])
    assert re.fullmatch(
        r"fill_constant: the temporaries of the run must fit in memory, got no memory for \d{15} "
        "bytes; this operator needs the most",
        str(caught.value),
    )
    (note,) = caught.value.__notes__
    assert note.startswith("operator 1 of block 0 (fill_constant), added at ")
    assert note.endswith('large = layers.fill_constant([ADDRESS_SPACE // 4], "float32", 1.0)')


def test_where_there_is_no_memory_for_a_variable_it_is_named():
    layers.create_global_var([ADDRESS_SPACE // 4], 1.0, "float32", persistable=True, name="large")
    startup = fluid.default_startup_program()
    with pytest.raises(
        fluid.Error, match=r"^scope: 'large' must fit in memory, got no memory for "
    ):
        fluid.Executor().run(startup)
    assert fluid.global_scope().local_var_names() == []
    with pytest.raises(
        fluid.Error, match=r"^fetch: 'large' must fit in memory, got no memory for "
    ):
        fluid.Executor().run(startup, fetch_list=["large"])
