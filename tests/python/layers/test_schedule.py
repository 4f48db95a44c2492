"""Tests of fluidcore.layers.schedule: what counts the runs, and who reads it."""

import numpy as np
import pytest
from schedules import further_rates, minimize_a_weight, rates

import fluidcore as fluid
from fluidcore import layers
from fluidcore.learning_rate_decay import exponential_decay, noam_decay, step_counter


def held(name):
    return np.array(fluid.global_scope().find_var(name).get_tensor())


def test_the_counter_is_0_in_the_first_run_and_1_more_in_each_that_follows():
    counter = step_counter()
    assert (counter.dtype, counter.shape, counter.persistable) == ("int64", (1,), True)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    assert [exe.run(fetch_list=[counter])[0].tolist() for _ in range(3)] == [[0], [1], [2]]
    exe.run()  # a run counts that fetches nothing
    assert exe.run(fetch_list=[counter])[0].tolist() == [4]


def test_all_schedules_of_a_program_share_one_counter():
    exponential_decay(0.1, 5, 0.9)
    layers.linear_lr_warmup(noam_decay(8, 3), 2, 0.0, 0.1)
    ops = fluid.default_main_program().global_block().ops
    assert [op.type for op in ops].count("increment") == 1
    assert step_counter() is step_counter()


@pytest.mark.parametrize(
    "make",
    [
        lambda rate: fluid.optimizer.SGD(rate),
        lambda rate: fluid.optimizer.Momentum(rate, 0.0),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_optimizer_takes_each_runs_rate(make, dtype):
    one = fluid.initializer.Constant(1.0)
    w = layers.create_parameter([3], dtype, "w", default_initializer=one)
    make(layers.piecewise_decay([2], [0.25, 0.125])).minimize(layers.reduce_sum(w))
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    seen = []
    for _ in range(4):
        exe.run()
        seen.append(held("w")[0])
    assert seen == [0.75, 0.5, 0.375, 0.25]


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in fluid.optimizer.__all__
        if name.endswith("Optimizer") and name not in ("Optimizer", "AdadeltaOptimizer")
    ],
)
def test_every_optimizer_reads_the_schedule(name):
    settings = {"momentum": 0.9} if name == "MomentumOptimizer" else {}
    rate = exponential_decay(0.1, 5, 0.9)
    optimizer = getattr(fluid.optimizer, name)(learning_rate=rate, **settings)
    w = layers.create_parameter([3], "float32", "w")
    updates, _ = optimizer.minimize(layers.reduce_sum(w))
    assert updates[0].input("LearningRate") == [rate.name]


def test_a_parameters_factor_multiplies_the_schedule():
    attr = fluid.ParamAttr("w", fluid.initializer.Constant(1.0), learning_rate=0.5)
    w = layers.create_parameter([3], "float32", attr=attr)
    rate = layers.piecewise_decay([1], [0.5, 0.25])
    fluid.optimizer.SGD(rate).minimize(layers.reduce_sum(w))
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    exe.run()
    exe.run()
    assert held("w").tolist() == [1 - 0.25 - 0.125] * 3


def test_a_resumed_run_goes_on_where_it_was_saved(tmp_path):
    rate = layers.linear_lr_warmup(exponential_decay(0.5, 7, 0.8), 9, 0.0, 0.3)
    minimize_a_weight(rate)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    whole = further_rates(exe, rate, 50)
    weight = held("w")
    for steps in (5, 30):  # within the warm-up, and after it
        with fluid.scope_guard(fluid.Scope()):
            exe.run(fluid.default_startup_program())
            first = further_rates(exe, rate, steps)
            fluid.io.save_persistables(exe, tmp_path)
        with fluid.scope_guard(fluid.Scope()):
            again = fluid.Executor()
            again.run(fluid.default_startup_program())
            fluid.io.load_persistables(again, tmp_path)
            rest = further_rates(again, rate, 50 - steps)
            np.testing.assert_array_equal(held("w"), weight)
        np.testing.assert_array_equal(np.concatenate([first, rest]), whole)


def test_a_clone_for_tests_reads_the_rate_and_does_not_count():
    rate = exponential_decay(0.5, 1, 0.5)
    test = fluid.default_main_program().clone(for_test=True)
    loss = minimize_a_weight(rate)
    late = fluid.default_main_program().clone(for_test=True)
    assert "increment" not in [op.type for op in test.global_block().ops]
    assert "increment" not in [op.type for op in late.global_block().ops]
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    seen = []
    for _ in range(3):
        seen.append(exe.run(fetch_list=[rate])[0].item())
        for _ in range(2):
            seen.append(exe.run(test, fetch_list=[rate])[0].item())
    assert seen == [0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125, 0.125, 0.125]
    assert loss.block.ops[0].type == "increment"  # the program itself still counts


