import subprocess
import sys

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from small_models import model_of, one_node, run, tensor, value

import fluidcore as fluid
from fluidcore import core, layers
from fluidcore import onnx as fluid_onnx


def linear(**settings):
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"], name="mul"),
        helper.make_node("Add", ["product", "b"], ["y"], name="add"),
    ]
    weights = [tensor("w", [[1.0, 2.0], [3.0, 4.0]]), tensor("b", [10.0, 20.0])]
    return model_of(nodes, [value("x", ["n", 2])], [value("y", ["n", 2])], weights, **settings)


def test_a_model_is_a_program_with_names_to_feed_and_variables_to_fetch():
    model = fluid_onnx.load(linear())
    assert model.feeds == ["x"]
    assert [variable.name for variable in model.fetches] == ["y"]
    assert model.outputs == ["y"]
    assert [op.type for op in model.program.global_block().ops] == ["matmul", "elementwise_add"]
    assert model.program.global_block().var("product").shape == (-1, 2)
    (y,) = fluid.Executor().run(model.program, {"x": [[1.0, 1.0]]}, model.fetches)
    np.testing.assert_array_equal(y, [[14.0, 26.0]])


def test_floating_initializers_are_trainable_parameters_with_values_in_the_scope():
    scope = fluid.Scope()
    model = fluid_onnx.load(linear(), scope=scope)
    assert [(p.name, p.trainable) for p in model.program.all_parameters()] == [
        ("w", True),
        ("b", True),
    ]
    np.testing.assert_array_equal(scope.find_var("b").get_tensor(), [10.0, 20.0])
    assert fluid.global_scope().find_var("b") is None
    assert model.scope is scope


def test_a_file_is_read_as_a_model_is(tmp_path):
    (tmp_path / "linear.onnx").write_bytes(linear().SerializeToString())
    (y,) = run(str(tmp_path / "linear.onnx"), {"x": np.ones((1, 2), np.float32)})
    np.testing.assert_array_equal(y, [[14.0, 26.0]])


def test_symbols_and_shapes_fix_open_extents():
    assert fluid_onnx.load(linear(), dims={"n": 5}).fetches[0].shape == (5, 2)
    assert fluid_onnx.load(linear(), shapes={"x": [7, 2]}).fetches[0].shape == (7, 2)


def test_an_input_that_a_shape_depends_on_is_given_as_a_constant():
    x, shape = np.arange(6, dtype=np.float32), np.array([2, 3])
    model = one_node("Reshape", x, shape)
    with pytest.raises(fluid_onnx.Unsupported) as error:
        fluid_onnx.load(model)
    assert str(error.value) == (
        "small: node 'it' (Reshape, opset 17): input 1 must be known while the model is read, got "
        "'x1', which is known only at run time; if it is an input of the graph, give constants to "
        "load"
    )
    loaded = fluid_onnx.load(model, constants={"x1": shape})
    assert loaded.feeds == ["x0"]
    assert loaded.fetches[0].shape == (2, 3)


def test_constants_and_shapes_must_be_of_inputs_and_fit():
    with pytest.raises(core.InvalidArgument, match=r"shapes must be of inputs .*, got \['z'\]"):
        fluid_onnx.load(linear(), shapes={"z": [1]})
    with pytest.raises(
        core.InvalidArgument, match=r"\['x'\] must be float32 \[-1, 2\], got float64 \[2\]"
    ):
        fluid_onnx.load(linear(), constants={"x": np.ones(2)})


def test_a_shape_with_an_open_extent_is_followed_to_a_reshape():
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "zero"], ["batch"]),
        helper.make_node("Unsqueeze", ["batch", "axes"], ["first"]),
        helper.make_node("Concat", ["first", "rest"], ["wanted"], axis=0),
        helper.make_node("Reshape", ["x", "wanted"], ["y"]),
    ]
    known = [
        tensor("zero", 0, np.int64),
        tensor("axes", [0], np.int64),
        tensor("rest", [2, 3], np.int64),
    ]
    model = model_of(nodes, [value("x", ["n", 6])], [value("y", ["n", 2, 3])], known)
    loaded = fluid_onnx.load(model)
    assert [op.type for op in loaded.program.global_block().ops] == ["reshape"]
    (y,) = fluid.Executor().run(loaded.program, {"x": np.zeros((4, 6), "f4")}, loaded.fetches)
    assert y.shape == (4, 2, 3)


