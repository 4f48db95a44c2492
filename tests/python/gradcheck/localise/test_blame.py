"""Who is blamed for a wrong value, and what for."""

import pytest

from fluidcore import core
from fluidcore.gradcheck.localise.alignment import Aligned, Missing
from fluidcore.gradcheck.localise.blame import (
    Blame,
    blame_for_edit,
    blame_for_extra,
    blame_for_missing,
)
from fluidcore.gradcheck.localise.reference import Pair
from fluidcore.gradcheck.verdict import Reason


def op_of(op_type: str, reads: list[str], writes: list[str], **attrs: object) -> core.OpDesc:
    return core.OpDesc(op_type, {"X": reads}, {"Out": writes}, attrs)


def blamed(op: core.OpDesc, twin: core.OpDesc, *before: core.OpDesc, known=()) -> Blame:
    """For an operator after others, which are named "0", "1", ..."""
    desc = core.ProgramDesc()
    for i, one in enumerate([*before, op]):
        added = desc.block(0).append_op()
        added.copy_from(one)
        added.set_call_site(str(i))
    aligned = Aligned(twins=dict.fromkeys(known, twin))
    pair = Pair(desc, None, frozenset({"forward"}), {})
    return blame_for_edit(pair, aligned, str(len(before)), op, twin, "x@GRAD")


TANH = op_of("tanh_grad", ["y@GRAD"], ["x@GRAD"])


@pytest.mark.parametrize(
    ("op", "twin", "reason", "detail"),
    [
        (
            op_of("relu_grad", ["y@GRAD"], ["x@GRAD"]),
            TANH,
            Reason.MISMATCH,
            "'relu_grad' in place of 'tanh_grad'",
        ),
        (
            op_of("sum", ["x@GRAD@RENAME@0"], ["x@GRAD"]),
            op_of("sum", ["x@GRAD@RENAME@0", "x@GRAD@RENAME@1"], ["x@GRAD"]),
            Reason.FANOUT_SUM,
            "'x@GRAD' is not the sum of its parts; 'x@GRAD@RENAME@1' is not in it",
        ),
        (
            op_of("sum", ["x@GRAD@RENAME@0"] * 2, ["x@GRAD"]),
            op_of("sum", ["x@GRAD@RENAME@0"], ["x@GRAD"]),
            Reason.FANOUT_SUM,
            "'x@GRAD' is not the sum of its parts",
        ),
        (
            op_of("fill_zeros_like", ["z"], ["x@GRAD"]),
            op_of("fill_zeros_like", ["x"], ["x@GRAD"]),
            Reason.MISSING_ZERO,
            "'x@GRAD' must be zeros",
        ),
        (
            op_of("clip", ["x@GRAD"], ["x@GRAD"], max=2.0),
            op_of("clip", ["x@GRAD"], ["x@GRAD"], max=1.0),
            Reason.CLIP,
            "'x@GRAD' is not clipped as its variable says",
        ),
        (
            op_of("tanh_grad", ["y"], ["x@GRAD"]),
            op_of("tanh_grad", ["y@VERSION@1"], ["x@GRAD"]),
            Reason.STALE,
            "reads 'y' where it must read 'y@VERSION@1'",
        ),
        (
            op_of("tanh_grad", ["z@GRAD"], ["x@GRAD"]),
            TANH,
            Reason.MISMATCH,
            "reads 'z@GRAD' where it must read 'y@GRAD'",
        ),
        (
            op_of("tanh_grad", ["y@GRAD@RENAME@0"], ["x@GRAD"]),
            TANH,
            Reason.FANOUT_SUM,
            "reads 'y@GRAD@RENAME@0' where it must read 'y@GRAD'",
        ),
        (
            op_of("scale_grad", ["y@GRAD"], ["x@GRAD"], bias=0.0, scale=3.0),
            op_of("scale_grad", ["y@GRAD"], ["x@GRAD"], bias=0.0, scale=2.0),
            Reason.MISMATCH,
            "the attribute 'scale' is 3.0 where it must be 2.0",
        ),
        (
            op_of("tanh_grad", ["y@GRAD"], ["x@GRAD"]),
            op_of("tanh_grad", ["y@GRAD"], ["z@GRAD"]),
            Reason.MISMATCH,
            "'x@GRAD' is written in place of another gradient",
        ),
    ],
)
def test_what_is_another_operator_is_told(op, twin, reason: Reason, detail: str) -> None:
    found = blamed(op, twin)
    assert found == Blame("0", op.type(), "Out", "x@GRAD", reason, detail)


def test_the_slot_is_that_of_the_variable_if_there_is_one() -> None:
    two = core.OpDesc("mul_grad", {}, {"A": ["a@GRAD"], "B": ["b@GRAD", "x@GRAD"]}, {})
    assert blamed(two, TANH).slot == "B"
    assert blamed(op_of("mul_grad", [], ["a@GRAD"]), TANH).slot == ""


READS = op_of("tanh_grad", ["y@GRAD@MORE"], ["x@GRAD"])
MAKES = op_of("scale", ["y@GRAD"], ["y@GRAD@MORE"])
OTHER = op_of("scale", ["y@GRAD"], ["z@GRAD"])


def test_who_made_what_should_not_be_read_is_blamed() -> None:
    detail = "changes 'y@GRAD@MORE', which was complete"
    expected = Blame("1", "scale", "Out", "y@GRAD@MORE", Reason.MISMATCH, detail)
    assert blamed(READS, TANH, OTHER, MAKES, OTHER) == expected
    for known in ((), ("0",), ("2",)):
        assert blamed(READS, TANH, MAKES, MAKES, OTHER, known=known).op == "1"


def test_unless_it_belongs_there_or_makes_no_gradient() -> None:
    assert blamed(READS, TANH, MAKES, known=("0",)).op == "1"
    assert blamed(READS, TANH, OTHER).op == "1"
    assert blamed(READS, TANH).op == "0"
    value = op_of("scale", ["y@GRAD"], ["y"])
    assert blamed(op_of("tanh_grad", ["y"], ["x@GRAD"]), TANH, value).op == "1"


@pytest.mark.parametrize(
    ("op_type", "reason", "detail"),
    [
        ("clip", Reason.CLIP, "clips 'a', whose variable has no error clip of these bounds there"),
        ("scale", Reason.MISMATCH, "changes 'a', which was complete"),
    ],
)
def test_an_operator_too_much(op_type: str, reason: Reason, detail: str) -> None:
    op = op_of(op_type, ["a"], ["a"])
    assert blame_for_extra("3", op, "a") == Blame("3", op_type, "Out", "a", reason, detail)
    assert blame_for_extra("3", op, "b").slot == ""


@pytest.mark.parametrize(
    ("op", "reason"),
    [
        (op_of("sum", ["x@GRAD@RENAME@0"], ["x@GRAD"]), Reason.FANOUT_SUM),
        (op_of("sum", ["a"], ["x@GRAD"]), Reason.MISMATCH),
        (op_of("fill_zeros_like", ["x"], ["x@GRAD"]), Reason.MISSING_ZERO),
        (op_of("clip", ["x@GRAD"], ["x@GRAD"]), Reason.CLIP),
        (TANH, Reason.MISMATCH),
    ],
)
def test_an_operator_that_is_not_there(op: core.OpDesc, reason: Reason) -> None:
    op.set_call_site("of 0:7")
    detail = f"'{op.type()}', which makes 'x@GRAD', is missing"
    expected = Blame("", op.type(), "", "x@GRAD", reason, detail, 4, "0:7")
    assert blame_for_missing(Missing(op, 4), "x@GRAD") == expected
