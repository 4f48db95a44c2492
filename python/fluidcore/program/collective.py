"""Collective operators in a program: those that several processes run together."""

from __future__ import annotations

import math
from typing import Any

from fluidcore import core


def is_collective(op_type: str) -> bool:
    """Whether an operator is one that all ranks run together: c_broadcast, c_allreduce_sum, ..."""
    return op_type.startswith("c_")


def make_test(op: core.OpDesc) -> None:
    """Sets `is_test` in an operator that has it; then it needs no statistics of other ranks."""
    op.set_attr("is_test", True)
    if is_collective(op.type()):
        op.set_type(_alone(op.type()))
        op.remove_input("Samples")


def _alone(op_type: str) -> str:
    """The type of what one rank runs alone: "batch_norm"; "" where that is nothing."""
    rest = op_type.removeprefix("c_")
    return rest if rest in core.op_types() else ""


def without_collectives(text: str) -> str:
    """The text of a program as one rank runs it alone.

    Args:
        text: From `Program.serialize_to_string`.
    """
    import json  # only now: it takes a part of the time that importing fluidcore takes

    program = json.loads(text)
    ops = [op for block in program["blocks"] for op in block["ops"]]
    for op in ops:
        if is_collective(op["type"]) and (alone := _alone(op["type"])):
            op["type"] = alone
            op["inputs"].pop("Samples", None)
    parts = _of_parts(ops)
    collectives = (_written(op) for op in ops if is_collective(op["type"]))
    others = (_written(op) for op in ops if not is_collective(op["type"]))
    removed = set().union(*collectives).difference(*others)
    for block in program["blocks"]:
        block["ops"] = [op for op in block["ops"] if not is_collective(op["type"])]
        block["vars"] = [each for each in block["vars"] if each["name"] not in removed]
        for var in block["vars"]:
            if var["name"] in parts:
                var["shape"] = []  # depends on the number of ranks
    return json.dumps(program)


def parts_of(text: str) -> dict[str, int]:
    """The variables of which each rank has a part, and the number of elements of all parts.

    Args:
        text: From `Program.serialize_to_string`.
    """
    import json

    blocks = json.loads(text)["blocks"]
    sizes = {var["name"]: math.prod(var["shape"]) for block in blocks for var in block["vars"]}
    ops = [op for block in blocks for op in block["ops"]]
    totals = {
        op["outputs"]["Out"][0]: sum(sizes[name] for name in op["inputs"]["X"])
        for op in ops
        if op["type"] == "c_part"
    }
    return {
        name: totals[param]
        for op in ops
        for param in op["inputs"].get("Param", ())
        if param in totals
        for name in _written(op) - {param}
    }


def _of_parts(ops: list[dict[str, Any]]) -> set[str]:
    """What is calculated from parts of this rank."""
    found = {name for op in ops if op["type"] == "c_part" for name in _written(op)}
    for op in ops:
        if op["type"] == "c_wait":
            read = op["inputs"]["Like"]
        elif is_collective(op["type"]):
            read = []
        else:
            read = [name for names in op["inputs"].values() for name in names]
        if found.intersection(read):
            found |= _written(op)
    return found


def _written(op: dict[str, Any]) -> set[str]:
    return {name for names in op["outputs"].values() for name in names}