def extent_of(name, axis=0):
    """Nodes that take one extent of a value as [1]."""
    return [
        helper.make_node("Shape", [name], [f"{name}.shape"], start=axis, end=axis + 1),
    ]


def test_an_open_extent_is_the_same_one_wherever_it_is():
    nodes = [
        *extent_of("x"),
        helper.make_node("Relu", ["x"], ["positive"]),
        helper.make_node("Concat", ["x.shape", "rest"], ["wanted"], axis=0),
        helper.make_node("Reshape", ["positive", "wanted"], ["y"]),
    ]
    known = [tensor("rest", [2, -1], np.int64)]
    loaded = fluid_onnx.load(
        model_of(nodes, [value("x", ["n", 6])], [value("y", ["n", 2, 3])], known)
    )
    assert loaded.fetches[0].shape == (-1, 2, 3)


def test_what_is_expanded_to_an_open_extent_is_repeated_when_the_program_runs():
    nodes = [
        *extent_of("x"),
        helper.make_node("Concat", ["x.shape", "rest"], ["asked"], axis=0),
        helper.make_node("Equal", ["asked", "minus"], ["is_kept"]),
        helper.make_node("Where", ["is_kept", "one", "asked"], ["wanted"]),
        helper.make_node("Expand", ["token", "wanted"], ["tokens"]),
        helper.make_node("Concat", ["tokens", "x"], ["y"], axis=1),
    ]
    known = [
        tensor("rest", [-1], np.int64),
        tensor("minus", [-1], np.int64),
        tensor("one", [1], np.int64),
        tensor("token", [[7.0]]),
    ]
    model = fluid_onnx.load(model_of(nodes, [value("x", ["n", 2])], [value("y", ["n", 3])], known))
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    with fluid.program_guard(model.program, fluid.Program()):
        ((_, gradient),) = fluid.append_backward(layers.mean(model.fetches[0]))
    y, token = fluid.Executor().run(model.program, {"x": x}, [*model.fetches, gradient])
    np.testing.assert_array_equal(y, np.concatenate([np.full((3, 1), 7.0), x], 1))
    np.testing.assert_allclose(token, [[1 / 3]], rtol=1e-6)


def test_a_constant_may_have_one_open_extent():
    nodes = [
        *extent_of("x"),
        helper.make_node("Concat", ["two", "x.shape"], ["wanted"], axis=0),
        helper.make_node("ConstantOfShape", ["wanted"], ["y"], value=tensor("v", [3.0])),
    ]
    known = [tensor("two", [2], np.int64)]
    model = model_of(nodes, [value("x", ["n"])], [value("y", [2, "n"])], known)
    np.testing.assert_array_equal(run(model, {"x": np.ones(4, "f4")})[0], np.full((2, 4), 3.0))


def test_images_of_a_batch_of_any_size_are_resized():
    nodes = [
        *extent_of("x"),
        helper.make_node("Concat", ["x.shape", "rest"], ["sizes"], axis=0),
        helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode="nearest"),
    ]
    known = [tensor("rest", [1, 2, 6], np.int64)]
    shapes = [value("x", ["n", 1, 2, 3])], [value("y", ["n", 1, 2, 6])]
    x = np.arange(12, dtype=np.float32).reshape(2, 1, 2, 3)
    (y,) = run(model_of(nodes, *shapes, known), {"x": x})
    np.testing.assert_array_equal(y, x.repeat(2, 3))


