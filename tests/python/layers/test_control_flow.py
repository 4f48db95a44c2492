"""Tests of sub-blocks, going back after errors, nested results, and programs with blocks."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers
from fluidcore.layers import control_flow, nested


def run(fetches, **feed):
    return fluid.Executor().run(feed=feed, fetch_list=fetches)


def program_text():
    return str(fluid.default_main_program()) + str(fluid.default_startup_program())


def number(value, dtype="float32"):
    return layers.fill_constant([1], dtype, value)


def refused(kind, match, call):
    before = program_text()
    blocks = fluid.default_main_program().num_blocks
    with pytest.raises(kind, match=match):
        call()
    assert program_text() == before
    assert fluid.default_main_program().num_blocks == blocks
    assert fluid.default_main_program().current_block().idx == 0


# Sub-blocks


def test_a_sub_block_is_left_again_after_an_error():
    program = fluid.default_main_program()
    with program.sub_block() as block:
        assert program.current_block() is block
        assert block.parent_idx == 0
    assert program.current_block().idx == 0
    with pytest.raises(KeyError), program.sub_block():
        raise KeyError
    assert program.current_block().idx == 0


def test_a_mark_takes_blocks_variables_and_declarations_back():
    program = fluid.default_main_program()
    open_var = program.global_block().create_var("open", dtype="float32")
    before = program_text()
    mark = program.mark()
    with program.sub_block():
        layers.assign(layers.fc(layers.data("x", [4]), 3), output=open_var)
        with program.sub_block():
            layers.zeros([1], "float32")
    assert program.num_blocks == 3
    mark.rollback()
    fluid.default_startup_program().global_block().forget_since(0)
    assert str(program) in before
    assert program.num_blocks == 1
    with program.sub_block() as block:
        assert block.idx == 1


def test_names_are_new_in_the_whole_program():
    program = fluid.default_main_program()
    with program.sub_block():
        inner = number(1)
    with fluid.unique_name.guard():
        assert number(2).name != inner.name


def test_an_operator_in_a_block_keeps_shape_and_dtype_of_outer_variables():
    program = fluid.default_main_program()
    x = layers.zeros([2, 3], "float32")
    y = layers.zeros([4], "float32")
    n = layers.data("n", [3])
    with program.sub_block() as block:
        before = str(program)
        with pytest.raises(
            fluid.InvalidArgument,
            match=r"assign: a variable of an outer block must keep its shape and dtype, got "
            rf"float32 \[4\] for '{x.name}', which is float32 \[2, 3\]",
        ) as caught:
            layers.assign(y, output=x)
        assert "test_control_flow.py" in caught.value.__notes__[0]
        assert str(program) == before
        assert block.desc.op_size() == 0
        layers.assign(n, output=x)  # may be two rows
    assert x.shape == (2, 3)


def test_a_variable_without_a_shape_gets_that_of_what_is_written_first():
    program = fluid.default_main_program()
    out = program.global_block().create_var("out", dtype="float32")
    with program.sub_block():
        layers.assign(layers.zeros([2, 3], "float32"), output=out)
        assert out.shape == (2, 3)
        with pytest.raises(fluid.InvalidArgument, match="must keep its shape"):
            layers.assign(layers.zeros([2], "float32"), output=out)


def test_the_call_site_of_a_block_operator_is_the_line_of_the_with():
    cond = layers.less_than(number(0), number(1))
    branch = layers.ConditionalBlock([cond], True)
    with branch.block():
        number(1)
    site = fluid.default_main_program().global_block().ops[-1].call_site
    assert "test_control_flow.py:" in site


def test_everything_is_in_the_module_control_flow_too():
    for name in control_flow.__all__:
        assert getattr(layers, name) is getattr(control_flow, name)


# Nested structures


def test_leaves_of_structures_are_found_by_path():
    one, two = number(1), number(2)
    rows = nested.rows("f", "out", {"a": [one, {"h": (1, None)}], "b": (two, {"h": [2.5, None]})})
    assert [(row.path, row.leaves) for row in rows] == [
        ("out[0]", (one, two)),
        ("out[1]['h'][0]", (1, 2.5)),
    ]
    assert nested.pack([0, {"h": (0, None)}], iter("xy")) == ["x", {"h": ("y", None)}]


def test_structures_that_differ_are_named():
    for a, b, match in [
        ([1], [1, 2], r"out must have the same structure everywhere, got a list of 1 from a, "),
        ({"h": 1}, {"g": 1}, r"got a dict of 'h' from a, a dict of 'g' from b"),
        ([1, (2, None)], [1, (2, 3)], r"out\[1\]\[1\] .*got None from a, the number 3 from b"),
    ]:
        with pytest.raises(fluid.InvalidArgument, match=match):
            nested.rows("f", "out", {"a": a, "b": b})
    with pytest.raises(TypeError, match=r"f: out\[0\] of a must be a Variable, .* got str 'x'"):
        nested.rows("f", "out", {"a": ["x"], "b": [1]})


# fill_constant_batch_size_like


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_a_constant_takes_an_extent_that_is_known_at_run_time(dtype):
    x = layers.data("x", [-1, -1, 2], dtype=dtype)
    out = layers.fill_constant_batch_size_like(x, [3, -1], "float64", 1.5, 1, 1)
    assert (out.shape, out.dtype) == ((3, -1), "float64")
    for extent in (4, 0, 1):
        (got,) = run([out], x=np.ones((5, extent, 2), dtype))
        np.testing.assert_array_equal(got, np.full((3, extent), 1.5))
    known = layers.zeros([5, 4], "float32")
    assert layers.fill_constant_batch_size_like(known, [-1, 2], "int64", 7, 1).shape == (4, 2)
    for kwargs, match in [
        ({"shape": [-1, -1]}, "all extents of shape but that at output_dim_idx must be known"),
        ({"shape": [-1], "input_dim_idx": 3}, "input_dim_idx must be a dimension, got 3 for 3"),
        ({"shape": [], "output_dim_idx": 0}, "output_dim_idx must be a dimension, got 0 for 0"),
    ]:
        refused(
            fluid.InvalidArgument,
            match,
            lambda kwargs=kwargs: layers.fill_constant_batch_size_like(
                x, dtype="float32", value=0, **kwargs
            ),
        )


# Whole programs with blocks


def looped(x, n):
    array = layers.create_array("float32", shape=[2])
    start = layers.zeros([1], "int64")
    layers.array_write(x * 3.0, start, array=array)

    def body(i, y):
        layers.array_write(y, i + 1, array=array)
        return i + 1, layers.cond(
            layers.less_than(i, layers.ones([1], "int64")), lambda: y + 1.0, lambda: y * 2.0
        )

    _, y = layers.while_loop(lambda i, y: layers.less_than(i, n), body, [start, x])
    return y + layers.array_read(array, n) + layers.array_read(array, start)


def test_programs_with_blocks_are_cloned_saved_and_pruned():
    x = layers.data("x", [2], append_batch_size=False)
    n = layers.data("n", [1], dtype="int64", append_batch_size=False)
    flag = layers.less_than(n, number(5, "int64"))
    layers.cond(flag, lambda: layers.relu(x), lambda: x)  # a loss that nobody will ask for
    out = looped(x, n)
    layers.cond(flag, lambda: out, lambda: x)
    program = fluid.default_main_program()
    pruned = program.prune([out])
    assert (program.num_blocks, pruned.num_blocks) == (8, 4)
    assert [op.type for op in pruned.global_block().ops if "block" in op.type] == []
    feed = {"x": np.array([1, -2], "float32"), "n": np.array([3])}
    (expected,) = run([out], **feed)
    again = fluid.Program.parse_from_string(program.serialize_to_string())
    for copy in (program.clone(), program.clone(for_test=True), again, pruned):
        (got,) = fluid.Executor().run(copy, feed=feed, fetch_list=[out.name])
        np.testing.assert_array_equal(got, expected)
    assert str(program.clone()) == str(program) == str(again)


def test_what_a_block_may_leave_as_it_was_is_not_pruned():
    x, flag = layers.data("x", [2]), layers.data("flag", [1], dtype="bool")
    out = layers.scale(x, scale=5.0)
    with layers.ConditionalBlock([flag], True).block():
        layers.assign(x, output=out)
    pruned = fluid.default_main_program().prune([out])
    feed = {"x": np.ones((1, 2), "float32"), "flag": np.array([[False]])}
    (got,) = fluid.Executor().run(pruned, feed=feed, fetch_list=[out.name])
    np.testing.assert_array_equal(got, [[5, 5]])


def test_a_dropout_in_a_block_does_nothing_in_a_program_for_tests():
    x, flag = layers.data("x", [4]), layers.data("flag", [1], dtype="bool")
    out = layers.cond(flag, lambda: layers.dropout(x, 0.5), lambda: x * 0.0)
    program = fluid.default_main_program().clone(for_test=True)
    feed = {"x": np.ones((3, 4), "float32"), "flag": np.array([[True]])}
    (got,) = fluid.Executor().run(program, feed=feed, fetch_list=[out.name])
    assert len(np.unique(got)) == 1
