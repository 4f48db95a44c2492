"""Tests of fluidcore.program, and of base.call_site."""

import subprocess
import sys
import threading

import numpy as np
import pytest
from counting import instructions

import fluidcore as fluid
from fluidcore import layers


@pytest.fixture
def block():
    return fluid.default_main_program().global_block()


def ops(block):
    return [str(op) for op in block.ops]


def test_a_variable_shows_its_name_dtype_and_shape():
    x = layers.data("x", [10])
    assert repr(layers.fc(x, 3)) == "Variable('fc_0.tmp_1', float32 [-1, 3])"
    assert repr(fluid.default_main_program().all_parameters()[0]) == (
        "Parameter('fc_0.w_0', float32 [10, 3])"
    )


def test_variables_are_keys_by_identity():
    x, y = layers.data("x", [1]), layers.data("y", [1])
    assert {x: 1, y: 2}[y] == 2
    assert fluid.default_main_program().global_block().var("x") is x


def test_a_variable_has_no_truth_value():
    x = layers.data("x", [1])
    with pytest.raises(TypeError, match="Variable 'x' is known only when the program runs"):
        bool(x)


def test_an_existing_name_must_fit(block):
    x = block.create_var(name="x", shape=[2, 3], dtype="float32")
    assert block.create_var(name="x").desc.shape() == [2, 3]
    with pytest.raises(
        fluid.InvalidArgument,
        match=r"Variable 'x': exists already as float32 \[2, 3\], got float32 \[2, 4\]; choose",
    ):
        block.create_var(name="x", shape=[2, 4])
    assert x.shape == (2, 3)


@pytest.mark.parametrize("shape", [[-2], [3, -5]])
def test_extents_below_minus_one_are_refused(block, shape):
    with pytest.raises(fluid.InvalidArgument, match="extents must be at least 0"):
        block.create_var(name="x", shape=shape)
    assert not block.has_var("x")


def test_arithmetic_appends_operators(block):
    x = layers.data("x", [2], append_batch_size=False)
    y = layers.data("y", [2], append_batch_size=False)
    _ = (x + y, x - y, x * y, x / y, x**y, -x, x < y, x > y)
    assert [op.type for op in block.ops] == [
        "elementwise_add",
        "elementwise_sub",
        "elementwise_mul",
        "elementwise_div",
        "elementwise_pow",
        "scale",
        "less_than",
        "less_than",
    ]
    assert block.ops[-1].input("X") == ["y"]


@pytest.mark.parametrize("number", [2, 2.0, np.float32(2), np.int64(2)])
def test_numbers_become_constants_on_either_side(block, number):
    x = layers.data("x", [2], append_batch_size=False)
    for result in (x + number, number + x, number - x, number / x, number**x, x / number):
        assert result.shape == (2,)
        assert result.dtype == "float32"
    constants = [op for op in block.ops if op.type == "fill_constant"]
    assert len(constants) == 6
    assert all(op.attr("value") == 2.0 for op in constants)


def test_a_fraction_does_not_fit_an_integer_variable():
    x = layers.data("x", [2], dtype="int64")
    with pytest.raises(fluid.InvalidArgument, match=r"int64 Variable 'x' must be whole, got 1.5"):
        _ = x + 1.5


def test_astype_casts():
    x = layers.data("x", [2], dtype="int64")
    assert x.astype("float64").dtype == "float64"
    assert x.astype(np.float32).dtype == "float32"


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (np.float32(1.5), 1.5),
        (np.float64(0.1), 0.1),
        (np.int64(3), 3.0),
        (np.array(2.5), 2.5),
        (7, 7.0),
    ],
)
def test_number_attributes_become_python_numbers(block, given, stored):
    x = layers.data("x", [2])
    op = block.append_op("scale", {"X": x}, {"Out": "y"}, {"scale": given})
    assert op.attr("scale") == stored
    assert type(op.attr("scale")) is float


def test_bool_and_list_attributes_keep_their_kind(block):
    x = layers.data("x", [2, 3], append_batch_size=False)
    attrs = {"reduce_all": np.bool_(True)}
    op = block.append_op("reduce_sum", {"X": x}, {"Out": "s"}, attrs)
    assert op.attr("reduce_all") is True
    op = block.append_op("transpose", {"X": x}, {"Out": "t"}, {"axis": np.array([1, 0])})
    assert op.attr("axis") == [1, 0]
    op = block.append_op("reshape", {"X": x}, {"Out": "r"}, {"shape": (3, np.int64(2))})
    assert op.attr("shape") == [3, 2]


@pytest.mark.parametrize("dtype", ["float64", np.float64, np.dtype("float64"), 6])
def test_dtype_attributes_take_every_spelling(block, dtype):
    op = block.append_op("fill_constant", {}, {"Out": "c"}, {"shape": [1], "dtype": dtype})
    assert op.attr("dtype") == 6
    assert block.var("c").dtype == "float64"


