"""Executors, scopes, clips, files and profiles as Fluid's tests of them use them."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core, layers
from fluidcore.executor import Executor, fetch_var
from fluidcore.framework import Program, program_guard
from fluidcore.io import load_inference_model, save_inference_model
from fluidcore.profiler import profiler as profile_of


def test_two_matrices_are_multiplied():
    a = layers.data(name="a", shape=[784], dtype="float32")
    b = layers.data(name="b", shape=[784, 100], dtype="float32", append_batch_size=False)
    out = layers.mul(x=a, y=b)
    place = core.CPUPlace()
    a_np = np.random.random((100, 784)).astype("float32")
    b_np = np.random.random((784, 100)).astype("float32")
    exe = Executor(place)
    outs = exe.run(feed={"a": a_np, "b": b_np}, fetch_list=[out])
    assert np.allclose(outs[0], a_np @ b_np, rtol=1e-4)
    again = exe.run(
        program=fluid.default_main_program(),
        feed={"a": a_np, "b": b_np},
        fetch_list=[out],
        feed_var_name="feed",
        fetch_var_name="fetch",
        scope=fluid.global_scope(),
        return_numpy=False,
        use_program_cache=True,
    )
    assert np.array_equal(fluid.executor.as_numpy(again)[0], outs[0])


def test_a_variable_is_fetched_from_the_scope():
    val = np.array([1, 3, 5]).astype(np.int32)
    x = layers.create_tensor(dtype="int32", persistable=True, name="x")
    layers.assign(input=val, output=x)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_main_program(), feed={}, fetch_list=[])
    fetched_x = fluid.fetch_var("x")
    assert np.array_equal(fetched_x, val)
    assert fetched_x.dtype == val.dtype
    assert isinstance(fetch_var("x", scope=fluid.global_scope(), return_numpy=False), core.Tensor)
    with pytest.raises(LookupError) as missing:
        fluid.fetch_var("y")
    assert str(missing.value) == (
        "fetch_var: variable 'y' must have a value in the scope, got none; "
        "is it persistable, and did the program run?"
    )


def test_a_model_is_saved_and_loaded_under_names(tmp_path):
    init_program, program = Program(), Program()
    with program_guard(program, init_program):
        x = layers.data(name="x", shape=[2], dtype="float32")
        y = layers.data(name="y", shape=[1], dtype="float32")
        y_predict = layers.fc(input=x, size=1, act=None)
        cost = layers.square_error_cost(input=y_predict, label=y)
        avg_cost = layers.mean(cost)
        sgd_optimizer = fluid.optimizer.SGDOptimizer(learning_rate=0.001)
        sgd_optimizer.minimize(avg_cost, init_program)
    exe = Executor(core.CPUPlace())
    exe.run(init_program, feed={}, fetch_list=[])
    tensor_x = np.array([[1, 1], [1, 2], [3, 4], [5, 2]]).astype("float32")
    tensor_y = np.array([[-2], [-3], [-7], [-7]]).astype("float32")
    for _ in range(20):
        exe.run(program, feed={"x": tensor_x, "y": tensor_y}, fetch_list=[avg_cost])
    folder = str(tmp_path)
    save_inference_model(folder, ["x", "y"], [avg_cost], exe, program, "parameters")
    feed = {"x": tensor_x, "y": tensor_y}
    test_program = fluid.io.get_inference_program([avg_cost], main_program=program)
    expected = exe.run(test_program, feed=feed, fetch_list=[avg_cost])[0]
    with fluid.scope_guard(core.Scope()):
        [infer_prog, feed_var_names, fetch_vars] = load_inference_model(
            folder, exe, load_file_name="parameters"
        )
        outs = exe.run(infer_prog, feed=feed, fetch_list=fetch_vars)
    assert feed_var_names == ["x", "y"]
    assert [v.name for v in fetch_vars] == [avg_cost.name]
    assert outs[0] == expected
    with pytest.raises(LookupError):
        load_inference_model(folder, exe)


def test_variables_are_saved_and_loaded_by_predicate_or_list(tmp_path):
    x = layers.data(name="x", shape=[2], dtype="float32")
    loss = layers.mean(layers.fc(input=x, size=3, param_attr="w", bias_attr="b"))
    fluid.optimizer.Momentum(learning_rate=0.1, momentum=0.9).minimize(loss)
    exe = Executor(core.CPUPlace())
    exe.run(fluid.default_startup_program())
    w = fluid.fetch_var("w")
    block = fluid.default_main_program().global_block()
    fluid.io.save_vars(exe, str(tmp_path / "a"), predicate=fluid.io.is_parameter)
    fluid.io.save_vars(exe, str(tmp_path / "b"), vars=[block.var("w")], save_file_name="one")
    fluid.io.save_params(exe, str(tmp_path / "c"), save_file_name="params")
    fluid.io.save_persistables(exe, str(tmp_path / "d"), save_file_name="all")
    for load, folder, settings in (
        (fluid.io.load_vars, "a", {"predicate": lambda var: var.name == "w"}),
        (fluid.io.load_vars, "b", {"vars": [block.var("w")], "load_file_name": "one"}),
        (fluid.io.load_params, "c", {"load_file_name": "params"}),
        (fluid.io.load_persistables, "d", {"load_file_name": "all"}),
    ):
        exe.run(fluid.default_startup_program())
        fluid.global_scope().find_var("w").get_tensor().set(np.zeros_like(w), core.CPUPlace())
        load(exe, str(tmp_path / folder), **settings)
        assert np.array_equal(fluid.fetch_var("w"), w)


def clip_program():
    image = fluid.layers.data(name="x", shape=[20], dtype="float32")
    hidden1 = fluid.layers.fc(input=image, size=16, act="relu")
    hidden2 = fluid.layers.fc(input=hidden1, size=8, act="relu")
    predict = fluid.layers.fc(input=hidden2, size=10, act="softmax")
    label = fluid.layers.data(name="y", shape=[1], dtype="int64")
    cost = fluid.layers.cross_entropy(input=predict, label=label)
    return image, label, hidden1, fluid.layers.mean(cost)


def samples():
    rng = np.random.default_rng(0)
    for _ in range(32):
        yield rng.normal(size=20).astype("float32"), int(rng.integers(10))


def test_gradients_are_clipped_by_their_common_norm():
    clip_norm = 0.01
    prog = fluid.framework.Program()
    with fluid.program_guard(main_program=prog):
        image, label, _, avg_cost = clip_program()
    prog_clip = prog.clone()
    avg_cost_clip = prog_clip.block(0).var(avg_cost.name)
    p_g = fluid.backward.append_backward(loss=avg_cost)
    p_g_clip = fluid.backward.append_backward(loss=avg_cost_clip)
    with fluid.program_guard(main_program=prog_clip):
        fluid.clip.set_gradient_clip(fluid.clip.GradientClipByGlobalNorm(clip_norm=clip_norm))
        p_g_clip = fluid.clip.append_gradient_clip_ops(p_g_clip)
    grad_list = [elem[1] for elem in p_g]
    grad_clip_list = [elem[1] for elem in p_g_clip]
    train_reader = fluid.batch(fluid.reader.shuffle(samples, buf_size=8192), batch_size=32)
    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    feeder = fluid.DataFeeder(feed_list=[image, label], place=place)
    exe.run(fluid.default_startup_program())
    for data in train_reader():
        out = exe.run(prog, feed=feeder.feed(data), fetch_list=grad_list)
        out_clip = exe.run(prog_clip, feed=feeder.feed(data), fetch_list=grad_clip_list)
        norm, norm_clip = (np.sqrt(sum(np.sum(v * v) for v in each)) for each in (out, out_clip))
        assert norm > clip_norm
        assert norm_clip == pytest.approx(clip_norm, rel=1e-4)


def test_an_error_clip_clips_the_gradient_of_its_variable():
    clip_max, clip_min = 2e-6, -1e-6
    prog = fluid.framework.Program()
    with fluid.program_guard(main_program=prog):
        image, label, hidden1, avg_cost = clip_program()
    prog_clip = prog.clone()
    prog_clip.block(0).var(hidden1.name).set_error_clip(
        fluid.clip.ErrorClipByValue(max=clip_max, min=clip_min)
    )
    avg_cost_clip = prog_clip.block(0).var(avg_cost.name)
    fluid.backward.append_backward(loss=avg_cost)
    fluid.backward.append_backward(loss=avg_cost_clip, callbacks=[fluid.clip.error_clip_callback])
    grads = [p.block(0).var(hidden1.name + "@GRAD") for p in (prog, prog_clip)]
    exe = fluid.Executor(fluid.CPUPlace())
    feeder = fluid.DataFeeder(feed_list=[image, label], place=fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    data = list(samples())
    (out,) = exe.run(prog, feed=feeder.feed(data), fetch_list=[grads[0]])
    (out_clip,) = exe.run(prog_clip, feed=feeder.feed(data), fetch_list=[grads[1]])
    assert np.array_equal(out.clip(clip_min, clip_max).astype("float32"), out_clip)


def test_scopes_nest():
    scope = core.Scope()
    assert scope.find_var("test") is None
    var = scope.var("test")
    assert var is not None
    child = scope.new_scope()
    assert child.find_var("test") is not None
    child.var("inner")
    assert scope.find_var("inner") is None
    scope.drop_kids()


def test_default_scopes_are_entered_and_left():
    from fluidcore.default_scope_funcs import (
        enter_local_scope,
        find_var,
        get_cur_scope,
        leave_local_scope,
        scoped_function,
        var,
    )

    assert get_cur_scope() is not None
    var("var_a")
    assert find_var("var_a") is not None
    enter_local_scope()
    var("var_b")
    assert find_var("var_a") is not None
    assert find_var("var_b") is not None
    leave_local_scope()
    assert find_var("var_b") is None
    seen = []

    def inside():
        var("var_c")
        seen.append(find_var("var_c"))

    scoped_function(inside)
    assert seen[0] is not None
    assert find_var("var_c") is None


@pytest.mark.parametrize("state", ["CPU", "All"])
def test_a_run_is_profiled(state, tmp_path, capsys):
    image = layers.data(name="x", shape=[20], dtype="float32")
    out = layers.fc(input=image, size=4)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    feed = {"x": np.ones((2, 20), "float32")}
    with profile_of(state, "total", str(tmp_path / "profile")):
        exe.run(feed=feed, fetch_list=[out])
        fluid.profiler.reset_profiler()
        exe.run(feed=feed, fetch_list=[out])
    assert "mul" in capsys.readouterr().out
    fluid.profiler.start_profiler(state)
    exe.run(feed=feed, fetch_list=[out])
    fluid.profiler.stop_profiler("total", str(tmp_path / "again"))
    assert "mul" in capsys.readouterr().out
    with fluid.profiler.cuda_profiler("out.csv", "csv"):
        exe.run(feed=feed, fetch_list=[out])


def test_a_persistable_variable_is_fed_though_the_program_overwrites_it():
    x = layers.data(name="x", shape=[2], dtype="float32")
    loss = layers.mean(layers.fc(input=x, size=1, param_attr="w", bias_attr=False))
    fluid.optimizer.SGD(learning_rate=1.0).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    w = np.array([[3.0], [4.0]], "float32")
    feed = {"x": np.ones((1, 2), "float32"), "w": w}
    (value,) = exe.run(feed=feed, fetch_list=[loss])
    assert value == pytest.approx(7.0)
    assert np.allclose(fluid.fetch_var("w"), w - 1)
    assert w[0, 0] == 3


def test_what_fluid_had_to_save_memory_changes_nothing():
    from fluidcore.memory_optimization_transpiler import memory_optimize, release_memory

    x = layers.data(name="x", shape=[13], dtype="float32")
    layers.fc(input=x, size=1, act=None)
    before = str(fluid.default_main_program())
    memory_optimize(fluid.default_main_program())
    release_memory(fluid.default_main_program())
    assert str(fluid.default_main_program()) == before
