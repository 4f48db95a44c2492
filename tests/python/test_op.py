from __future__ import annotations

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore.op import Operator


def scope_with(**arrays: np.ndarray) -> fluid.Scope:
    scope = fluid.Scope()
    for name, array in arrays.items():
        scope.var(name).get_tensor().set(array)
    return scope


def value(scope: fluid.Scope, name: str) -> np.ndarray:
    return np.array(scope.find_var(name).get_tensor())


def test_an_operator_reads_the_scope_and_writes_it():
    scope = scope_with(w=np.ones(3, np.float32), g=np.ones(3, np.float32), lr=np.float32([0.5]))
    sgd = Operator("sgd", Param="w", Grad="g", LearningRate="lr", ParamOut="w")
    sgd.run(scope, fluid.CPUPlace())
    sgd.run(scope, fluid.CPUPlace())
    assert value(scope, "w").tolist() == [0.0, 0.0, 0.0]


def test_a_list_of_names_and_attributes():
    scope = scope_with(a=np.ones((2, 1), np.float32), b=np.zeros((2, 2), np.float32))
    Operator("concat", X=["a", "b"], Out="c", axis=1).run(scope, fluid.CPUPlace())
    assert value(scope, "c").tolist() == [[1, 0, 0], [1, 0, 0]]


def test_what_is_no_part_of_an_operator_is_an_error():
    with pytest.raises(fluid.NotFound, match="sgd: no slot or attribute 'Params'; did you mean"):
        Operator("sgd", Params="w")
    with pytest.raises(fluid.NotFound, match="no operator 'sgdd'"):
        Operator("sgdd")
    with pytest.raises(TypeError, match="concat: X must be a name or a list of names, got 3"):
        Operator("concat", X=3)


def test_an_input_without_a_value_is_an_error_and_changes_nothing():
    scope = scope_with(x=np.ones(2, np.float32))
    add = Operator("elementwise_add", X="x", Y="y", Out="z")
    with pytest.raises(fluid.NotFound, match="elementwise_add: 'y' must have a value in the scope"):
        add.run(scope, fluid.CPUPlace())
    scope.var("y").get_tensor().set(np.ones(3, np.float32))
    with pytest.raises(fluid.InvalidArgument, match="must have equal extents"):
        add.run(scope, fluid.CPUPlace())
    assert scope.find_var("z") is None


def test_the_slots_and_attributes_of_an_operator_are_told():
    assert Operator("sum", X=["a", "b"], Out="c").type() == "sum"
    assert Operator.get_op_inputs("concat") == [("X", True)]
    assert Operator.get_op_outputs("concat") == [("Out", False)]
    assert Operator.get_op_attr_names("mul") == ["x_num_col_dims", "y_num_col_dims"]
    proto = fluid.framework.OpProtoHolder.instance().get_op_proto("batch_norm")
    assert [slot.name for slot in proto.inputs][:3] == ["X", "Scale", "Bias"]
    intermediate = [slot.name for slot in proto.outputs if slot.intermediate]
    assert intermediate == ["SavedMean", "SavedVariance"]
    assert proto.attrs[0].comment
    assert len(fluid.framework.get_all_op_protos()) == len(fluid.core.op_types())
    with pytest.raises(fluid.NotFound, match="no operator 'sgdd'"):
        Operator.get_op_inputs("sgdd")
