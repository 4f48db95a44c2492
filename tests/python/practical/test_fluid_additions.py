"""What programs of Fluid call, in its details: values at the edges, and the texts of errors."""

import pickle

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core, layers


def run(fetch_list, feed=None):
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return exe.run(feed=feed, fetch_list=fetch_list)


# Layers


@pytest.mark.parametrize("curve", ["ROC", "PR"])
@pytest.mark.parametrize("columns", [1, 2])
def test_the_area_of_a_batch_is_that_of_the_metric(curve, columns):
    rng = np.random.default_rng(3)
    scores = rng.random((50, 1)).astype("float32")
    if columns == 2:
        scores = np.concatenate([1 - scores, scores], axis=1)
    labels = (rng.random((50, 1)) < scores[:, -1:]).astype("int64")
    predict = layers.data("predict", [columns])
    label = layers.data("label", [1], dtype="int64")
    area = layers.auc(input=predict, label=label, curve=curve, num_thresholds=20)
    assert area.stop_gradient
    (value,) = run([area], {"predict": scores, "label": labels})
    metric = fluid.metrics.Auc(curve=curve, num_thresholds=20)
    metric.update(scores, labels)
    assert value.shape == (1,)
    assert value[0] == pytest.approx(metric.eval(), rel=1e-5)
    for only in (0, 1):
        (value,) = run([area], {"predict": scores, "label": np.full_like(labels, only)})
        assert value[0] == 0


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"curve": "roc"}, "auc: curve must be 'ROC' or 'PR', got 'roc'"),
        ({"num_thresholds": 0}, "auc: num_thresholds must be a whole number of at least 1, got 0"),
    ],
)
def test_an_area_needs_a_curve_and_thresholds(settings, text):
    predict = layers.data("predict", [2])
    label = layers.data("label", [1], dtype="int64")
    with pytest.raises(core.InvalidArgument) as refused:
        layers.auc(predict, label, **settings)
    assert str(refused.value) == text
    with pytest.raises(core.InvalidArgument, match=r"input must be \[n, 2\] or \[n, 1\]"):
        layers.auc(layers.data("three", [3]), label)
    assert not fluid.default_main_program().global_block().ops


def test_a_counter_starts_at_its_first_number_and_is_shared_by_name():
    counter = layers.autoincreased_step_counter(counter_name="@C@", begin=5, step=2)
    assert layers.autoincreased_step_counter(counter_name="@C@") is counter
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    assert [exe.run(fetch_list=[counter])[0][0] for _ in range(3)] == [5, 7, 9]
    with pytest.raises(core.InvalidArgument, match="must not start with @STEP_COUNTER@"):
        layers.autoincreased_step_counter("@STEP_COUNTER@")


def test_an_extent_of_zero_is_copied():
    x = layers.data("x", [3, 4])
    assert layers.reshape(x, shape=[0, 0, 2, 2]).shape == (-1, 3, 2, 2)
    y = layers.data("y", [-1, -1, 4], append_batch_size=False)
    with pytest.raises(core.InvalidArgument) as refused:
        layers.reshape(y, shape=[0, 0, 2, 2])
    assert str(refused.value) == (
        "reshape: at most one extent may be unknown, got shape [0, 0, 2, 2] for 'y' of shape "
        "[-1, -1, 4]; feed the extents and give them as actual_shape"
    )
    empty = layers.fill_constant([0, 3], "float32", 0.0)
    assert layers.reshape(empty, shape=[3, 0]).shape == (3, 0)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "dynamic_lstm",
            "'dynamic_lstm' works on nested sequences, which there are not; layers.lstm takes "
            "sequences of one length",
        ),
        (
            "open_files",
            "'open_files' reads data by an operator, which there is not; feed a fluid.DataLoader",
        ),
        ("Send", "'Send' is for several machines; a program here runs in one process"),
        ("no_such", "module 'fluidcore.layers' has no layer 'no_such'"),
    ],
)
def test_a_layer_that_is_missing_says_why(name, text):
    assert not hasattr(layers, name)
    with pytest.raises(AttributeError) as missing:
        getattr(layers, name)
    assert str(missing.value) == text
    with pytest.raises(AttributeError, match=r"^module 'fluidcore\.nets' has no 'no_such'$"):
        _ = fluid.nets.no_such


