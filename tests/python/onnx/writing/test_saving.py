from pathlib import Path

import numpy as np
import onnx
import pytest
from runtimes import by_reference, checked
from saved import saved

import fluidcore as fluid
from fluidcore import layers
from fluidcore.onnx import save
from fluidcore.onnx.writing import to_model

ROWS = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)


def initialized(*outs: fluid.Variable) -> None:
    assert outs
    fluid.Executor().run(fluid.default_startup_program())


def names(values: object) -> list[str]:
    return [value.name for value in values]  # type: ignore[attr-defined]


def test_a_file_holds_the_model(tmp_path: Path) -> None:
    x = layers.data("x", [3])
    y = layers.fc(x, 4, act="relu")
    initialized(y)
    save(fluid.default_main_program(), [x], [y], tmp_path / "model.onnx")
    model = checked(onnx.load(tmp_path / "model.onnx"))
    (want,) = fluid.Executor().run(feed={"x": ROWS}, fetch_list=[y])
    np.testing.assert_allclose(by_reference(model, {"x": ROWS})[0], want, rtol=1e-6)
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


def test_inputs_outputs_and_parameters_have_their_names() -> None:
    x = layers.data("x", [3])
    y = layers.fc(x, 4, param_attr="w", bias_attr="b", name="first")
    graph = saved([y], x=ROWS).model.graph
    assert names(graph.input) == ["x"]
    assert names(graph.output) == [y.name]
    assert names(graph.initializer) == ["w", "b"]


def test_the_model_says_who_made_it_and_in_which_operator_set() -> None:
    x = layers.data("x", [3])
    model = saved([layers.relu(x)], x=ROWS).model
    assert model.producer_name == "fluidcore"
    assert model.producer_version == fluid.__version__
    assert [(each.domain, each.version) for each in model.opset_import] == [("", 20)]
    assert model.ir_version == 9


def test_an_extent_that_is_not_known_is_a_symbol() -> None:
    x = layers.data("x", [-1, -1, 3], append_batch_size=False)
    graph = saved([layers.softmax(x)], x=ROWS[None]).model.graph
    (extents,) = [value.type.tensor_type.shape.dim for value in graph.input]
    assert [extent.dim_param or extent.dim_value for extent in extents] == ["x_0", "x_1", 3]


def test_a_node_says_which_line_it_is_of() -> None:
    x = layers.data("x", [3])
    (node,) = saved([layers.relu(x)], x=ROWS).model.graph.node
    assert node.doc_string.startswith("tests/python/onnx/writing/test_saving.py:")


def test_constants_are_nodes_and_equal_ones_one() -> None:
    x = layers.data("x", [3])
    y = layers.fc(x, 4, param_attr="w", bias_attr=False)
    graph = saved([y * 0.5 + layers.exp(y) * 0.5 + 2.0], x=ROWS).model.graph
    assert names(graph.initializer) == ["w"]
    assert [node.op_type for node in graph.node].count("Constant") == 2


def test_only_what_the_fetches_need_is_written() -> None:
    x, label = layers.data("x", [3]), layers.data("label", [1], dtype="int64")
    scores = layers.fc(x, 4)
    layers.mean(layers.softmax_with_cross_entropy(scores, label))
    model = saved([scores], x=ROWS)
    assert model.node_types() == ["MatMul", "Add"]
    model.agrees("reference")


def test_a_program_that_trains_is_written_without_its_training() -> None:
    x = layers.data("x", [3])
    y = layers.batch_norm(layers.fc(x, 4))
    cost = layers.mean(layers.dropout(y, 0.5))
    fluid.optimizer.Adam(0.01).minimize(cost)
    model = saved([cost], x=ROWS)
    assert model.node_types() == [
        *("MatMul", "Add", "BatchNormalization", "Mul", "ReduceMean", "Reshape")
    ]
    model.agrees("reference")
    assert "adam" in [op.type for op in fluid.default_main_program().global_block().ops]