@pytest.mark.parametrize(
    ("attrs", "message"),
    [
        ({"scale": None}, "scale: attribute 'scale' must have a value, got None"),
        ({"scale": object}, "scale: attribute 'scale' must be a bool, int"),
        ({"scale": "2"}, "attribute 'scale' must be a float, got the str '2'"),
        ({"scales": 2.0}, "no attribute 'scales'; did you mean 'scale'"),
    ],
)
def test_wrong_attributes_are_refused_and_leave_nothing(block, attrs, message):
    x = layers.data("x", [2])
    before = str(block.program)
    with pytest.raises(fluid.Error, match=message):
        block.append_op("scale", {"X": x}, {"Out": "y"}, attrs)
    assert str(block.program) == before


def test_an_error_names_the_line_that_added_the_operator(block):
    x = layers.data("x", [2, 3], append_batch_size=False)
    with pytest.raises(fluid.InvalidArgument) as caught:
        layers.reshape(x, [4, 4])
    note = caught.value.__notes__[-1]
    assert "added at " in note
    assert "test_program.py:" in note
    assert note.endswith("layers.reshape(x, [4, 4])")
    assert ops(block) == []


def test_operators_know_where_they_were_added(block):
    x = layers.data("x", [2])
    layers.relu(x)
    file, line = block.ops[0].call_site.rsplit(":", 1)
    assert file.endswith("test_program.py")
    assert line.isdigit()


def test_operators_appended_through_desc_are_seen(block):
    x = layers.data("x", [2])
    layers.relu(x)
    desc = block.desc.append_op()
    desc.set_type("clip")
    assert [op.type for op in block.ops] == ["relu", "clip"]
    assert block.ops[0] is block.ops[0]


def test_append_prepend_and_insert(block):
    x = layers.data("x", [2])
    block.append_op("relu", {"X": x}, {"Out": "a"})
    block.prepend_op("tanh", {"X": x}, {"Out": "b"})
    block.insert_op(1, "exp", {"X": x}, {"Out": "c"})
    assert [op.type for op in block.ops] == ["tanh", "exp", "relu"]


def test_an_operator_is_read_and_renamed(block):
    x = layers.data("x", [2])
    op = block.append_op("scale", {"X": x}, {"Out": "y"}, {"scale": 3.0})
    assert (op.type, op.input("X"), op.output("Out")) == ("scale", ["x"], ["y"])
    assert (op.input_names, op.output_names) == (["X"], ["Out"])
    assert (op.input_arg_names, op.output_arg_names) == (["x"], ["y"])
    assert op.has_attr("scale")
    assert "scale" in op.attr_names
    op.set_attr("scale", np.float32(0.5))
    block.rename_var("y", "z")
    assert str(op) == "scale(X=x) -> Out=z   # scale=0.5"
    assert block.var("z").name == "z"


def test_variables_of_another_program_are_refused():
    x = layers.data("x", [2])
    with (
        fluid.program_guard(fluid.Program()),
        pytest.raises(fluid.InvalidArgument, match="'x' of another one"),
    ):
        layers.relu(x)


def test_a_wrong_argument_type_is_a_type_error(block):
    with pytest.raises(TypeError, match="relu: slot 'X' must be given Variables or names, got int"):
        block.append_op("relu", {"X": 3}, {"Out": "y"})


def test_an_unknown_variable_names_the_nearest(block):
    layers.data("image", [2])
    with pytest.raises(fluid.NotFound, match="no variable 'imag'; did you mean 'image'"):
        block.var("imag")


def test_nested_blocks_see_outer_variables():
    program = fluid.default_main_program()
    x = layers.data("x", [2])
    inner = program.create_block()
    assert (inner.idx, inner.parent_idx, program.current_block()) == (1, 0, inner)
    assert inner.var_recursive("x") is x
    assert not inner.has_var("x")
    assert inner.has_var_recursive("x")
    y = layers.relu(x)
    assert y.block is inner
    program.rollback()
    assert program.current_block().idx == 0
    with pytest.raises(fluid.InvalidArgument, match="no parent"):
        program.rollback()
    assert [v.name for v in program.list_vars()] == ["x", y.name]


def test_a_gradient_block_sees_the_variables_of_its_forward_block():
    program = fluid.default_main_program()
    forward = program.create_block()
    h = layers.relu(program.global_block().create_var("x", shape=[2], dtype="float32"))
    gradient = program.create_block(0)
    gradient.desc.set_forward_block_idx(forward.idx)
    assert gradient.find_var_recursive(h.name) is h
    assert not gradient.has_var(h.name)
    own = gradient.create_var(h.name, shape=[2])
    assert gradient.find_var_recursive(h.name) is own


