"""An operator is tested as Fluid's tests of operators did: beside NumPy, and by differences."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core
from fluidcore.op import Operator

CASES = {
    "mul": {"X": (4, 3), "Y": (3, 2)},
    "concat": {"X": [("x0", (2, 1)), ("x1", (2, 3))]},
    "tanh": {"X": (2, 3)},
}


def arrays_of(op_type):
    """The inputs by slot: a list of (name, array) each."""
    rng = np.random.default_rng(7)
    return {
        slot: [
            (name, rng.random(shape).astype("float32"))
            for name, shape in (given if isinstance(given, list) else [(slot, given)])
        ]
        for slot, given in CASES[op_type].items()
    }


def operator_in_scope(op_type, inputs):
    """The operator, and a scope with its inputs."""
    scope = core.Scope()
    names = {}
    for slot, is_list in Operator.get_op_inputs(op_type):
        names[slot] = [name for name, _ in inputs[slot]] if is_list else inputs[slot][0][0]
        for name, array in inputs[slot]:
            tensor = scope.var(name).get_tensor()
            tensor.set_dims(array.shape)
            tensor.set(array, core.CPUPlace())
    ((out, _),) = Operator.get_op_outputs(op_type)
    attrs = {"axis": 1} if "axis" in Operator.get_op_attr_names(op_type) else {}
    op = Operator(op_type, **names, **{out: "Out"}, **attrs)
    assert op.type() == op_type
    return op, scope, attrs


def mean_of(op, scope):
    op.run(scope, core.CPUPlace())
    return np.array(scope.find_var("Out").get_tensor()).mean(dtype=np.float64)


@pytest.mark.parametrize("op_type", CASES)
def test_the_gradient_of_a_mean_is_that_by_differences(op_type):
    inputs = arrays_of(op_type)
    op, scope, attrs = operator_in_scope(op_type, inputs)
    program = fluid.Program()
    block = program.global_block()
    variables = {
        slot: [block.create_var(name=name, shape=a.shape, dtype=a.dtype) for name, a in given]
        for slot, given in inputs.items()
    }
    out = block.create_var(name="Out", dtype="float32")
    appended = block.append_op(op_type, variables, {"Out": out}, attrs)
    appended.desc.infer_var_type(block.desc)
    appended.desc.infer_shape(block.desc)
    loss = block.create_var(dtype="float32", shape=[1])
    block.append_op(type="mean", inputs={"X": out}, outputs={"Out": loss})
    feed = {name: array for given in inputs.values() for name, array in given}
    found = fluid.append_backward(loss=loss, parameter_list=list(feed), no_grad_set=set())
    gradients = fluid.Executor().run(program, feed, [gradient for _, gradient in found])

    delta = 0.005
    for (variable, _), gradient in zip(found, gradients, strict=True):
        tensor = scope.find_var(variable.name).get_tensor()
        numeric = np.zeros(tensor.get_dims())
        for i in range(numeric.size):
            origin = tensor.get_float_element(i)
            tensor.set_float_element(i, origin + delta)
            above = mean_of(op, scope)
            tensor.set_float_element(i, origin - delta)
            below = mean_of(op, scope)
            tensor.set_float_element(i, origin)
            numeric.flat[i] = (above - below) / (2 * delta)
        np.testing.assert_allclose(gradient, numeric, rtol=5e-3, atol=1e-4)