def test_images_are_resized_with_their_corners():
    x = layers.data("x", [1, 2, 2])
    both = [layers.resize_bilinear(x, out_shape=[3, 3]), layers.image_resize(x, scale=1.5)]
    one, other = run(both, {"x": np.float32([[[[0, 2], [4, 6]]]])})
    assert one[0, 0].tolist() == other[0, 0].tolist() == [[0, 1, 2], [2, 3, 4], [4, 5, 6]]
    with pytest.raises(core.InvalidArgument, match="one of out_shape and scale must be given"):
        layers.image_resize(x)
    with pytest.raises(core.InvalidArgument, match="resample must be 'BILINEAR', got 'NEAREST'"):
        layers.image_resize(x, scale=2.0, resample="NEAREST")


# Programs


def test_the_first_shape_of_a_persistable_variable_stays():
    x = layers.data("x", [2])
    kept = layers.create_tensor("float32", name="kept", persistable=True)
    layers.assign(x, kept)
    assert kept.persistable
    run([], {"x": np.ones((3, 2), "float32")})
    assert fluid.fetch_var("kept").shape == (3, 2)
    with pytest.raises(core.InvalidArgument):
        layers.assign(layers.ones([3], "int64"), kept)
    assert kept.persistable


def test_what_is_learnt_how_is_taken_over_by_a_parsed_program():
    x = layers.data("x", [2])
    attr = fluid.ParamAttr(
        name="w", learning_rate=0.5, regularizer=fluid.regularizer.L2Decay(0.1), trainable=False
    )
    layers.fc(x, 2, param_attr=attr, bias_attr=False)
    program = fluid.default_main_program()
    parsed = fluid.Program.parse_from_string(program.desc.serialize_to_string())
    parsed.copy_param_info_from(program)
    (w,) = parsed.global_block().iter_parameters()
    assert isinstance(w.regularizer, fluid.regularizer.L2Decay)
    assert w.optimize_attr == {"learning_rate": 0.5}
    assert not w.trainable
    other = fluid.Program()
    other.global_block().create_parameter(name="w", shape=[3], dtype="float32")
    with pytest.raises(core.InvalidArgument, match="'w' must be the same parameter in both"):
        parsed.copy_param_info_from(other)


def test_members_without_effect_are_there():
    program = fluid.default_main_program()
    x = layers.scale(layers.data("x", [2]), scale=2.0)
    before = str(program)
    program.sync_with_cpp()
    program.global_block().sync_with_cpp()
    assert str(program) == before
    assert "scale" in program.global_block().to_string(True, with_details=True)
    assert x.to_string(True) == repr(x)
    assert fluid.framework.get_var(x.name) is x
    with pytest.raises(LookupError):
        fluid.framework.get_var("y")
    assert core.get_cuda_device_count() == 0


def test_operators_are_deleted():
    x = layers.data("x", [2])
    for factor in (1.0, 2.0, 3.0):
        layers.scale(x, scale=factor)
    program = fluid.default_main_program()
    block = program.global_block()
    assert program.current_block_idx == 0
    block.delete_ops(block.slice_ops(0, 2))
    assert [op.attr("scale") for op in block.ops] == [3.0]
    with pytest.raises(ValueError, match="not in tuple"):
        block.delete_ops([layers.scale(x, scale=1.0)])


def test_updates_are_appended_without_clips_and_decay():
    loss = layers.mean(layers.fc(layers.data("x", [2]), 2, param_attr="w", bias_attr=False))
    optimizer = fluid.optimizer.Momentum(0.5, 0.9, regularization=fluid.regularizer.L2Decay(0.1))
    assert optimizer.global_learning_rate() is None
    grads = fluid.append_backward(loss)
    (op,) = optimizer.create_optimization_pass(grads, loss, fluid.default_startup_program())
    assert (op.type, op.input("Grad")) == ("momentum", ["w@GRAD"])
    rate = optimizer.global_learning_rate()
    assert [rate.name] == op.input("LearningRate")
    given = layers.create_global_var([1], 0.1, "float32", persistable=True)
    assert fluid.optimizer.SGD(given).global_learning_rate() is given


def test_element_types_are_names_and_numbers():
    types = core.VarDesc.VarType
    assert types.FP32 == "float32" == str(types.FP32)
    assert types.FP32 == 5 == int(types.FP32)
    assert types.FP32 != types.FP64
    assert types.FP32 != 6
    assert {types.INT64: 1}["int64"] == 1
    op = fluid.default_main_program().global_block()
    layers.fill_constant([1], types.FP64, 1.0)
    assert op.ops[0].attr("dtype") == types.FP64
    assert types(op.ops[0].attr("dtype")) is types("float64") is types.FP64
    assert pickle.loads(pickle.dumps(types.FP32)) is types.FP32
    with pytest.raises(ValueError, match="99 is not a valid VarType"):
        types(99)


