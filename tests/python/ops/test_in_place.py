"""An operator may write the variable that it reads, whatever the operator and the case."""

import numpy as np
import pytest
from every_case import every_case
from op_case import OpCase
from op_runner import OneOp

from fluidcore import core


def pairs(case: OpCase) -> list[tuple[str, str]]:
    """Input and output slots that one variable could be in."""
    dtype = case.dtypes_to_test()[-1]
    one, expected = case.build(dtype)
    names = one.op.input_arg_names()
    return [
        (slot, out)
        for slot, args in one.op.inputs().items()
        for out, results in one.op.outputs().items()
        if len(args) == len(results) == 1 and names.count(args[0]) == 1 and out in expected
        if one.block.var(args[0]).shape() == one.block.var(results[0]).shape()
        if one.block.var(args[0]).dtype() == one.block.var(results[0]).dtype()
    ]


PAIRS_OF_CASES: dict[str, list[tuple[OpCase, str, str]]] = {}  # by operator
for one_case in every_case():
    if not one_case.in_place and (found := pairs(one_case)):
        PAIRS_OF_CASES.setdefault(one_case.type, []).extend((one_case, *pair) for pair in found)


@pytest.mark.parametrize("persistable", [True, False], ids=["in the scope", "in the arena"])
@pytest.mark.parametrize("op_type", PAIRS_OF_CASES)
def test_in_place(op_type: str, persistable: bool) -> None:
    for case, slot, out in PAIRS_OF_CASES[op_type]:
        check_in_place(case, slot, out, persistable)


def check_in_place(case: OpCase, slot: str, out: str, persistable: bool) -> None:
    one, expected = case.build(case.dtypes_to_test()[-1])
    outputs = {name: one.op.output(name) for name in expected}
    plain = one.run([args[0] for args in outputs.values()])

    (read,) = one.op.input(slot)
    shared = read if persistable else "copy"
    again = OneOp(core.ProgramDesc(), one.op, core.Scope())
    for name, value in one.values.items():
        again.add_value(name, value)
    again.block.var(read).set_persistable(persistable)
    if not persistable:
        again.block.add_op("assign", {"X": [read]}, {"Out": [shared]}, {})
    inputs = one.op.inputs() | {slot: [shared]}
    results = one.op.outputs() | {out: [shared]}
    again.op = again.block.add_op(one.op.type(), inputs, results, one.op.attrs())
    got = again.run([results[name][0] for name in outputs])
    for name, want, actual in zip(outputs, plain, got, strict=True):
        message = f"{case}, {slot} is {out}: {name}"
        np.testing.assert_array_equal(actual, want, err_msg=message)