def test_what_is_fetched_may_be_fed_or_a_parameter_or_there_twice() -> None:
    x = layers.data("x", [3])
    y = layers.fc(x, 4, param_attr="w", bias_attr=False)
    w = fluid.default_main_program().global_block().var("w")
    model = saved([x, w, y, y], x=ROWS)
    assert names(model.model.graph.output) == ["x_1", "w", y.name, f"{y.name}_1"]
    model.agrees("reference")


def test_a_variable_in_the_middle_may_be_fed() -> None:
    x = layers.data("x", [3])
    hidden = layers.tanh(x)
    y = layers.exp(hidden)
    model = checked(to_model(fluid.default_main_program(), [hidden], [y]))
    assert [node.op_type for node in model.graph.node] == ["Exp"]
    np.testing.assert_allclose(by_reference(model, {hidden.name: ROWS})[0], np.exp(ROWS), rtol=1e-6)


def test_a_variable_may_be_written_several_times() -> None:
    x = layers.data("x", [1], append_batch_size=False)
    first = layers.increment(x, 1.0)
    y = layers.scale(first, 10.0)
    layers.increment(x, 1.0)
    model = saved([y, x], x=np.array([1], np.float32))
    assert names(model.model.graph.output) == [y.name, "x_1"]
    model.agrees("reference")


def test_the_parameters_of_a_scope_are_taken() -> None:
    x = layers.data("x", [3])
    y = layers.fc(x, 1, param_attr="w", bias_attr=False)
    scope = fluid.Scope()
    scope.var("w").get_tensor().set(np.full((3, 1), 2, np.float32))
    model = to_model(fluid.default_main_program(), [x], [y], scope)
    np.testing.assert_array_equal(by_reference(model, {"x": ROWS})[0], [[4], [-10]])


def test_a_parameter_without_a_value_is_an_error() -> None:
    x = layers.data("x", [3])
    y = layers.fc(x, 1, param_attr="w")
    with pytest.raises(
        fluid.core.NotFound,
        match=r"^onnx.save: variable 'w' must have a value in the scope, got none; run the startup "
        "program first$",
    ):
        to_model(fluid.default_main_program(), [x], [y])


def test_data_that_is_not_fed_is_an_error() -> None:
    x, z = layers.data("x", [3]), layers.data("z", [3])
    y = x + z
    with pytest.raises(
        fluid.InvalidArgument,
        match=r"^onnx.save: the fetches must need only what is fed, \['x'\]; got fetches that need "
        r"\['z'\] too$",
    ):
        to_model(fluid.default_main_program(), [x], [y])


def test_nothing_to_fetch_and_feeding_twice_are_errors() -> None:
    x = layers.data("x", [3])
    program = fluid.default_main_program()
    with pytest.raises(
        fluid.InvalidArgument, match=r"^onnx.save: there must be a variable to fetch, got none$"
    ):
        to_model(program, [x], [])
    with pytest.raises(
        fluid.InvalidArgument,
        match=r"^onnx.save: feeds must be different, got \['x', 'x'\]$",
    ):
        to_model(program, [x, "x"], [layers.relu(x)])


def test_an_array_cannot_be_fetched() -> None:
    array = layers.create_array("float32", shape=[2])
    with pytest.raises(
        fluid.InvalidArgument, match=r"^onnx.save: feeds and fetches must be tensors, got .*array_0"
    ):
        to_model(fluid.default_main_program(), [], [array])


def test_an_unknown_variable_is_an_error() -> None:
    x = layers.data("x", [3])
    with pytest.raises(fluid.core.NotFound, match="no variable 'y'"):
        to_model(fluid.default_main_program(), [x], ["y"])
    with pytest.raises(TypeError, match=r"^onnx.save: program must be a Program, got str$"):
        to_model("program", [x], ["y"])  # type: ignore[arg-type]


def test_a_gradient_has_no_form() -> None:
    x = layers.data("x", [3])
    y = layers.fc(x, 1, param_attr="w")
    fluid.append_backward(layers.mean(y))
    initialized(y)
    with pytest.raises(
        fluid.InvalidArgument,
        match=r"the operator must have an ONNX form, got one without: a gradient; save the program "
        "as it was before append_backward or minimize",
    ):
        to_model(fluid.default_main_program(), [x], ["w@GRAD"])


