import sample_programs

import fluidcore as fluid
from fluidcore import layers
from fluidcore.picture.graph import Flow, attr_text, every_op, read_graph


def test_what_an_operator_reads_comes_from_who_wrote_it_last():
    x = layers.data("x", [3])
    y = layers.tanh(x)
    layers.assign(x, y)
    z = layers.relu(y)
    graph = read_graph(z.block.program.desc)
    assert graph.flows == [Flow(None, 0, "x"), Flow(None, 1, "x"), Flow(1, 2, y.name)]


def test_a_value_says_its_dtype_and_shape_and_what_it_is():
    y = layers.fc(layers.data("x", [3]), 2, param_attr="w", bias_attr=False)
    values = read_graph(y.block.program.desc).values
    assert (values["x"].label, values["x"].kind) == ("float32 [?,3]", "data")
    assert (values["w"].label, values["w"].kind) == ("float32 [3,2]", "parameter")
    assert values["w"].persistable
    assert values[y.name].kind == ""


def test_attributes_that_are_defaults_are_not_notable():
    y = layers.pool2d(layers.data("x", [3, 8, 8]), 2, "avg", 2)
    (op,) = read_graph(y.block.program.desc).ops
    assert op.notable == {"ksize", "pooling_type", "strides"}
    assert op.attrs["ksize"] == "[2,2]"
    assert "test_graph.py:" in op.site


def test_blocks_are_in_the_operators_that_run_them():
    graph = read_graph(sample_programs.loop().desc)
    nested = [op for op in graph.ops if op.blocks]
    assert [op.type for op in nested] == ["while", "while_grad"]
    assert {op.role.value for op in nested[1].blocks[0].ops} == {"backward"}
    ids = [op.id for _, op in every_op(graph)]
    assert len(ids) == len(set(ids)) > len(graph.ops)
    assert f"{nested[0].blocks[0].block}.0" in ids


def test_a_block_that_runs_itself_is_shown_once():
    program = sample_programs.loop()
    op = next(op for op in program.global_block().ops if op.type == "while")
    op.desc.set_block_attr("sub_block", 0)
    graph = read_graph(program.desc)
    assert [op.blocks for op in graph.ops if op.type == "while"] == [()]


def test_blocks_that_run_each_other_twice_are_shown_once():
    program = sample_programs.loop()
    (loop,) = [op for op in program.global_block().ops if op.type == "while"]
    innermost = loop.desc.block_attr("sub_block")
    for _ in range(40):  # shown each time, it would be 2 ** 40 operators
        block = program.desc.append_block(0)
        for _ in range(2):
            op = block.append_op()
            op.copy_from(loop.desc)
            op.set_block_attr("sub_block", innermost)
        innermost = block.id()
    loop.desc.set_block_attr("sub_block", innermost)
    assert len(list(every_op(read_graph(program.desc)))) < 200
    assert len(program.summary().rows) < 200


def test_a_variable_that_is_missing_has_no_label():
    y = layers.tanh(layers.data("x", [3]))
    y.block.desc.remove_vars(["x"])
    assert read_graph(y.block.program.desc).values["x"].label == ""


def test_long_lists_are_cut():
    assert attr_text("shape", [2, 3]) == "[2,3]"
    assert attr_text("values", [0.5] * 100).endswith(",...] (100)")
    assert attr_text("out_dtype", 5) == "float32"
    assert attr_text("sub_block", fluid.core.BlockIndex(2)) == "block 2"
