"""Tensors, scopes and runs on a GPU; the emulated device counts as one."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core, layers

GPU = fluid.CUDAPlace(0)
CPU = fluid.CPUPlace()


def on_gpu(value: np.ndarray) -> core.Tensor:
    tensor = core.Tensor()
    tensor.set(value, GPU)
    return tensor


def regression() -> fluid.Variable:
    """A network of two layers, trained by Adam; its loss."""
    x = layers.data("x", [4])
    y = layers.data("y", [1])
    hidden = layers.fc(x, 8, act="tanh")
    loss = layers.mean(layers.square_error_cost(layers.fc(hidden, 1), y))
    fluid.optimizer.Adam(0.05).minimize(loss)
    return loss


def batch(seed: int = 0) -> dict[str, np.ndarray]:
    x = np.random.default_rng(seed).normal(size=(16, 4)).astype("float32")
    return {"x": x, "y": x.sum(1, keepdims=True)}


class TestTensor:
    def test_says_where_it_is(self) -> None:
        tensor = on_gpu(np.ones([2, 3], "float32"))
        assert tensor.device() == "cuda:0"
        assert tensor.to(CPU).device() == "cpu"
        assert repr(tensor) == "Tensor(float32 [2, 3], cuda:0)"

    def test_comes_back_as_it_went(self) -> None:
        value = np.arange(12, dtype="float64").reshape(3, 4)
        np.testing.assert_array_equal(np.asarray(on_gpu(value)), value)
        np.testing.assert_array_equal(on_gpu(value).to(CPU).numpy(), value)

    def test_can_be_empty(self) -> None:
        assert np.asarray(on_gpu(np.zeros([0, 3], "float32"))).shape == (0, 3)

    def test_single_elements_are_read_and_written(self) -> None:
        tensor = on_gpu(np.arange(4, dtype="float32"))
        tensor.set_float_element(2, 7.5)
        assert [tensor.get_float_element(i) for i in range(4)] == [0, 1, 7.5, 3]

    def test_stays_where_it_is_when_set_again(self) -> None:
        tensor = on_gpu(np.ones([2], "float32"))
        tensor.set(np.zeros([3], "float32"))
        assert tensor.device() == "cuda:0"

    def test_dlpack_shares_the_memory(self) -> None:
        tensor = on_gpu(np.zeros([2], "float32"))
        assert tensor.__dlpack_device__() == (2, 0)
        view = core.Tensor.from_dlpack(tensor)
        tensor.set_float_element(1, 3.0)
        assert view.device() == "cuda:0"
        assert view.get_float_element(1) == 3.0


class TestRun:
    def test_trains_as_the_cpu_does(self) -> None:
        loss = regression()
        main, startup = fluid.default_main_program(), fluid.default_startup_program()
        startup.random_seed = 3
        losses = []
        for place in (CPU, GPU):
            scope = fluid.Scope()
            exe = fluid.Executor(place, allow_cpu_fallback=True)
            exe.run(startup, scope=scope)
            losses.append([float(exe.run(main, batch(i), [loss], scope)[0][0]) for i in range(10)])
        np.testing.assert_allclose(losses[1], losses[0], rtol=1e-4)

    def test_gives_the_same_bits_every_time(self) -> None:
        loss = regression()
        runs = []
        for _ in range(2):
            exe = fluid.Executor(GPU, allow_cpu_fallback=True)
            scope = fluid.Scope()
            fluid.default_startup_program().random_seed = 5
            exe.run(fluid.default_startup_program(), scope=scope)
            runs.append(
                [exe.run(feed=batch(i), fetch_list=[loss], scope=scope)[0] for i in range(6)]
            )
        np.testing.assert_array_equal(runs[0], runs[1])

    def test_parameters_are_on_the_device(self) -> None:
        regression()
        fluid.Executor(GPU, allow_cpu_fallback=True).run(fluid.default_startup_program())
        assert fluid.global_scope().find_var("fc_0.w_0").get_tensor().device() == "cuda:0"

    def test_takes_a_tensor_of_the_device_as_it_is(self) -> None:
        x = layers.data("x", [3])
        y = layers.scale(x, 2.0)
        exe = fluid.Executor(GPU)
        value = np.arange(6, dtype="float32").reshape(2, 3)
        (result,) = exe.run(feed={"x": on_gpu(value)}, fetch_list=[y], return_numpy=False)
        assert result.device() == "cuda:0"
        np.testing.assert_array_equal(np.asarray(result), 2 * value)

    def test_what_is_fed_may_change_after_the_run(self) -> None:
        x = layers.data("x", [3])
        y = layers.scale(x, 2.0)
        exe = fluid.Executor(GPU)
        value = np.ones([2, 3], "float32")
        results = []
        for step in range(4):
            value[:] = step
            results += exe.run(feed={"x": value}, fetch_list=[y], return_numpy=False)
        value[:] = -1
        assert [np.asarray(result)[0, 0] for result in results] == [0, 2, 4, 6]

    def test_a_view_follows_a_variable_of_the_scope_that_moves(self) -> None:
        x = layers.data("x", [3], append_batch_size=False)
        x.persistable = True
        fetches = [layers.assign(x), layers.scale(x, 2.0)]
        exe = fluid.Executor(GPU)
        tensor = fluid.global_scope().var("x").get_tensor()
        for step in range(8):
            tensor.set(np.full(3, step, "float32"), GPU)
            view, twice = exe.run(fetch_list=fetches)
            assert (view[0], twice[0]) == (step, 2 * step)

    def test_a_loop_runs_there(self) -> None:
        total = layers.fill_constant([1], "float32", 0)
        i = layers.fill_constant([1], "int64", 0)
        limit = layers.fill_constant([1], "int64", 5)
        condition = layers.less_than(i, limit)
        loop = layers.While(condition)
        with loop.block():
            layers.assign(layers.elementwise_add(total, layers.cast(i, "float32")), total)
            layers.increment(i, in_place=True)
            layers.less_than(i, limit, cond=condition)
        (result,) = fluid.Executor(GPU, allow_cpu_fallback=True).run(fetch_list=[total])
        assert result[0] == 10

    def test_nan_is_found(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FLUIDCORE_CHECK_NAN", "1")
        x = layers.data("x", [1])
        y = layers.log(x)
        with pytest.raises(core.InvalidArgument, match=r"log: output .* must be free of NaN"):
            fluid.Executor(GPU).run(feed={"x": np.full([2, 1], -1, "float32")}, fetch_list=[y])

    def test_a_profile_has_every_operator(self) -> None:
        x = layers.data("x", [1000])
        y = layers.relu(layers.scale(x, 2.0))
        exe = fluid.Executor(GPU)
        with fluid.profiler.profile() as profile:
            exe.run(feed={"x": np.ones([100, 1000], "float32")}, fetch_list=[y])
        assert {each.type for each in profile} == {"scale", "relu"}

    def test_plans_in_two_threads_do_not_see_each_other(self) -> None:
        loss = regression()
        main, startup = fluid.default_main_program(), fluid.default_startup_program()
        startup.random_seed = 7

        def trained(seed: int) -> list[float]:
            scope = core.Scope()
            exe = fluid.Executor(GPU)
            exe.run(startup, scope=scope)
            fed = batch(seed)
            return [
                exe.run(main, feed=fed, fetch_list=[loss], scope=scope)[0].item() for _ in range(30)
            ]

        alone = [trained(seed) for seed in range(2)]
        with ThreadPoolExecutor(2) as pool:
            assert list(pool.map(trained, range(2))) == alone


class TestFallback:
    def program(self) -> fluid.Variable:
        x = layers.data("x", [3, 3], append_batch_size=False)
        return layers.relu(layers.inverse(x))

    def test_without_it_the_operator_is_named(self) -> None:
        y = self.program()
        assert not core.op_support_gpu("inverse")
        with pytest.raises(core.InvalidArgument, match="inverse: no kernel for float32 on cuda"):
            fluid.Executor(GPU).run(feed={"x": np.eye(3, dtype="float32")}, fetch_list=[y])

    def test_the_cpu_calculates_and_the_plan_says_so(self) -> None:
        y = self.program()
        exe = fluid.Executor(GPU, allow_cpu_fallback=True)
        feed = {"x": 2 * np.eye(3, dtype="float32")}
        (result,) = exe.run(feed=feed, fetch_list=[y])
        np.testing.assert_array_equal(result, 0.5 * np.eye(3))
        assert "inverse on the cpu: operator 0 of block 0" in exe.plan(feed=feed, fetch_list=[y])


class TestBadInput:
    def test_a_device_that_is_not_there(self) -> None:
        with pytest.raises(core.InvalidArgument, match=r"the device must be one of .*cuda:99"):
            fluid.Executor(fluid.CUDAPlace(99))

    def test_a_scope_of_another_device(self) -> None:
        loss = regression()
        fluid.Executor(CPU).run(fluid.default_startup_program())
        exe = fluid.Executor(GPU, allow_cpu_fallback=True)
        with pytest.raises(
            core.InvalidArgument,
            match=r"scope: '.*' must be on cuda:0, where the program runs, got one on cpu; "
            r"write scope.to\(place\)",
        ):
            exe.run(feed=batch(), fetch_list=[loss])
        fluid.global_scope().to(GPU)
        assert np.isfinite(exe.run(feed=batch(), fetch_list=[loss])[0])

    def test_a_fed_tensor_of_another_device(self) -> None:
        x = layers.data("x", [3])
        y = layers.scale(x, 2.0)
        with pytest.raises(
            core.InvalidArgument, match=r"feed: 'x' must be on cpu, where .*, got one on cuda:0"
        ):
            fluid.Executor(CPU).run(feed={"x": on_gpu(np.ones([2, 3], "float32"))}, fetch_list=[y])

    def test_a_label_without_class(self) -> None:
        x = layers.data("x", [3])
        label = layers.data("label", [1], dtype="int64")
        loss = layers.softmax_with_cross_entropy(x, label)
        exe = fluid.Executor(GPU)
        feed = {"x": np.ones([2, 3], "float32"), "label": np.array([[0], [3]])}
        with pytest.raises(core.InvalidArgument, match=r"in \[0, 3\).*got 3 in row 1"):
            exe.run(feed=feed, fetch_list=[loss])
        feed["label"][1] = 2
        np.testing.assert_allclose(exe.run(feed=feed, fetch_list=[loss])[0], np.log(3), rtol=1e-6)

    def test_memory_that_there_is_not(self) -> None:
        x = layers.data("x", [1])
        y = layers.fill_constant([1 << 20, 1 << 20], "float32", 1.0)
        with pytest.raises(core.Error, match=r"no memory for \d+ bytes"):
            fluid.Executor(GPU, allow_cpu_fallback=True).run(
                feed={"x": np.ones([1, 1], "float32")}, fetch_list=[layers.scale(y, 2.0), x]
            )
        (result,) = fluid.Executor(GPU).run(
            feed={"x": np.ones([1, 1], "float32")}, fetch_list=[layers.scale(x, 3.0)]
        )
        assert result == 3

    def test_a_failed_run_leaves_the_scope_as_it_was(self) -> None:
        loss = regression()
        exe = fluid.Executor(GPU, allow_cpu_fallback=True)
        exe.run(fluid.default_startup_program())
        exe.run(feed=batch(), fetch_list=[loss])
        names = fluid.global_scope().local_var_names()
        before = {n: np.array(fluid.global_scope().find_var(n).get_tensor()) for n in names}
        with pytest.raises(core.InvalidArgument):
            exe.run(feed={"x": batch()["x"], "y": np.ones([3, 1], "float32")}, fetch_list=[loss])
        for name, value in before.items():
            after = np.array(fluid.global_scope().find_var(name).get_tensor())
            np.testing.assert_array_equal(after, value, err_msg=name)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_fork_after_use_is_an_error_that_says_so() -> None:
    code = """
import os, sys
import numpy as np
import fluidcore as fluid
from fluidcore import core
tensor = core.Tensor()
tensor.set(np.ones([2], "float32"), fluid.CUDAPlace(0))
if os.fork() == 0:
    try:
        np.asarray(tensor)
        os._exit(0)  # an emulated device has no driver that minds
    except core.InvalidArgument as error:
        os._exit(0 if "forked after the GPU had been used" in str(error) else 1)
_, status = os.wait()
sys.exit(os.waitstatus_to_exitcode(status))
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
