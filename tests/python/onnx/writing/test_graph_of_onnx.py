import numpy as np
import pytest

from fluidcore import core
from fluidcore.onnx.writing.graph import Graph, Value


def test_a_number_has_the_dtype_of_what_is_beside_it() -> None:
    graph = Graph()
    (out,) = graph.add("Mul", [Value("float64", (2,)), 3])
    assert out.dtype == "float64"
    number = graph.nodes[0].inputs[1]
    assert number is not None
    assert number.dtype == "float64"
    np.testing.assert_array_equal(number.array, 3)


def test_a_list_is_of_int64() -> None:
    graph = Graph()
    graph.add("Reshape", [Value("float32", (2, 3)), [3, 2]])
    shape = graph.nodes[0].inputs[1]
    assert shape is not None
    assert shape.dtype == "int64"


@pytest.mark.parametrize(
    ("op_type", "dtype", "used"),
    [
        ("Relu", "bfloat16", None),
        ("Elu", "bfloat16", "float32"),
        ("ReduceMax", "int16", "int32"),
        ("ArgMax", "bool", "int32"),
    ],
)
def test_a_dtype_that_onnx_has_not_there_is_cast_to_a_wider_one_and_back(
    op_type: str, dtype: str, used: str | None
) -> None:
    graph = Graph()
    (out,) = graph.add(op_type, [Value(dtype, (2,))])
    types = [node.op_type for node in graph.nodes]
    if used is None:
        assert types == [op_type]
    else:
        assert types[:2] == ["Cast", op_type]
        assert graph.nodes[0].attrs == {"to": used}
    assert out.dtype == ("int64" if op_type == "ArgMax" else dtype)


def test_a_dtype_that_no_wider_one_can_stand_for_is_an_error() -> None:
    with pytest.raises(
        core.InvalidArgument,
        match=r"^onnx.save: the Softmax of ONNX must be given one of .*float32.*, got int64$",
    ):
        Graph().add("Softmax", [Value("int64", (2,))])


def test_a_constant_is_cast_at_once() -> None:
    graph = Graph()
    known = graph.cast(Value("int32", (1,), array=np.array([7], np.int32)), "float32")
    assert known.dtype == "float32"
    assert graph.nodes == []
