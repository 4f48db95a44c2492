"""Tests of fluidcore.backward.copies: golden texts in, golden texts out."""

from texts import parse

from fluidcore import core
from fluidcore.backward.copies import read_directly


def after_read_directly(copies, *lines):
    program = core.ProgramDesc()
    block = program.block(0)
    for line in lines:
        op_type, inputs, outputs = parse(line)
        for name in (*inputs, *outputs):
            block.var(name)
        block.append_op().copy_from(core.OpDesc(op_type, {"X": inputs}, {"Out": outputs}, {}))
    read_directly(block, copies)
    return [
        f"{op.type()}: {', '.join(op.input('X'))} -> {', '.join(op.output('Out'))}"
        for op in block.ops()
    ]


def test_a_copy_that_is_never_changed_is_not_made():
    ops = ["assign: h@CARRY -> h@GRAD", "tanh: h@GRAD -> z@GRAD"]
    assert after_read_directly(["h@GRAD"], *ops) == ["tanh: h@CARRY -> z@GRAD"]


def test_another_copy_stays():
    ops = ["assign: y@GRAD -> h@GRAD", "tanh: h@GRAD -> z@GRAD"]
    assert after_read_directly(["k@GRAD"], *ops) == ops


def test_a_copy_that_is_changed_in_place_stays():
    ops = ["assign: h@CARRY -> h@GRAD", "clip: h@GRAD -> h@GRAD", "tanh: h@GRAD -> z@GRAD"]
    assert after_read_directly(["h@GRAD"], *ops) == ops


def test_copies_stay_whose_sources_are_overwritten_before_they_are_read():
    ops = [
        "assign: a@CARRY -> a@GRAD",
        "assign: b@CARRY -> b@GRAD",
        "assign: b@GRAD -> a@CARRY",
        "assign: a@GRAD -> b@CARRY",
    ]
    assert after_read_directly(["a@GRAD", "b@GRAD"], *ops) == [
        "assign: a@CARRY -> a@GRAD",
        "assign: b@CARRY -> a@CARRY",
        "assign: a@GRAD -> b@CARRY",
    ]


def test_the_variable_of_a_copy_that_is_not_made_goes():
    program = core.ProgramDesc()
    block = program.block(0)
    block.var("copy")
    block.append_op().copy_from(core.OpDesc("assign", {"X": ["a"]}, {"Out": ["copy"]}, {}))
    read_directly(block, ["copy"])
    assert not block.has_var("copy")


def test_a_copy_that_a_block_inside_reads_stays():
    program = core.ProgramDesc()
    block = program.block(0)
    inner = program.append_block(0)
    inner.append_op().copy_from(core.OpDesc("tanh", {"X": ["copy"]}, {"Out": ["y"]}, {}))
    block.append_op().copy_from(core.OpDesc("assign", {"X": ["a"]}, {"Out": ["copy"]}, {}))
    runs = core.OpDesc(
        "conditional_block",
        {"X": ["go"], "Params": ["copy"]},
        {"Out": ["y"]},
        {"sub_block": core.BlockIndex(1)},
    )
    block.append_op().copy_from(runs)
    read_directly(block, ["copy"])
    assert [op.type() for op in block.ops()] == ["assign", "conditional_block"]