# Running


def test_a_fed_state_is_as_before_after_an_error():
    x = layers.data("x", [2])
    loss = layers.mean(layers.fc(x, 1, param_attr="w", bias_attr=False))
    fluid.optimizer.SGD(learning_rate=1.0).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    before = fluid.fetch_var("w")
    w = np.full((2, 1), 7.0, "float32")
    with pytest.raises(core.Error):
        exe.run(feed={"w": w, "x": np.ones((1, 3), "float32")}, fetch_list=[loss])
    assert np.array_equal(fluid.fetch_var("w"), before)
    fresh = core.Scope()
    with pytest.raises(core.Error):
        exe.run(feed={"w": w, "x": np.ones((1, 2), "float32")}, fetch_list=[loss], scope=fresh)
    assert fresh.find_var("w") is None or not fresh.find_var("w").get_tensor().is_initialized()
    assert "sgd" in exe.plan(feed={"w": w, "x": np.ones((1, 2), "float32")}, fetch_list=[loss])


def test_a_fetched_array_is_a_copy():
    counter = layers.autoincreased_step_counter()
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    first = fluid.fetch_var(counter.name)
    exe.run()
    assert first.tolist() == [0]
    assert fluid.fetch_var(counter.name).tolist() == [1]


def test_the_global_scope_is_switched():
    other = core.Scope()
    former = fluid.switch_scope(other)
    assert fluid.global_scope() is other
    assert fluid.executor.switch_scope(former) is other
    with pytest.raises(TypeError, match="scope must be a Scope, got int"):
        fluid.switch_scope(3)


def test_a_scope_is_left_only_once():
    with pytest.raises(core.InvalidArgument) as refused:
        fluid.default_scope_funcs.leave_local_scope()
    assert str(refused.value) == (
        "leave_local_scope: must come after enter_local_scope, got none that was entered"
    )


def test_a_parallel_executor_runs_whole_batches():
    x = layers.data("x", [2])
    y = layers.scale(x, scale=2.0)
    loss = layers.mean(y)
    pe = fluid.ParallelExecutor(
        use_cuda=False, loss_name=loss.name, main_program=fluid.default_main_program()
    )
    pe.bcast_params()
    assert pe.device_count == 1
    ones = np.ones((2, 2), "float32")
    (value,) = pe.run(fetch_list=[loss.name], feed={"x": ones})
    assert value.tolist() == [2.0]
    (value,) = pe.run([y.name], feed=[{"x": ones}, {"x": 2 * ones}])
    assert value[:, 0].tolist() == [2, 2, 4, 4]
    with pytest.raises(core.InvalidArgument, match="every item of feed must have the same names"):
        pe.run([loss.name], feed=[{"x": ones}, {"y": ones}])
    with pytest.raises(core.InvalidArgument, match="use_cuda must be False in this build"):
        fluid.ParallelExecutor(True)


def test_a_profile_is_stopped_after_it_was_started():
    with pytest.raises(core.InvalidArgument) as refused:
        fluid.profiler.stop_profiler()
    assert str(refused.value) == (
        "stop_profiler: must come after start_profiler, got none that was started"
    )
    with pytest.raises(core.InvalidArgument, match='start_profiler: state must be "CPU"'):
        fluid.profiler.start_profiler("TPU")
    fluid.profiler.reset_profiler()


# Metrics


def test_an_average_weighs_its_values():
    average = fluid.average.WeightedAverage()
    average.add(value=2.0, weight=1)
    average.add(value=np.float32([4.0]), weight=np.int32([2]))
    assert average.eval() == pytest.approx([10 / 3])
    average.reset()
    with pytest.raises(core.InvalidArgument) as refused:
        average.eval()
    assert str(refused.value) == (
        "WeightedAverage.eval: must come after an add with a weight above 0, got none since the "
        "last reset"
    )
    with pytest.raises(core.InvalidArgument, match=r"weight must be one number, got shape \[2\]"):
        average.add(1.0, [1, 2])
    with pytest.raises(ValueError, match="weight"):
        average.add(1.0, -1)


