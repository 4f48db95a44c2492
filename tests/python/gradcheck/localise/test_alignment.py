"""Which gradient operator of one program stands for which one of another."""

import pytest

from fluidcore import core
from fluidcore.gradcheck.localise.alignment import align

FORWARD = frozenset({"0:0", "0:1"})


def add(
    block: core.BlockDesc, name: str, op_type: str, reads: str, *writes: str, **attrs: object
) -> None:
    op = block.append_op()
    op.copy_from(core.OpDesc(op_type, {"X": reads.split()}, {"Out": list(writes)}, attrs))
    op.set_call_site(name)


def program(*gradient_ops: tuple[str, ...]) -> core.ProgramDesc:
    """Two forward operators, and others: (name, type, variables read, variables written...)."""
    desc = core.ProgramDesc()
    add(desc.block(0), "0:0", "tanh", "x", "h")
    add(desc.block(0), "0:1", "relu", "h", "y")
    for name, op_type, reads, *writes in gradient_ops:
        add(desc.block(0), name, op_type, reads, *writes)
    return desc


RELU = ("of 0:1", "relu_grad", "y@GRAD", "h@GRAD")
TANH = ("of 0:0", "tanh_grad", "h@GRAD", "x@GRAD")


def named(name: str, op: tuple[str, ...]) -> tuple[str, ...]:
    return (name, *op[1:])


def twins(actual: list[tuple[str, ...]], reference: list[tuple[str, ...]]):
    """Name of an actual operator -> of the reference's; and what is missing."""
    found = align(program(*actual), program(*reference), FORWARD)
    pairs = {name: twin.call_site() for name, twin in found.twins.items()}
    assert all(missing.block == 0 for missing in found.missing)
    return pairs, [missing.op.call_site() for missing in found.missing]


def test_the_same_operators_stand_for_each_other() -> None:
    a, b = named("0:2", RELU), named("0:3", TANH)
    assert twins([a, b], [RELU, TANH]) == ({"0:2": "of 0:1", "0:3": "of 0:0"}, [])
    assert twins([], []) == ({}, [])


def test_what_the_reference_has_alone_is_missing_and_what_it_lacks_has_no_twin() -> None:
    a, b = named("0:2", RELU), named("0:3", TANH)
    assert twins([b], [RELU, TANH]) == ({"0:3": "of 0:0"}, ["of 0:1"])
    assert twins([a], [RELU, TANH]) == ({"0:2": "of 0:1"}, ["of 0:0"])
    extra = ("0:9", "scale", "h@GRAD", "h@GRAD@EXTRA")
    assert twins([a, extra, b], [RELU, TANH]) == ({"0:2": "of 0:1", "0:3": "of 0:0"}, [])
    assert twins([], [RELU, TANH]) == ({}, ["of 0:1", "of 0:0"])


def test_a_type_and_results_come_before_a_place() -> None:
    a, b = named("0:2", TANH), named("0:3", RELU)  # in the other order
    pairs, missing = twins([a, b], [RELU, TANH])
    assert len(pairs) == 1
    assert missing == [name for name in ("of 0:1", "of 0:0") if name not in pairs.values()]
    assert pairs.items() < {"0:2": "of 0:0", "0:3": "of 0:1"}.items()


def test_the_same_results_come_before_the_same_place() -> None:
    other = ("0:2", "sigmoid_grad", "h@GRAD", "x@GRAD")
    assert twins([other], [RELU, TANH]) == ({"0:2": "of 0:0"}, ["of 0:1"])
    assert twins([other, named("0:3", TANH)], [RELU, TANH])[0]["0:3"] == "of 0:0"


def test_as_many_operators_between_two_that_are_the_same_stand_for_each_other() -> None:
    other = ("0:2", "sigmoid_grad", "y@GRAD", "wrong@GRAD")
    assert twins([other, named("0:3", TANH)], [RELU, TANH]) == (
        {"0:2": "of 0:1", "0:3": "of 0:0"},
        [],
    )
    more = ("0:4", "exp_grad", "y@GRAD", "worse@GRAD")
    assert twins([other, more, named("0:3", TANH)], [RELU, TANH]) == (
        {"0:3": "of 0:0"},
        ["of 0:1"],
    )


def test_the_order_of_results_and_results_that_nobody_wants_do_not_matter() -> None:
    reference = ("of 0:1", "mul_grad", "y@GRAD", "a@GRAD", "b@GRAD")
    for writes in (("b@GRAD", "a@GRAD"), ("a@GRAD", core.EMPTY_VAR_NAME, "b@GRAD")):
        pairs, _ = twins(
            [("0:2", "add_grad", "y@GRAD", *writes), ("0:3", "mul_grad", "y@GRAD", "c@GRAD")],
            [reference],
        )
        assert pairs == {"0:2": "of 0:1"}


def test_forward_operators_have_no_twins() -> None:
    found = align(program(named("0:2", RELU)), program(RELU), FORWARD)
    assert found.twins.keys() == {"0:2"}
    assert found.blocks == {0: 0}
    assert found.written == {0: {"h@GRAD"}}


def test_what_only_new_gradient_operators_write_is_written() -> None:
    kept = ("0:2", "relu_grad", "y@GRAD", "kept@GRAD")  # of neither program's own
    found = align(program(kept), program(kept, RELU, TANH), FORWARD | {"0:2"})
    assert found.written == {0: {"h@GRAD", "x@GRAD"}}
    assert found.twins == {}


def with_blocks(order: tuple[int, int], *writes: str, prefix: str = "") -> core.ProgramDesc:
    """Forward and gradient operators that run a block each, numbered in some order."""
    desc = core.ProgramDesc()
    blocks = [desc.append_block(0), desc.append_block(0)]
    for name, at in (("0:0", order[0]), (f"{prefix}0:1", order[1])):
        add(desc.block(0), name, "while", "c", "o", sub_block=core.BlockIndex(blocks[at].id()))
    add(blocks[order[0]], "1:0", "tanh", "a", "b")
    for i, name in enumerate(writes):
        add(blocks[order[1]], f"{prefix}2:{i}", "tanh_grad", "b@GRAD", name)
    return desc


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_blocks_stand_for_each_other_as_their_operators_do(order: tuple[int, int]) -> None:
    forward = frozenset({"0:0", "1:0"})
    actual = with_blocks((0, 1), "a@GRAD")
    reference = with_blocks(order, "a@GRAD", "lost@GRAD", prefix="of ")
    found = align(actual, reference, forward)
    assert found.blocks == {0: 0, 1: 1 + order[0], 2: 1 + order[1]}
    assert found.written == {0: {"o"}, 1: set(), 2: {"a@GRAD", "lost@GRAD"}}
    assert {name: twin.call_site() for name, twin in found.twins.items()} == {
        "0:1": "of 0:1",
        "2:0": "of 2:0",
    }
    assert [(missing.op.call_site(), missing.block) for missing in found.missing] == [("of 2:1", 2)]


def test_an_operator_without_a_block_stands_for_one_that_has_one() -> None:
    actual = program(("0:2", "while", "c", "o"))
    reference = with_blocks((0, 1), "a@GRAD", prefix="of ")
    assert align(actual, reference, frozenset()).blocks == {0: 0}
    assert align(reference, actual, frozenset()).blocks == {0: 0}


def test_a_forward_operator_that_the_reference_lacks_is_passed_over() -> None:
    actual = with_blocks((0, 1), "a@GRAD")
    reference = core.ProgramDesc()
    assert align(actual, reference, frozenset({"0:0", "1:0", "0:1"})).blocks == {0: 0}