def test_clone_is_independent_and_keeps_python_settings():
    x = layers.data("x", [2])
    x.error_clip = fluid.ErrorClipByValue(1.0)
    attr = fluid.ParamAttr(
        learning_rate=0.5,
        regularizer=fluid.regularizer.L2Decay(0.1),
        gradient_clip=fluid.GradientClipByValue(1.0),
    )
    h = layers.fc(x, 3, param_attr=attr)
    h.stop_gradient = True
    h.error_clip = fluid.ErrorClipByValue(2.0)
    program = fluid.default_main_program()
    program.random_seed = 7
    copy = program.clone()
    text = str(program)
    assert str(copy) == text
    assert copy.random_seed == 7
    twin = copy.global_block().var(h.name)
    assert twin is not h
    assert twin.stop_gradient
    assert twin.error_clip is h.error_clip
    weight = copy.global_block().var("fc_0.w_0")
    assert isinstance(weight, fluid.Parameter)
    assert weight.optimize_attr == {"learning_rate": 0.5}
    assert weight.regularizer.coefficient == 0.1
    assert weight.gradient_clip_attr is attr.gradient_clip
    with fluid.program_guard(copy):
        layers.relu(twin)
    assert str(program) == text


def test_clone_for_test_sets_is_test_in_all_blocks():
    program = fluid.default_main_program()
    x = layers.data("x", [2])
    layers.dropout(x, 0.5)
    program.create_block()
    layers.dropout(x, 0.5)
    program.rollback()
    test = program.clone(for_test=True)
    assert [op.attr("is_test") for block in test.blocks for op in block.ops] == [True, True]
    assert [op.attr("is_test") for block in program.blocks for op in block.ops] == [False, False]


def test_prune_keeps_only_what_the_targets_need():
    x = layers.data("x", [2])
    h = layers.fc(x, 3, bias_attr=False)
    loss = layers.mean(h)
    layers.tanh(h)
    fluid.optimizer.SGD(0.1).minimize(loss)
    pruned = fluid.default_main_program().prune([h])
    assert [op.type for op in pruned.global_block().ops] == ["mul"]
    assert sorted(pruned.global_block().vars) == ["fc_0.tmp_0", "fc_0.w_0", "x"]
    with pytest.raises(fluid.NotFound, match="no variable 'nothing'"):
        pruned.prune("nothing")


def test_text_survives_saving():
    x = layers.data("x", [2])
    layers.dropout(layers.fc(x, 3, act="relu"), 0.5)
    program = fluid.default_main_program()
    again = fluid.Program.parse_from_string(program.serialize_to_string())
    assert again.to_string() == program.to_string()
    weight = again.all_parameters()[0]
    assert weight.trainable
    assert weight.optimize_attr == {"learning_rate": 1.0}
    assert weight.regularizer is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "fluidcore program"}', b"\xff\xfe"])
def test_damaged_text_is_an_error(text):
    with pytest.raises(fluid.InvalidArgument):
        fluid.Program.parse_from_string(text)


def test_program_guard_acts_in_its_own_thread_only():
    main = fluid.Program()
    seen = []
    with fluid.program_guard(main):
        thread = threading.Thread(target=lambda: seen.append(fluid.default_main_program()))
        thread.start()
        thread.join()
        assert fluid.default_main_program() is main
    assert seen[0] is not main


def test_program_guard_wants_programs():
    with pytest.raises(TypeError, match="main_program must be a Program, got str"):
        fluid.program_guard("main").__enter__()


def test_names_of_a_loaded_program_are_not_taken_again():
    x = layers.data("x", [2])
    layers.fc(x, 3)
    again = fluid.Program.parse_from_string(fluid.default_main_program().serialize_to_string())
    with fluid.unique_name.guard(), fluid.program_guard(again, fluid.Program()):
        layers.fc(again.global_block().var("x"), 3)
    assert [p.name for p in again.all_parameters()] == [
        "fc_0.w_0",
        "fc_0.b_0",
        "fc_0.w_1",
        "fc_0.b_1",
    ]


def test_grad_var_name_appends_the_suffix():
    assert fluid.grad_var_name("x") == "x@GRAD"


def test_building_takes_linear_time():
    def build(length):
        with fluid.program_guard(fluid.Program()):
            x = layers.data("x", [4], append_batch_size=False)
            for _ in range(length):
                x = layers.scale(x, scale=2.0)

    def work(length):
        return instructions(lambda: build(length))

    work(10)  # caches what is read once
    assert work(200) < 4.5 * work(50)  # quadratic would be 16


def test_importing_loads_nothing_that_is_not_needed():
    code = (
        "import sys, fluidcore;"
        "print([m for m in ('safetensors', 'ml_dtypes', 'rich', 'json', 'hashlib', 'difflib',"
        " 'dataclasses', 'matplotlib') if m in sys.modules])"
    )
    only_numpy = code.replace("fluidcore", "numpy")
    run = [
        subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
        for text in (code, only_numpy)
    ]
    assert run[0].stdout == run[1].stdout