def test_an_evaluator_counts_until_it_is_reset():
    scores = layers.data("scores", [3])
    label = layers.data("label", [1], dtype="int64")
    accuracy = fluid.evaluator.Accuracy(input=scores, label=label)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    with pytest.raises(core.InvalidArgument, match="got no row since the last reset"):
        accuracy.eval(exe)
    feed = {"scores": np.eye(3, dtype="float32"), "label": np.array([[0], [1], [0]])}
    for _ in range(2):
        (share,) = exe.run(feed=feed, fetch_list=accuracy.metrics)
        assert share[0] == pytest.approx(2 / 3)
    assert accuracy.eval(exe) == pytest.approx(2 / 3)
    assert fluid.fetch_var(accuracy.total.name).tolist() == [6]
    accuracy.reset(exe)
    assert [fluid.fetch_var(state.name).tolist() for state in accuracy.states] == [[0], [0]]
    pruned = fluid.io.get_inference_program([accuracy])
    assert "accuracy" in [op.type for op in pruned.global_block().ops]


def test_an_evaluator_stands_in_the_outermost_block():
    scores = layers.data("scores", [3])
    label = layers.data("label", [1], dtype="int64")
    with (
        pytest.raises(core.InvalidArgument, match="must stand in the outermost block, got block 1"),
        fluid.default_main_program().sub_block(),
    ):
        fluid.evaluator.Accuracy(input=scores, label=label)


# Files


def test_files_are_named_as_later_versions_name_them(tmp_path):
    y = layers.fc(layers.data("x", [2]), 2, param_attr="w")
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    w = fluid.fetch_var("w")
    io = fluid.io
    io.save_params(exe, tmp_path / "a", filename="p")
    io.save_persistables(exe, tmp_path / "b", filename="p")
    io.save_vars(exe, tmp_path / "c", predicate=io.is_parameter, filename="p")
    io.save_inference_model(tmp_path / "d", ["x"], [y], exe, params_filename="p")
    for load in (
        lambda: io.load_params(exe, tmp_path / "a", filename="p"),
        lambda: io.load_persistables(exe, tmp_path / "b", filename="p"),
        lambda: io.load_vars(exe, tmp_path / "c", predicate=io.is_parameter, filename="p"),
        lambda: io.load_inference_model(tmp_path / "d", exe, params_filename="p"),
    ):
        with fluid.scope_guard(core.Scope()):
            load()
            assert np.array_equal(fluid.fetch_var("w"), w)


def test_what_is_saved_is_chosen_by_a_list_or_a_predicate(tmp_path):
    exe = fluid.Executor(fluid.CPUPlace())
    with pytest.raises(TypeError) as refused:
        fluid.io.save_vars(exe, tmp_path)
    assert str(refused.value) == "save_vars: predicate must be a function of a Variable, got None"
    x = layers.data("x", [2])
    layers.fc(x, 2, param_attr="w", bias_attr="b")
    exe.run(fluid.default_startup_program())
    fluid.io.save_vars(exe, tmp_path, vars=["w"])
    with pytest.raises(LookupError, match=r"no variable 'b' in .*params\.safetensors"):
        fluid.io.load_vars(exe, tmp_path, predicate=fluid.io.is_persistable)


@pytest.mark.parametrize("name", ["", "..", "a/b", "program.json"])
def test_a_file_of_parameters_is_in_its_folder(name, tmp_path):
    layers.fc(layers.data("x", [2]), 2)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    with pytest.raises(core.InvalidArgument, match="must be one without a folder, other than prog"):
        fluid.io.save_params(exe, tmp_path / "model", save_file_name=name)
    assert not (tmp_path / "model").exists()


def test_only_parameters_have_values_of_parameters():
    x = layers.data("x", [2])
    layers.fc(x, 2, param_attr="w")
    exe = fluid.Executor(fluid.CPUPlace())
    with pytest.raises(TypeError, match="para must be a Parameter"):
        fluid.io.get_parameter_value(x, exe)
    with pytest.raises(core.InvalidArgument, match="'x' must be a parameter"):
        fluid.io.get_parameter_value_by_name("x", exe)
    with pytest.raises(LookupError, match="get_parameter_value: variable 'w' must have a value"):
        fluid.io.get_parameter_value_by_name("w", exe)


def test_an_evaluator_of_sequences_says_which_metric_takes_lists():
    with pytest.raises(AttributeError) as refused:
        fluid.evaluator.ChunkEvaluator  # noqa: B018
    assert str(refused.value) == (
        "'ChunkEvaluator' works on nested sequences, which there are not; fluidcore.metrics has "
        "count_chunks and ChunkEvaluator for lists"
    )
    assert {"count_chunks", "ChunkEvaluator", "EditDistance"} <= set(fluid.metrics.__all__)
    with pytest.raises(AttributeError, match=r"'fluidcore\.evaluator' has no attribute 'no_such'"):
        fluid.evaluator.no_such  # noqa: B018
