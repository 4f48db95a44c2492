"""What Fluid called otherwise, or took in another order."""

from __future__ import annotations

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core, framework, initializer, layers


@pytest.fixture(autouse=True)
def programs():
    with fluid.unique_name.guard(), fluid.program_guard(fluid.Program(), fluid.Program()):
        yield


def test_the_default_programs_can_be_switched():
    other = fluid.Program()
    main = fluid.switch_main_program(other)
    assert fluid.default_main_program() is other
    assert fluid.switch_main_program(main) is other
    startup = framework.switch_startup_program(other)
    assert fluid.default_startup_program() is other
    assert fluid.default_main_program() is main
    framework.switch_startup_program(startup)
    with pytest.raises(TypeError, match="program must be a Program, got int"):
        fluid.switch_main_program(3)  # type: ignore[arg-type]


def test_numbers_of_element_types_stand_for_them():
    types = core.VarDesc.VarType
    assert layers.data("x", [1], dtype=types.FP64).dtype == "float64"
    assert layers.fill_constant([1], types.INT64, 3).dtype == "int64"
    assert (types.LOD_TENSOR, types.SELECTED_ROWS, types.LOD_TENSOR_ARRAY) == (7, 8, 13)


def test_data_takes_the_order_of_fluid():
    assert layers.data("a", [2, 3], False).shape == (2, 3)
    label = layers.data("b", [2], False, "int64")
    assert (label.shape, label.dtype) == ((2,), "int64")
    assert layers.data("c", [2], "int64").shape == (-1, 2)


def test_a_parameter_of_a_block_may_be_initialized_there():
    block = fluid.default_main_program().global_block()
    w = block.create_parameter(
        name="w", shape=[2], dtype="float32", lod_level=0, initializer=initializer.Constant(3.0)
    )
    assert [op.type for op in block.ops] == ["fill_constant"]
    assert fluid.Executor().run(fetch_list=[w], scope=fluid.Scope())[0].tolist() == [3, 3]
    with pytest.raises(fluid.InvalidArgument, match="'v' must have lod_level 0 and be persistable"):
        block.create_parameter([2], "float32", "v", persistable=False)


def test_an_error_clip_can_be_set_by_a_method():
    x = layers.data("x", [1])
    clip = fluid.ErrorClipByValue(max=2.0)
    x.set_error_clip(clip)
    assert x.error_clip is clip


def test_calc_gradient_of_one_input_is_no_list():
    x, y = layers.data("x", [1]), layers.data("y", [1])
    product = x * y
    assert fluid.calc_gradient(product, x).name == "x@GRAD"
    assert [g.name for g in fluid.calc_gradient(product, [x, y])] == ["x@GRAD_0", "y@GRAD"]


def test_tensors_without_levels_are_tensors():
    tensor = fluid.LoDTensor()
    tensor.set(np.ones((2, 3), np.float32), fluid.CPUPlace())
    assert tensor.get_dims() == [2, 3]
    assert core.LoDTensor is core.Tensor
    assert not core.is_compiled_with_cuda()
    assert core.EnforceNotMet is fluid.Error


def test_a_tensor_to_be_written_and_the_reverse():
    out = layers.create_tensor("float32")
    layers.assign(layers.reverse(layers.assign(np.float32([[1, 2], [3, 4]])), [0, 1]), out)
    last = layers.reverse(out, 1)
    both, one = fluid.Executor().run(fetch_list=[out, last])
    assert (both.tolist(), one.tolist()) == ([[4, 3], [2, 1]], [[3, 4], [1, 2]])


def test_a_persistable_tensor_has_the_shape_of_what_is_written_first():
    kept = layers.create_tensor("float32", name="kept", persistable=True)
    layers.assign(np.float32([1, 2]), kept)
    fluid.Executor().run()
    assert fluid.fetch_var("kept").tolist() == [1, 2]
    assert (kept.shape, kept.persistable) == ((2,), True)
    with pytest.raises(
        fluid.InvalidArgument, match=r"declared as float32 \[2\], got float32 \[3\]"
    ):
        layers.assign(np.float32([1, 2, 3]), kept)


