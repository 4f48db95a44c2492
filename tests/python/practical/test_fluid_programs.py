"""Programs, blocks, operators and variables as Fluid's tests of them write them."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core, framework, layers, optimizer, regularizer
from fluidcore.backward import append_backward, calc_gradient
from fluidcore.framework import Program, default_main_program, program_guard

DT = core.VarDesc.VarType


def mul_program():
    prog = Program()
    block = prog.global_block()
    mul_x = block.create_parameter(dtype="float32", shape=[5, 10], lod_level=0, name="mul.x")
    mul_y = block.create_var(dtype="float32", shape=[10, 8], lod_level=0, name="mul.y")
    mul_out = block.create_var(dtype="float32", shape=[5, 8], lod_level=0, name="mul.out")
    mul_op = block.append_op(
        type="mul",
        inputs={"X": [mul_x], "Y": mul_y},
        outputs={"Out": [mul_out]},
        attrs={"x_num_col_dims": 1},
    )
    return prog, block, mul_x, mul_out, mul_op


def test_blocks_are_created_and_rolled_back():
    prog = Program()
    b = prog.current_block()
    assert b.parent_idx == -1
    assert b.idx == 0
    b = prog.create_block()
    assert (b.idx, b.parent_idx) == (1, 0)
    b = prog.create_block()
    assert (b.idx, b.parent_idx) == (2, 1)
    prog.rollback()
    b = prog.current_block()
    assert (b.idx, b.parent_idx) == (1, 0)


def test_a_program_is_cloned_and_parsed():
    prog = mul_program()[0]
    assert str(prog.clone()) == str(prog)
    binary_str = prog.desc.serialize_to_string()
    prog_restored = Program.parse_from_string(binary_str)
    assert str(prog_restored) == str(prog)
    assert prog.to_string(True) == prog.to_string(True, True)


def test_a_clone_has_the_parameters():
    main_program = Program()
    startup_program = Program()
    with program_guard(main_program, startup_program):
        d = layers.data(name="x", shape=[784], dtype="float32")
        hidden = layers.fc(input=d, size=100)
        layers.fc(input=hidden, size=100)
    new_program = main_program.clone()
    assert len(new_program.blocks[0].all_parameters()) == 4
    assert len(new_program.global_block().all_parameters()) == 4


def test_a_program_is_optimized_for_inference():
    x = layers.data(name="x", shape=[4], dtype="float32")
    out = layers.dropout(x, dropout_prob=0.5)
    infer = default_main_program().inference_optimize()
    assert infer.global_block().ops[-1].attr("is_test") is True
    assert default_main_program().global_block().ops[-1].attr("is_test") is False
    assert infer.global_block().var(out.name).shape == (-1, 4)


def test_an_operator_says_what_it_is():
    _, block, _, mul_out, mul_op = mul_program()
    assert str(mul_op) != ""
    assert mul_op.to_string(True) == str(mul_op)
    assert mul_op.type == "mul"
    assert mul_op.input_names == ["X", "Y"]
    assert mul_op.input("X") == ["mul.x"]
    assert mul_op.output_names == ["Out"]
    assert mul_op.output("Out") == ["mul.out"]
    assert mul_op.has_attr("x_num_col_dims")
    assert mul_op.attr_type("x_num_col_dims") == core.AttrType.INT
    assert mul_op.attr("x_num_col_dims") == 1
    assert mul_op.attr_type("y_num_col_dims") == core.AttrType.INT
    assert mul_out.op == mul_op
    assert mul_op.idx == 0
    assert block.var("mul.y").op is None
    assert mul_op.has_kernel("mul")
    with pytest.raises(core.EnforceNotMet):
        mul_op.attr_type("no_such")


def test_attributes_have_the_types_of_fluid():
    block = Program().global_block()
    types = core.AttrType
    out = block.create_var(name="out", dtype="float32")
    op = block.append_op(
        type="fill_constant",
        outputs={"Out": [out]},
        attrs={"shape": [2], "value": 1.5, "dtype": DT.FP32},
    )
    assert op.attr_type("shape") == types.INTS
    assert op.attr_type("value") == types.FLOAT
    assert op.attr_type("force_cpu") == types.BOOLEAN
    desc = core.ProgramDesc().block(0).append_op()
    desc.set_type("test")
    desc.set_input("X", ["a", "b", "c"])
    assert desc.input("X") == ["a", "b", "c"]
    desc.set_output("Out", ["z"])
    assert desc.output("Out") == ["z"]
    values = {"i": 1, "f": 3.5, "s": "x", "is": [1, 2], "fs": [0.5], "ss": ["x"], "b": True}
    for name, value in values.items():
        desc.set_attr(name, value)
        assert desc.attr(name) == value
    assert [desc.attr_type(name) for name in values] == [
        *(types.INT, types.FLOAT, types.STRING),
        *(types.INTS, types.FLOATS, types.STRINGS, types.BOOLEAN),
    ]
    desc.set_block_attr("sub", 0)
    assert desc.attr_type("sub") == types.BLOCK
    assert desc.block_attr("sub") == 0


def test_descriptions_are_made_without_programs():
    program_desc = core.ProgramDesc()
    block = program_desc.block(0)
    inner = program_desc.append_block(block)
    assert (inner.id, inner.parent) != (None, None)
    assert program_desc.num_blocks() == 2
    var = block.var("my_var")
    var.set_type(DT.LOD_TENSOR)
    var.set_shape([3, 2, 10, 8])
    var.set_dtype(DT.INT32)
    var.set_lod_level(0)
    var.set_persistable(True)
    assert var.shape() == [3, 2, 10, 8]
    assert var.dtype() == DT.INT32
    assert var.type() == DT.LOD_TENSOR
    var.set_type(DT.SELECTED_ROWS)
    assert var.type() == DT.SELECTED_ROWS
    op1, op2, op0 = block.append_op(), block.append_op(), block.prepend_op()
    assert block.op_size() == 3
    assert [block.op(i) for i in range(3)] == [op0, op1, op2]
    block.remove_op(1, 2)
    assert [block.op(i) for i in range(2)] == [op0, op2]


def test_numbers_of_element_types_are_those_of_variables():
    convert = framework.convert_np_dtype_to_dtype_
    assert [convert(t) for t in (np.float32, "float32", np.float64, "int64", "bool")] == [
        *(DT.FP32, DT.FP32, DT.FP64, DT.INT64, DT.BOOL)
    ]
    with pytest.raises(ValueError, match="complex"):
        convert("complex64")
    assert framework.dtype_is_floating(DT.FP32)
    assert framework.dtype_is_floating("float64")
    assert not framework.dtype_is_floating(DT.INT64)


def test_a_variable_is_made_once_and_found_again():
    b = default_main_program().current_block()
    w = b.create_var(dtype="float64", shape=[784, 100], lod_level=0, name="fc.w")
    for v in (w, b.create_var(name="fc.w")):
        assert str(v) != ""
        assert v.dtype == DT.FP64
        assert v.dtype == DT.FP64
        assert v.dtype != DT.FP32
        assert v.shape == (784, 100)
        assert v.name == "fc.w"
        assert v.lod_level == 0
        assert v.type == DT.LOD_TENSOR
    with pytest.raises(ValueError, match="exists already"):
        b.create_var(name="fc.w", shape=(24, 100))
    rows = b.create_var(name="rows", shape=[3, 4], dtype="float32", type=DT.SELECTED_ROWS)
    assert rows.type == DT.SELECTED_ROWS
    with pytest.raises(core.InvalidArgument) as refused:
        b.create_var(name="step_scopes", type=DT.STEP_SCOPES)
    assert str(refused.value) == (
        "Variable 'step_scopes': type must be LOD_TENSOR, LOD_TENSOR_ARRAY or SELECTED_ROWS, as a "
        "program here holds no others, got STEP_SCOPES"
    )


def test_a_parameter_is_filled_by_its_initializer():
    main_program = Program()
    b = main_program.global_block()
    param = b.create_parameter(
        name="fc.w",
        shape=[784, 100],
        dtype="float32",
        initializer=fluid.initializer.ConstantInitializer(1.0001),
    )
    assert param is not None
    assert (param.name, param.shape, param.block.idx) == ("fc.w", (784, 100), 0)
    exe = fluid.Executor(core.CPUPlace())
    p = exe.run(main_program, fetch_list=[param])[0]
    assert np.allclose(p, 1.0001)
    assert np.allclose(fluid.io.get_parameter_value(param, exe), 1.0001)
    p = fluid.io.get_parameter_value_by_name("fc.w", exe, main_program)
    assert np.allclose(np.array(p), 1.0001)


@pytest.mark.parametrize("shape", [None, [], [-1]])
def test_a_parameter_needs_a_shape(shape):
    b = Program().global_block()
    with pytest.raises((ValueError, TypeError)):
        b.create_parameter(name="test", shape=shape, dtype=None)


def test_gradients_are_calculated_for_one_variable_at_a_time():
    x = layers.create_parameter(dtype="float32", shape=[5, 10])
    y = layers.create_parameter(dtype="float32", shape=[10, 8])
    mul_out = layers.mul(x=x, y=y)
    mean_out = layers.mean(mul_out)
    a = calc_gradient(mean_out, mul_out)
    b = calc_gradient(mean_out, x)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    outs = exe.run(fluid.default_main_program(), feed={}, fetch_list=[a, b])
    assert [o.shape for o in outs] == [(5, 8), (5, 10)]


def test_a_learning_rate_of_a_parameter_scales_that_of_the_optimizer():
    for rate, types in ((1.1, ["scale", "sgd"]), (1.0, ["sgd"])):
        init_program, program = Program(), Program()
        block = program.global_block()
        mul_x = block.create_parameter(
            dtype="float32",
            shape=[5, 10],
            lod_level=0,
            name="mul.x",
            optimize_attr={"learning_rate": rate},
        )
        mul_y = block.create_var(dtype="float32", shape=[10, 8], lod_level=0, name="mul.y")
        mul_out = block.create_var(dtype="float32", shape=[5, 8], lod_level=0, name="mul.out")
        block.append_op(type="mul", inputs={"X": mul_x, "Y": mul_y}, outputs={"Out": mul_out})
        mean_out = block.create_var(dtype="float32", shape=[1], lod_level=0, name="mean.out")
        block.append_op(type="mean", inputs={"X": mul_out}, outputs={"Out": mean_out})
        sgd_optimizer = optimizer.SGDOptimizer(learning_rate=0.01)
        sgd_optimizer.minimize(mean_out, init_program)
        assert [op.type for op in block.ops][-len(types) :] == types
        init_ops = init_program.global_block().ops
        assert [op.type for op in init_ops] == ["fill_constant"]
        assert init_ops[0].attr("value") == pytest.approx(0.01)


def test_a_regularizer_adds_two_operators_for_a_parameter():
    program = Program()
    block = program.global_block()
    mul_x = block.create_parameter(
        dtype="float32",
        shape=[5, 10],
        lod_level=0,
        name="mul.x",
        regularizer=regularizer.L2DecayRegularizer(0.5),
    )
    assert isinstance(mul_x.regularizer, regularizer.L2DecayRegularizer)
    mul_y = block.create_var(dtype="float32", shape=[10, 8], lod_level=0, name="mul.y")
    mul_out = block.create_var(dtype="float32", shape=[5, 8], lod_level=0, name="mul.out")
    block.append_op(type="mul", inputs={"X": mul_x, "Y": mul_y}, outputs={"Out": mul_out})
    mean_out = block.create_var(dtype="float32", shape=[1], lod_level=0, name="mean.out")
    block.append_op(type="mean", inputs={"X": mul_out}, outputs={"Out": mean_out})
    params_grads = append_backward(mean_out)
    assert len(params_grads) == 1
    count_ops = len(block.ops)
    params_grads = optimizer.append_regularization_ops(params_grads)
    assert len(params_grads) == 1
    assert [op.type for op in block.ops[count_ops:]] == ["scale", "elementwise_add"]


def test_initializers_append_their_operators():
    def init_op(initializer, shape=(5, 10)):
        block = Program().global_block()
        block.create_parameter(
            dtype="float32", shape=shape, lod_level=0, name="param", initializer=initializer
        )
        assert len(block.ops) == 1
        return block.ops[0]

    init = fluid.initializer
    op = init_op(init.ConstantInitializer())
    assert (op.type, op.attr("value")) == ("fill_constant", 0.0)
    op = init_op(init.UniformInitializer(-4.2, 3.1, 123))
    assert op.type == "uniform_random"
    assert (op.attr("min"), op.attr("max"), op.attr("seed")) == (-4.2, 3.1, 123)
    op = init_op(init.NormalInitializer(2.3, 1.9, 123))
    assert (op.type, op.attr("mean"), op.attr("std")) == ("gaussian_random", 2.3, 1.9)
    op = init_op(init.XavierInitializer())
    assert op.attr("max") == pytest.approx(np.sqrt(6.0 / 15))
    op = init_op(init.XavierInitializer(uniform=False), (5, 10, 15, 20))
    assert op.attr("std") == pytest.approx(np.sqrt(2.0 / (15 * 15 * 20)))
    op = init_op(init.XavierInitializer(uniform=False, fan_in=12, fan_out=23, seed=134))
    assert (op.attr("std"), op.attr("seed")) == (pytest.approx(np.sqrt(2.0 / 35)), 134)
    op = init_op(init.MSRAInitializer(fan_in=12, seed=134))
    assert op.attr("max") == pytest.approx(np.sqrt(6.0 / 12))
    op = init_op(init.BilinearInitializer(), (8, 1, 3, 3))
    assert op.type == "assign_value"


def test_names_are_unique_within_guards():
    with fluid.unique_name.guard():
        first = fluid.unique_name.generate("fc")
        assert fluid.unique_name.generate("fc") != first
    with fluid.unique_name.guard():
        assert fluid.unique_name.generate("fc") == first
    with fluid.unique_name.guard("A"):
        assert fluid.unique_name.generate("fc") == "Afc_0"
    former = fluid.unique_name.switch()
    assert fluid.unique_name.generate("fc") == "fc_0"
    fluid.unique_name.switch(former)


def test_a_pruned_program_has_what_its_target_needs():
    x = layers.data(name="x", shape=[2], dtype="float32")
    label = layers.data(name="label", shape=[1], dtype="int64")
    y = layers.fc(input=[x], size=2, act="softmax")
    loss = layers.mean(x=layers.cross_entropy(input=y, label=label))
    program = default_main_program()
    assert len(program.prune(targets=loss).global_block().ops) == 5
    assert len(program.prune(targets=[y]).global_block().ops) == 3