def test_a_plain_clone_counts_the_same_runs():
    rate = exponential_decay(0.5, 1, 0.5)
    twin = fluid.default_main_program().clone()
    with fluid.program_guard(twin):
        assert step_counter().name == step_counter().name
        assert [op.type for op in twin.global_block().ops].count("increment") == 1
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    assert exe.run(fetch_list=[rate])[0].item() == 0.5
    assert exe.run(twin, fetch_list=[rate])[0].item() == 0.25


def test_a_saved_program_keeps_its_counter():
    exponential_decay(0.5, 1, 0.5)
    text = fluid.default_main_program().serialize_to_string()
    name = step_counter().name
    again = fluid.Program.parse_from_string(text)
    with fluid.program_guard(again, fluid.Program()):
        assert step_counter().name == name
        assert [op.type for op in again.global_block().ops].count("increment") == 1


def test_two_programs_that_share_a_scope_count_each_their_own_runs():
    startup, seen, programs = fluid.Program(), {}, {}
    for key in ("a", "b"):
        programs[key] = fluid.Program()
        with fluid.program_guard(programs[key], startup):
            seen[key] = step_counter()
    exe = fluid.Executor()
    exe.run(startup)
    counts = [
        exe.run(programs[key], fetch_list=[seen[key]])[0].item() for key in ("a", "b", "a", "a")
    ]
    assert counts == [0, 0, 1, 2]


def test_a_schedule_in_a_branch_counts_the_runs_that_do_not_take_it():
    flag = layers.data("flag", [1], dtype="bool", append_batch_size=False)
    zero = layers.zeros([1], "float32")
    rate = layers.cond(flag, lambda: exponential_decay(0.5, 1, 0.5), lambda: zero)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    seen = [
        exe.run(feed={"flag": np.array([taken])}, fetch_list=[rate])[0].item()
        for taken in (True, False, False, True)
    ]
    assert seen == [0.5, 0.0, 0.0, 0.0625]


def test_after_an_error_the_counter_is_gone_with_its_schedule():
    x = layers.data("x", [2])
    before = str(fluid.default_main_program()), str(fluid.default_startup_program())

    def fails():
        exponential_decay(0.5, 1, 0.5)
        return layers.elementwise_add(x, layers.zeros([3], "float32"))

    flag = layers.less_than(layers.zeros([1], "int64"), layers.ones([1], "int64"))
    with_flag = str(fluid.default_main_program())
    with pytest.raises(fluid.InvalidArgument):
        layers.cond(flag, fails, lambda: x)
    assert str(fluid.default_main_program()) == with_flag
    assert str(fluid.default_startup_program()) == before[1]


def test_a_saved_model_for_inference_has_no_counter(tmp_path):
    x = layers.data("x", [2])
    y = layers.fc(x, 1)
    fluid.optimizer.SGD(exponential_decay(0.1, 5, 0.9)).minimize(layers.mean(y))
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    fluid.io.save_inference_model(tmp_path, ["x"], [y], exe)
    program, *_ = fluid.io.load_inference_model(tmp_path, exe)
    assert [op.type for op in program.global_block().ops] == ["mul", "elementwise_add"]


def test_mixed_precision_takes_the_same_rates():
    def trained(decorate):
        with (
            fluid.program_guard(fluid.Program(), fluid.Program()),
            fluid.scope_guard(fluid.Scope()),
        ):
            x = layers.data("x", [2])
            rate = layers.cosine_decay(0.3, 2, 7)
            optimizer = fluid.optimizer.SGD(rate)
            loss = layers.mean(layers.fc(x, 1))
            (fluid.amp.decorate(optimizer) if decorate else optimizer).minimize(loss)
            exe = fluid.Executor()
            exe.run(fluid.default_startup_program())
            feed = {"x": np.ones((1, 2), np.float32)}
            return [exe.run(feed=feed, fetch_list=[rate])[0].item() for _ in range(8)]

    assert trained(True) == trained(False)


def test_a_rate_far_beyond_what_float32_counts_is_right():
    rate = layers.polynomial_decay(1.0, 2**26, 0.0)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    tensor = fluid.global_scope().find_var(step_counter().name).get_tensor()
    tensor.set(np.array([2**26 - 4]))
    np.testing.assert_array_equal(further_rates(exe, rate, 3) * 2**26, [3, 2, 1])


def test_rates_of_a_variable_that_is_no_float_are_refused():
    count = layers.cast(step_counter(), "int64")
    with pytest.raises(fluid.InvalidArgument, match="sgd: the learning rate must be floating, got"):
        minimize_a_weight(count)


def test_a_rate_is_the_same_however_often_it_is_fetched():
    assert rates(lambda: exponential_decay(0.5, 1, 0.5), 3).tolist() == [0.5, 0.25, 0.125]
