import numpy as np
import pytest
from onnx import helper
from small_models import model_of, one_node, tensor, value

from fluidcore import core
from fluidcore.onnx import Unsupported, backend


def test_a_model_is_prepared_once_and_run_with_arrays_in_order_or_by_name():
    node = helper.make_node("Sub", ["x", "y"], ["z"])
    inputs = [value("x", [2]), value("y", [2])]
    prepared = backend.prepare(model_of([node], inputs, [value("z", [2])]))
    x, y = np.array([3.0, 4.0], np.float32), np.array([1.0, 1.0], np.float32)
    results = prepared.run([x, y])
    np.testing.assert_array_equal(results[0], [2.0, 3.0])
    np.testing.assert_array_equal(results["z"], [2.0, 3.0])
    np.testing.assert_array_equal(prepared.run({"y": x, "x": y})[0], [-2.0, -3.0])


def test_a_model_is_run_at_once():
    node = helper.make_node("Add", ["x", "w"], ["z"])
    model = model_of([node], [value("x", [1])], [value("z", [1])], [tensor("w", [2.0])])
    np.testing.assert_array_equal(backend.run_model(model, [np.ones(1, np.float32)])[0], [3.0])


def test_a_node_is_run_by_itself():
    node = helper.make_node("Concat", ["a", "b"], ["c"], axis=1)
    a, b = np.ones((1, 2), np.float32), np.zeros((1, 1), np.float32)
    np.testing.assert_array_equal(backend.run_node(node, [a, b])[0], [[1.0, 1.0, 0.0]])
    (found,) = backend.run_node(node, [a, b], opset_version=11)
    np.testing.assert_array_equal(found, [[1.0, 1.0, 0.0]])


def test_a_model_is_read_again_for_other_shapes_and_for_other_values_that_shapes_depend_on():
    x, shape = np.arange(6, dtype=np.float32), np.array([2, 3])
    prepared = backend.prepare(one_node("Reshape", x, shape))
    assert prepared.run([x, shape])[0].shape == (2, 3)
    assert prepared.run([x, np.array([3, 2])])[0].shape == (3, 2)
    first, _ = prepared.model_for([x, shape])
    assert prepared.model_for([x + 1, shape])[0] is first
    assert prepared.model_for([x, np.array([6, 1])])[0] is not first


def test_parameters_of_models_that_run_beside_each_other_do_not_mix():
    node = helper.make_node("Add", ["x", "w"], ["z"])
    one, two = (
        backend.prepare(
            model_of([node], [value("x", [1])], [value("z", [1])], [tensor("w", [number])])
        )
        for number in (1.0, 2.0)
    )
    x = np.zeros(1, np.float32)
    assert [each.run([x])[0].item() for each in (one, two, one)] == [1.0, 2.0, 1.0]


def test_only_the_cpu_is_supported():
    assert backend.supports_device("CPU")
    assert not backend.supports_device("CUDA")
    model = one_node("Relu", np.ones(1, np.float32))
    with pytest.raises(core.InvalidArgument, match="device must be 'CPU', got 'CUDA'"):
        backend.prepare(model, "CUDA")


def test_what_is_no_tensor_is_refused():
    prepared = backend.prepare(one_node("Relu", np.ones(1, np.float32)))
    with pytest.raises(Unsupported, match="input 'x0': must be a tensor, got str"):
        prepared.run(["text"])