def test_numbers_without_a_dimension_are_not_trained():
    nodes = [
        helper.make_node("Mul", ["x", "factor"], ["scaled"]),
        helper.make_node("Mul", ["scaled", "w"], ["y"]),
    ]
    known = [tensor("factor", 0.5), tensor("w", [2.0])]
    model = fluid_onnx.load(model_of(nodes, [value("x", [1])], [value("y", [1])], known))
    assert [parameter.name for parameter in model.program.all_parameters()] == ["w"]


def test_extents_that_do_not_work_out_are_refused_until_one_is_given():
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Mul", ["shape", "more"], ["longer"]),
        helper.make_node("Div", ["longer", "less"], ["wanted"]),
        helper.make_node("Reshape", ["x", "wanted"], ["y"]),
    ]
    known = [tensor("more", [2, 1], np.int64), tensor("less", [1, 2], np.int64)]
    model = model_of(nodes, [value("x", ["a", "b"])], [value("y", ["c", "d"])], known)
    with pytest.raises(fluid_onnx.Unsupported) as error:
        fluid_onnx.load(model)
    assert str(error.value) == (
        "small: node 4 (Reshape, opset 17): at most one extent of the shape must be open, but for "
        "those of other values, got ['?', '?'] for [a, b]; give dims or shapes to load"
    )
    assert fluid_onnx.load(model, dims={"b": 6}).fetches[0].shape == (-1, 3)


def test_what_depends_on_known_numbers_alone_is_calculated_while_it_is_read():
    nodes = [
        helper.make_node("Constant", [], ["two"], value=tensor("two", 2.0)),
        helper.make_node("Sqrt", ["two"], ["root"]),
        helper.make_node("Mul", ["x", "root"], ["y"]),
    ]
    loaded = fluid_onnx.load(model_of(nodes, [value("x", [1])], [value("y", [1])]))
    assert [op.type for op in loaded.program.global_block().ops] == ["elementwise_mul"]
    assert loaded.program.all_parameters() == []
    (y,) = fluid.Executor().run(loaded.program, {"x": np.ones(1, "f4")}, loaded.fetches)
    np.testing.assert_array_equal(y, [np.sqrt(np.float32(2.0))])


def test_an_output_may_be_an_input_or_an_initializer():
    outputs = [value("x", [1]), value("w", [1])]
    x, w = run(model_of([], [value("x", [1])], outputs, [tensor("w", [3.0])]), {"x": [1.0]})
    assert (x.item(), w.item()) == (1.0, 3.0)
    node = helper.make_node("Identity", ["x"], ["y"])
    model = fluid_onnx.load(model_of([node], [value("x", [1])], [value("y", [1])]))
    assert [(op.type, op.output("Out")) for op in model.program.global_block().ops] == [
        ("assign", ["y"])
    ]


def test_metadata_is_kept():
    model = linear(producer_name="somebody", doc_string="what it is")
    helper.set_model_props(model, {"labels": "a,b"})
    metadata = fluid_onnx.load(model).metadata
    assert metadata == {
        "producer_name": "somebody",
        "doc_string": "what it is",
        "labels": "a,b",
    }


def test_a_batch_normalization_goes_back_to_training():
    x = np.array([[[1.0, 3.0]], [[5.0, 7.0]]], np.float32)
    node = helper.make_node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"], name="norm")
    statistics = [tensor(n, [k]) for n, k in (("s", 1.0), ("b", 0.0), ("m", 0.0), ("v", 1.0))]
    loaded = fluid_onnx.load(
        model_of([node], [value("x", [2, 1, 2])], [value("y", [2, 1, 2])], statistics)
    )
    exe = fluid.Executor()
    (y,) = exe.run(loaded.program, {"x": x}, loaded.fetches)
    np.testing.assert_allclose(y, x, rtol=1e-4)
    assert [p.name for p in loaded.program.all_parameters() if p.trainable] == ["s", "b"]
    (op,) = loaded.program.global_block().ops
    op.set_attr("is_test", False)
    (y,) = exe.run(loaded.program, {"x": x}, loaded.fetches)
    np.testing.assert_allclose(y.mean(), 0.0, atol=1e-6)
    np.testing.assert_allclose(loaded.scope.find_var("m").get_tensor(), [0.4], rtol=1e-6)


