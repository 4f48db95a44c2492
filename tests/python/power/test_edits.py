import pytest

import fluidcore as fluid
from fluidcore import layers
from tests.power.edits import backward_edits


@pytest.fixture
def program():
    x = layers.data("x", [3, 4], append_batch_size=False)
    h = layers.fc(x, 4, act="tanh")
    loss = layers.mean(layers.square(layers.elementwise_mul(h, layers.sigmoid(h))))
    fluid.append_backward(loss)
    return fluid.default_main_program()


def test_only_operators_that_write_gradients_are_edited(program):
    ops = program.global_block().ops
    for edit in backward_edits(program.desc):
        assert any("@GRAD" in name for name in ops[edit.op].output_arg_names), edit


def test_edits_begin_where_the_gradient_operators_do(program):
    count = len(program.global_block().ops)
    assert {edit.op for edit in backward_edits(program.desc, count - 1)} <= {count - 1}
    assert list(backward_edits(program.desc, count)) == []


def test_inner_blocks_of_the_function_are_not_edited():
    x = layers.data("x", [2], append_batch_size=False, stop_gradient=False)
    n = layers.data("n", [1], "int64", append_batch_size=False)
    end, _ = layers.while_loop(lambda h, i: i < n, lambda h, i: (layers.tanh(h), i + 1), [x, 0])
    (slope,) = fluid.gradients(end, x)  # is part of the function
    program = fluid.default_main_program()
    first, first_block = len(program.global_block().ops), program.num_blocks
    fluid.gradients(layers.mean(layers.square(slope)), x)
    blocks = {edit.block for edit in backward_edits(program.desc, first, first_block)}
    assert {0, first_block} <= blocks
    assert not blocks & set(range(1, first_block))


def test_an_edit_changes_a_copy_by_one_operator(program):
    before = str(program)
    wrong = [edit.applied(program.desc) for edit in backward_edits(program.desc)]
    assert str(program) == before
    made = [desc for desc in wrong if desc is not None]
    assert len(made) > 30
    for desc in made:
        ops = zip(program.desc.block(0).ops(), desc.block(0).ops(), strict=True)
        assert sum(str(a) != str(b) for a, b in ops) == 1


def test_there_are_edits_of_reads_writes_types_attributes_and_sums(program):
    names = {f"{edit.op_type}: {edit.name}" for edit in backward_edits(program.desc)}
    for part in (
        "tanh_grad: it is sigmoid_grad",
        "elementwise_mul_grad: X reads Y",
        "elementwise_mul_grad: X@GRAD and Y@GRAD swapped",
        "counts twice",
        "is left out",
        "axis is",
    ):
        assert any(part in name for name in names), (part, sorted(names))


def test_what_cannot_be_built_is_no_program(program):
    for edit in backward_edits(program.desc):
        if edit.op_type == "mul_grad" and edit.name.startswith("x_num_col_dims is 0"):
            assert edit.applied(program.desc) is None
            return
    pytest.fail("mul_grad has no such edit")
