"""Files come from strangers: whatever is wrong with one is an error that says what, at once."""

import subprocess
import sys
import textwrap
import time
from contextlib import suppress

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.external_data_helper import set_external_data
from small_models import FLOAT, model_of, tensor, value

import fluidcore as fluid
from fluidcore import core
from fluidcore import onnx as fluid_onnx

X, Y = [value("x", [2])], [value("y", [2])]
RELU = helper.make_node("Relu", ["x"], ["y"], name="it")


def refusal(model, **settings):
    """What the error says."""
    scope = fluid.Scope()
    with pytest.raises(fluid_onnx.Unsupported) as error:
        fluid_onnx.load(model, scope=scope, **settings)
    assert scope.local_var_names() == []
    return str(error.value)


def written(folder, model):
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return str(path)


def test_a_file_that_is_missing_is_not_found(tmp_path):
    with pytest.raises(core.NotFound, match=r"load: no file .*nothing\.onnx"):
        fluid_onnx.load(tmp_path / "nothing.onnx")


@pytest.mark.parametrize("text", [b"", b"no model", b"\x08\x07", b"\xff" * 99])
def test_a_file_of_something_else_is_refused(tmp_path, text):
    (tmp_path / "model.onnx").write_bytes(text)
    assert "must be an ONNX model, got a file" in refusal(tmp_path / "model.onnx")


def test_a_file_that_is_cut_off_is_refused_wherever_that_is(tmp_path):
    node = helper.make_node("Add", ["x", "w"], ["y"])
    text = model_of([node], X, Y, [tensor("w", [1.0, 2.0])]).SerializeToString()
    for end in range(0, len(text), 3):
        (tmp_path / "model.onnx").write_bytes(text[:end])
        with pytest.raises(fluid_onnx.Unsupported):
            fluid_onnx.load(tmp_path / "model.onnx")


def test_bytes_that_were_changed_are_refused_or_read_but_no_crash(tmp_path):
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
    x, y = [value("x", [1, 1, 4, 4])], [value("y", [1, 1, 4, 4])]
    text = model_of([node], x, y, [tensor("w", np.ones((1, 1, 3, 3)))]).SerializeToString()
    rng = np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(text)
        for position in rng.integers(0, len(text), 2):
            damaged[position] = rng.integers(256)
        (tmp_path / "model.onnx").write_bytes(damaged)
        with suppress(core.InvalidArgument):
            fluid_onnx.load(tmp_path / "model.onnx", scope=fluid.Scope())


def test_names_that_are_no_text_are_refused(tmp_path):
    text = model_of([RELU], X, Y).SerializeToString().replace(b"\x01x", b"\x01\xff")
    (tmp_path / "model.onnx").write_bytes(text)
    assert refusal(tmp_path / "model.onnx") == (
        "model.onnx: names must be text in UTF-8, got b'\\xff'"
    )