def test_an_operator_of_ones_own_has_no_form() -> None:
    @fluid.custom_op("doubled", inputs=["X"], outputs=["Out"])
    class Doubled:
        """Out = 2 X."""

        @staticmethod
        def forward(x: np.ndarray, out: np.ndarray) -> None:
            np.multiply(2, x, out=out)

    x = layers.data("x", [3])
    with pytest.raises(
        fluid.InvalidArgument,
        match=r"^onnx.save: doubled: the operator must have an ONNX form, got one without: it is "
        "one of your own",
    ):
        to_model(fluid.default_main_program(), [x], [Doubled(x)])


@pytest.mark.parametrize("with_forward", [False, True])
def test_an_operator_of_ones_own_is_written_as_its_layers(with_forward: bool) -> None:
    def forward(x: np.ndarray, out: np.ndarray) -> None:
        np.multiply(x, np.tanh(x), out=out)

    functions: dict[str, object] = {
        "decompose": lambda x: layers.elementwise_mul(x, layers.tanh(x))
    }
    if with_forward:
        functions["forward"] = forward
    layer = fluid.custom_op("shrunk", inputs=["X"], outputs=["Out"])(type("F", (), functions))
    y = layer(layers.data("x", [3]))
    before = str(fluid.default_main_program())
    found = saved([y], x=ROWS).model
    assert [node.op_type for node in found.graph.node] == ["Tanh", "Mul"]
    np.testing.assert_allclose(by_reference(found, {"x": ROWS})[0], ROWS * np.tanh(ROWS), rtol=1e-6)
    assert str(fluid.default_main_program()) == before


def test_an_update_has_no_form() -> None:
    x = layers.data("x", [3])
    cost = layers.mean(layers.fc(x, 1, param_attr="w", bias_attr=False))
    fluid.optimizer.SGD(0.1).minimize(cost)
    initialized(cost)
    with pytest.raises(
        fluid.InvalidArgument,
        match=r"got one without: (a gradient|it updates parameters)",
    ):
        to_model(fluid.default_main_program(), [x], ["w"])


def test_what_changes_from_run_to_run_has_no_form() -> None:
    counter = layers.create_global_var([1], 0.0, "float32", persistable=True, name="counter")
    layers.increment(counter, 1.0)
    y = layers.scale(counter, 2.0)
    initialized(y)
    with pytest.raises(
        fluid.InvalidArgument,
        match=r"^onnx.save: increment: a program must leave what lives between runs as it is, got "
        "'counter', which is persistable and written; an ONNX model keeps nothing",
    ) as caught:
        to_model(fluid.default_main_program(), [], [y])
    assert "layers.increment(counter, 1.0)" in caught.value.__notes__[0]


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    x = layers.data("x", [3])
    with pytest.raises(OSError, match="no_folder"):
        save(fluid.default_main_program(), [x], [layers.relu(x)], tmp_path / "no_folder" / "m")


def test_large_parameters_go_into_a_file_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = layers.data("x", [64])
    y = layers.fc(x, 64, param_attr="w", bias_attr=False)
    initialized(y)
    monkeypatch.setattr("fluidcore.onnx.writing.model._LARGEST", 4096)
    for _ in range(2):
        save(fluid.default_main_program(), [x], [y], tmp_path / "model.onnx")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.onnx", "model.onnx.data"]
    assert (tmp_path / "model.onnx.data").stat().st_size == 4 * 64 * 64
    onnx.checker.check_model(str(tmp_path / "model.onnx"), full_check=True)
    (w,) = onnx.load(tmp_path / "model.onnx").graph.initializer
    value = np.asarray(fluid.global_scope().find_var("w").get_tensor())
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(w), value)


def test_without_the_package_the_error_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    x = layers.data("x", [3])
    with pytest.raises(ImportError, match=r"run pip install 'fluidcore-dl\[onnx\]'"):
        to_model(fluid.default_main_program(), [x], [layers.relu(x)])