def test_the_head_of_a_loaded_network_is_replaced_and_trained():
    rng = np.random.default_rng(3)
    nodes = [
        helper.make_node("Flatten", ["image"], ["flat"]),
        helper.make_node("Gemm", ["flat", "w"], ["hidden"]),
        helper.make_node("Relu", ["hidden"], ["features"]),
        helper.make_node("Gemm", ["features", "head"], ["scores"]),
    ]
    weights = [
        tensor("w", rng.normal(0, 0.1, (64, 32))),
        tensor("head", rng.normal(0, 0.1, (32, 4))),
    ]
    inputs = [value("image", ["n", 1, 8, 8])]
    model = fluid_onnx.load(model_of(nodes, inputs, [value("scores", ["n", 4])], weights))
    program, startup = model.program, fluid.Program()
    program.random_seed = startup.random_seed = 1
    with fluid.program_guard(program, startup):
        label = layers.data("label", [1], dtype="int64")
        logits = layers.fc(program.global_block().var("features"), 10)
        loss = layers.mean(layers.softmax_with_cross_entropy(logits, label))
        accuracy = layers.accuracy(layers.softmax(logits), label)
        fluid.optimizer.Adam(learning_rate=0.01).minimize(loss)
    exe = fluid.Executor()
    exe.run(startup)
    data = fluid.datasets.digits()
    before = np.array(fluid.global_scope().find_var("w").get_tensor())
    for _ in range(40):
        exe.run(program, {"image": data.train_images, "label": data.train_labels}, [loss])
    feed = {"image": data.test_images, "label": data.test_labels}
    (right,) = exe.run(program.prune(accuracy), feed, [accuracy])
    assert right.item() > 0.85
    assert np.abs(np.array(fluid.global_scope().find_var("w").get_tensor()) - before).max() > 0.01


def test_a_loaded_program_is_saved_and_loaded_as_every_program(tmp_path):
    model = fluid_onnx.load(linear())
    exe = fluid.Executor()
    fluid.io.save_inference_model(tmp_path, model.feeds, model.fetches, exe, model.program)
    with fluid.scope_guard(fluid.Scope()):
        program, feeds, fetches = fluid.io.load_inference_model(tmp_path, exe)
        (y,) = exe.run(program, {feeds[0]: np.ones((1, 2), np.float32)}, fetches)
    np.testing.assert_array_equal(y, [[14.0, 26.0]])


def test_importing_it_does_not_import_onnx():
    text = "import sys, fluidcore.onnx; assert 'onnx' not in sys.modules"
    subprocess.run([sys.executable, "-c", text], check=True)


def test_the_declared_element_type_of_an_output_must_be_that_of_its_value():
    node = helper.make_node("Relu", ["x"], ["y"])
    model = model_of([node], [value("x", [1])], [value("y", [1], TensorProto.DOUBLE)])
    with pytest.raises(fluid_onnx.Unsupported) as error:
        fluid_onnx.load(model)
    assert str(error.value) == ("small: output 'y': must be DOUBLE as the model says, got float32")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int16", "int32", "bool"])
def test_elements_may_be_stored_in_fields(dtype):
    import ml_dtypes

    element = np.dtype(getattr(ml_dtypes, dtype) if dtype == "bfloat16" else dtype)
    array = np.array([0, 1, 1], element)
    stored = numpy_helper.from_array(array, "w")
    kind = stored.data_type
    fields = helper.make_tensor("w", kind, [3], array.astype(np.float64).tolist())
    assert not fields.HasField("raw_data")
    (y,) = run(model_of([], [], [value("w", [3], kind)], [fields]))
    assert y.dtype == element
    np.testing.assert_array_equal(y.astype(float), [0, 1, 1])