def test_a_cycle_is_refused():
    nodes = [
        helper.make_node("Add", ["x", "b"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Relu", ["b"], ["y"]),
    ]
    assert "must be a valid ONNX model, got Nodes in a graph must be topologically" in refusal(
        model_of(nodes, X, Y)
    )


def test_two_values_of_one_name_are_refused():
    twice = [RELU, helper.make_node("Abs", ["x"], ["y"])]
    assert "'y' has been used as output names multiple times" in refusal(model_of(twice, X, Y))
    both = [tensor("w", [1.0, 1.0]), tensor("w", [2.0, 2.0])]
    node = helper.make_node("Add", ["x", "w"], ["y"])
    assert "w" in refusal(model_of([node], X, Y, both))


def test_an_unknown_input_is_refused():
    node = helper.make_node("Relu", ["nothing"], ["y"], name="it")
    assert "'nothing'" in refusal(model_of([node], X, Y))


@pytest.mark.parametrize(
    ("dims", "elements"), [([2**40], 4), ([2**31, 2**31, 2**31], 1), ([3], 2), ([2], 3)]
)
def test_an_initializer_must_have_the_elements_of_its_shape(dims, elements):
    stored = tensor("w", np.ones(elements))
    del stored.dims[:]
    stored.dims.extend(dims)
    node = helper.make_node("Add", ["x", "w"], ["y"])
    message = refusal(model_of([node], X, Y, [stored]))
    assert "valid ONNX model" in message or f"got {4 * elements}" in message


def test_negative_extents_are_refused():
    stored = tensor("w", [1.0])
    stored.dims[0] = -1
    assert "small" in refusal(model_of([RELU], X, Y, [stored]))
    assert refusal(model_of([RELU], [value("x", [-3])], Y)) == (
        "small: input 'x': all extents must be at least 0, got -3"
    )


def test_element_types_that_fluidcore_does_not_have_are_named():
    for kind, name in ((TensorProto.STRING, "STRING"), (TensorProto.UINT8, "UINT8")):
        assert refusal(model_of([RELU], [value("x", [2], kind)], Y)) == (
            f"small: input 'x': must be of an element type that fluidcore has, got {name}"
        )
    sequence = helper.make_tensor_sequence_value_info("x", FLOAT, None)
    assert "input 'x': must be a tensor, got sequence_type" in refusal(
        model_of([RELU], [sequence], Y)
    )


def external(folder, location, **entries):
    """A model whose w [2] is stored elsewhere."""
    stored = tensor("w", [1.0, 2.0])
    set_external_data(stored, location, **entries)
    stored.ClearField("raw_data")
    node = helper.make_node("Add", ["x", "w"], ["y"])
    return written(folder, model_of([node], X, Y, [stored]))


def test_external_data_are_read_from_the_folder_of_the_model(tmp_path):
    (tmp_path / "weights").mkdir()
    np.array([9.0, 1.0, 2.0], np.float32).tofile(tmp_path / "weights" / "w.bin")
    model = fluid_onnx.load(external(tmp_path, "weights/w.bin", offset=4, length=8))
    np.testing.assert_array_equal(model.scope.find_var("w").get_tensor(), [1.0, 2.0])


@pytest.mark.parametrize("location", ["../w.bin", "/etc/hostname", "", ".", "sub/../../w.bin"])
def test_external_data_outside_of_the_folder_are_refused(tmp_path, location):
    np.ones(2, np.float32).tofile(tmp_path / "w.bin")
    (tmp_path / "model").mkdir()
    assert refusal(external(tmp_path / "model", location)) == (
        "model.onnx: tensor 'w': external data must be a file in the folder of the model, got "
        f"{location!r}"
    )


def test_a_link_out_of_the_folder_is_refused(tmp_path):
    np.ones(2, np.float32).tofile(tmp_path / "w.bin")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "w.bin").symlink_to(tmp_path / "w.bin")
    assert "must be a file in the folder" in refusal(external(tmp_path / "model", "w.bin"))


@pytest.mark.parametrize(
    "entries", [{"length": 2**40}, {"offset": 2**40}, {"offset": 4}, {"length": 4}]
)
def test_external_data_must_be_as_long_as_the_shape_says(tmp_path, entries):
    np.ones(2, np.float32).tofile(tmp_path / "w.bin")
    message = refusal(external(tmp_path, "w.bin", **entries))
    assert "w" in message
    assert "8 bytes in 'w.bin'" in message or "must be a valid ONNX model" in message


def test_external_data_of_a_model_without_a_file_are_refused():
    stored = tensor("w", [1.0, 2.0])
    set_external_data(stored, "w.bin")
    node = helper.make_node("Add", ["x", "w"], ["y"])
    assert "must be in the model itself, got external data 'w.bin'" in refusal(
        model_of([node], X, Y, [stored])
    )


def function(name, *nodes):
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    return helper.make_function("own", name, ["x"], ["y"], nodes, opsets)


def calling(*functions):
    node = helper.make_node(functions[0].name, ["x"], ["y"], domain="own", name="it")
    model = model_of([node], X, Y, functions=functions)
    model.opset_import.append(helper.make_opsetid("own", 1))
    return model


def test_a_function_that_calls_itself_is_refused():
    f = function("F", helper.make_node("G", ["x"], ["y"], domain="own"))
    g = function("G", helper.make_node("F", ["x"], ["y"], domain="own"))
    message = refusal(calling(f, g))
    assert "functions must not call themselves, got F inside itself" in message or (
        "must be a valid ONNX model" in message
    )


def test_functions_that_double_again_and_again_are_refused_in_time():
    functions = [
        function(
            f"F{i}",
            helper.make_node(f"F{i + 1}", ["x"], ["a"], domain="own"),
            helper.make_node(f"F{i + 1}", ["a"], ["y"], domain="own"),
        )
        for i in range(40)
    ]
    functions.append(function("F40", helper.make_node("Identity", ["x"], ["y"])))
    assert "a model must have at most 100,000 nodes, functions written out, got more" in refusal(
        calling(*functions)
    )


def test_what_would_take_memory_while_it_is_read_is_refused():
    shape = tensor("shape", [2**20, 2**20], np.int64)
    nodes = [
        helper.make_node("ConstantOfShape", ["shape"], ["large"]),
        helper.make_node("EyeLike", ["large"], ["y"], name="it"),
    ]
    assert refusal(model_of(nodes, [], [value("y", ["n", "n"])], [shape])).endswith(
        "a model must not need many more numbers that are known while it is read than it has, here "
        "at most 8,388,610, got 1,099,511,627,776"
    )


def test_what_many_nodes_make_of_little_is_left_to_the_run():
    shape = tensor("shape", [1 << 20], np.int64)
    nodes = [helper.make_node("ConstantOfShape", ["shape"], ["v0"])]
    nodes += [helper.make_node("Add", [f"v{i}", "v0"], [f"v{i + 1}"]) for i in range(100)]
    model = fluid_onnx.load(model_of(nodes, [], [value("v100", [1 << 20])], [shape]))
    types = [op.type for op in model.program.global_block().ops]
    assert types.count("elementwise_add") > 90


def test_an_attribute_that_fluidcore_does_not_know_is_refused():
    node = helper.make_node("Relu", ["x"], ["y"], name="it", slope=0.5)
    message = refusal(model_of([node], X, Y))
    assert "slope" in message


def test_numbers_that_do_not_fit_together_are_refused_with_the_node():
    cases = [
        ("Transpose", ["x"], {"perm": [3, 1]}),
        ("Concat", ["x", "x"], {"axis": 9}),
        ("Squeeze", ["x", "seven"], {}),
        ("Softmax", ["x"], {"axis": -7}),
        ("Conv", ["x", "x"], {}),
        ("MaxPool", ["x"], {"kernel_shape": [0, -1]}),
        ("Gather", ["x", "seven"], {}),
        ("Resize", ["x", "", "pair"], {}),
        ("TopK", ["x", "seven"], {}),
        ("DepthToSpace", ["x"], {"blocksize": 0}),
        ("Reshape", ["x", "seven"], {}),
        ("Split", ["x", "seven"], {}),
        ("LSTM", ["x", "x", "x"], {"hidden_size": 3}),
    ]
    for op_type, inputs, attrs in cases:
        outputs = ["y", "z"] if op_type == "TopK" else ["y"]
        node = helper.make_node(op_type, inputs, outputs, name="it", **attrs)
        known = [tensor("seven", [7], np.int64), tensor("pair", [2.0, 2.0])]
        model = model_of([node], X, Y, known, opset=16)
        assert refusal(model).startswith(f"small: node 'it' ({op_type}, opset 16): "), op_type


def test_reading_takes_little_more_memory_than_the_file_has(tmp_path):
    node = helper.make_node("Add", ["x", "w"], ["y"])
    size = 64 << 20
    weights = tensor("w", np.ones((size // 4,)))
    path = written(tmp_path, model_of([node], [value("x", [1])], [value("y", ["n"])], [weights]))
    code = f"""
        import numpy, onnx, fluidcore
        from fluidcore import onnx as fluid_onnx
        def most():
            text = open("/proc/self/status").read()
            return int(text.split("VmHWM:")[1].split()[0]) << 10
        before = most()
        fluid_onnx.load({path!r})
        print((most() - before) / {size})
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
    )
    assert float(run.stdout) < 2.2


def test_nothing_takes_long():
    start = time.process_time()
    assert refusal(calling(function("F", helper.make_node("Nothing", ["x"], ["y"]))))
    assert time.process_time() - start < 5