def test_memory_needs_no_change_of_the_program(capsys: pytest.CaptureFixture[str]):
    program = fluid.default_main_program()
    layers.fill_constant([1], "float32", 1.0)
    before = str(program)
    fluid.memory_optimize(program, print_log=True)
    fluid.release_memory(program)
    assert str(program) == before
    assert "each plan reuses memory by itself" in capsys.readouterr().out
    with pytest.raises(TypeError, match="input_program must be a Program, got str"):
        fluid.memory_optimize("program")  # type: ignore[arg-type]


def test_init_on_cpu_is_known_where_it_is_asked_for():
    assert not initializer.force_init_on_cpu()
    with initializer.init_on_cpu():
        assert initializer.force_init_on_cpu()
    assert not initializer.force_init_on_cpu()


def test_element_types_have_the_name_of_fluids_first_versions():
    assert core.DataType is core.VarDesc.VarType
    assert layers.get_places().type == core.VarDesc.VarType.PLACE_LIST == 14
    assert (framework.TEMP_VAR_NAME, framework.ZERO_VAR_SUFFIX) == ("@TEMP@", "@ZERO")


def test_no_operator_runs_on_gpus():
    assert core.op_support_gpu("sum") is core.is_compiled_with_cuda()
    with pytest.raises(core.NotFound, match="no operator 'summ'"):
        core.op_support_gpu("summ")


def test_a_variable_of_a_scope_may_be_one_number():
    variable = core.Scope().var("i")
    assert not variable.is_int()
    variable.set_int(10)
    assert (variable.is_int(), variable.get_int()) == (True, 10)
    variable.set_float(0.5)
    assert not variable.is_int()
    assert np.asarray(variable.get_tensor()) == 0.5
    with pytest.raises(TypeError, match=r"get_int: .* got Tensor\(float32 \[\]\)"):
        variable.get_int()


def test_a_description_tells_its_slots_and_completes_its_attributes():
    block = core.ProgramDesc().block(0)
    for name, shape in (("x", [10, 20]), ("y", [20, 30])):
        block.var(name).set_type(core.VarDesc.VarType.LOD_TENSOR)
        block.var(name).set_shape(shape)
    op = block.append_op()
    op.set_type("mul")
    op.set_input("X", ["x"])
    op.set_input("Y", ["y"])
    op.set_output("Out", ["out"])
    assert (op.input_names(), op.output_names()) == (["X", "Y"], ["Out"])
    op.check_attrs()
    assert (op.attr("x_num_col_dims"), op.attr("y_num_col_dims")) == (1, 1)
    op.infer_var_type(block)
    op.infer_shape(block)
    assert block.find_var("out").shape() == [10, 30]


def test_backward_takes_one_callback_and_several():
    x = layers.data("x", [1])
    x.stop_gradient = False
    seen = []

    def note(block, context):
        seen.append(block.ops[-1].type)

    fluid.append_backward(layers.mean(x), callback=note)
    assert seen == ["fill_constant", "mean_grad"]
    fluid.append_backward(layers.mean(x * 2), callbacks=[note], callback=note)
    assert seen[2:] == ["fill_constant"] * 2 + ["mean_grad"] * 2 + ["elementwise_mul_grad"] * 2
    with pytest.raises(TypeError, match="callbacks must be a list of functions"):
        fluid.append_backward(layers.mean(x), callback=3)
    with pytest.raises(TypeError, match="callbacks must be a list of functions"):
        fluid.append_backward(layers.mean(x), callbacks=note, callback=note)


def test_an_optimizer_keeps_its_state_by_name_and_parameter():
    x = layers.data("x", [3])
    loss = layers.mean(layers.fc(x, 1, param_attr="w", bias_attr=False))
    adam = fluid.optimizer.Adam(0.01)
    adam.minimize(loss)
    assert {name: list(found) for name, found in adam._accumulators.items()} == {
        "moment1": ["w"],
        "moment2": ["w"],
    }
    first = fluid.default_startup_program().global_block().ops[1]  # after the initializer of w
    assert first.attr("value") == pytest.approx(0.01)


def test_l1_decay_is_a_sign_and_a_scale():
    x = layers.data("x", [3])
    decay = fluid.regularizer.L1Decay(0.5)
    loss = layers.mean(layers.fc(x, 1, param_attr=fluid.ParamAttr("w", regularizer=decay)))
    found = fluid.append_backward(loss)
    before = len(loss.block.ops)
    fluid.optimizer.append_regularization_ops(found)
    added = [op.type for op in loss.block.ops[before:]]
    assert added == ["sign", "scale", "elementwise_add"]
