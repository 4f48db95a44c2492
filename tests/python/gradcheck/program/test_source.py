"""The operators of a network, and what they need."""

from fluidcore import core
from fluidcore.gradcheck.program.source import Ops


def written_twice() -> Ops:
    """Of a, which is calculated from x, and then anew."""
    program = core.ProgramDesc()
    block = program.block(0)
    for name in ("x", "a", "y", "beside"):
        block.var(name).set_shape([2])
        block.var(name).set_dtype("float32")
    block.add_op("exp", {"X": ["x"]}, {"Out": ["a"]}, {})
    block.add_op("fill_constant", {}, {"Out": ["a"]}, {"shape": [2], "value": 2.0, "dtype": 5})
    block.add_op("log", {"X": ["a"]}, {"Out": ["y"]}, {})
    return Ops.of(program)


def test_of_two_writes_the_last_is_needed() -> None:
    needed = written_twice().needed(["y"], set())
    assert [op.type() for op in needed] == ["fill_constant", "log"]


def test_what_is_given_in_place_of_a_result_needs_no_operator() -> None:
    found = written_twice()
    assert found.overwritten(["a", "x"]) == {"a"}
    assert [op.type() for op in found.needed(["y"], {"a"})] == ["log"]


def test_what_a_block_declares_is_known() -> None:
    assert written_twice().names() == {"x", "a", "y", "beside"}
