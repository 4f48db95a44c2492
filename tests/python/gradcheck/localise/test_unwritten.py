"""Gradients that are read before anything has written them."""

import pytest

from fluidcore import core
from fluidcore.gradcheck.localise.observed import first_unwritten
from fluidcore.program.variable import ARRAY


def add(block: core.BlockDesc, name: str, op_type: str, inputs, outputs, **attrs) -> None:
    op = block.append_op()
    op.copy_from(core.OpDesc(op_type, inputs, outputs, attrs))
    op.set_call_site(name)


def tanh_grad(block: core.BlockDesc, name: str, reads: str, writes: str) -> None:
    add(block, name, "tanh_grad", {"Out": ["y"], "Out@GRAD": [reads]}, {"X@GRAD": [writes]})


def test_the_first_that_reads_what_nothing_wrote_is_named() -> None:
    desc = core.ProgramDesc()
    tanh_grad(desc.block(0), "a", "y@GRAD", "x@GRAD")
    tanh_grad(desc.block(0), "b", "x@GRAD", "w@GRAD")
    tanh_grad(desc.block(0), "c", "v@GRAD", "u@GRAD")
    assert first_unwritten(desc, []) == ("a", "y@GRAD")
    assert first_unwritten(desc, ["y@GRAD"]) == ("c", "v@GRAD")
    assert first_unwritten(desc, ["y@GRAD", "v@GRAD"]) is None


def test_arrays_are_not_looked_into() -> None:
    desc = core.ProgramDesc()
    tanh_grad(desc.block(0), "a", "y@GRAD", "x@GRAD")
    desc.block(0).var("y@GRAD")
    assert first_unwritten(desc, []) == ("a", "y@GRAD")
    desc.block(0).var("y@GRAD").set_type(ARRAY)
    assert first_unwritten(desc, []) is None


def loop(reads: str, *, local: tuple[str, ...] = (), outputs: tuple[str, ...] = (), **attrs):
    """An operator with a block that reads a gradient, and one that reads what it wrote."""
    desc = core.ProgramDesc()
    inner = desc.append_block(0)
    for name in local:
        inner.var(name)
    tanh_grad(inner, "inner", reads, "own@GRAD")
    outer = desc.block(0)
    attrs = {"sub_block": core.BlockIndex(inner.id()), **attrs}
    add(outer, "outer", "recurrent_grad", {}, {"outputs": list(outputs)}, **attrs)
    tanh_grad(outer, "last", "z@GRAD", "x@GRAD")
    return desc


@pytest.mark.parametrize(
    ("attrs", "reads", "found"),
    [
        ({}, "s@GRAD", ("inner", "s@GRAD")),
        ({"step_inputs": ["s@GRAD"]}, "s@GRAD", None),
        ({"ex_states": ["s@GRAD"]}, "s@GRAD", None),
        ({"step_inputs": ["a"], "ex_states": ["s@GRAD"]}, "s@GRAD", None),
        ({"step_inputs": ["s@GRAD"], "ex_states": ["a"]}, "s@GRAD", None),
        ({}, "z@GRAD", None),
    ],
)
def test_a_block_knows_what_is_handed_to_it(attrs, reads: str, found) -> None:
    assert first_unwritten(loop(reads, **attrs), ["z@GRAD"]) == found


def test_a_variable_of_the_block_is_another_one() -> None:
    assert first_unwritten(loop("z@GRAD", local=("z@GRAD",)), ["z@GRAD"]) == ("inner", "z@GRAD")


def test_what_a_block_writes_is_known_behind_it() -> None:
    assert first_unwritten(loop("y", outputs=("z@GRAD",)), []) is None
    assert first_unwritten(loop("y"), []) == ("last", "z@GRAD")
