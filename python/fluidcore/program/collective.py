"""Collective operators in a program: those that several processes run together."""

from __future__ import annotations

from typing import Any

from fluidcore.program.program import Program


def is_collective(op_type: str) -> bool:
    """Whether an operator is one that all ranks run together: c_broadcast, c_allreduce_sum, ..."""
    return op_type.startswith("c_")


def has_collectives(program: Program) -> bool:
    """Whether a program has a collective operator."""
    return any(is_collective(op.type) for block in program.blocks for op in block.ops)


def without_collectives(text: str) -> str:
    """The text of a program as it was before it was made data parallel.

    Args:
        text: From `Program.serialize_to_string`.
    """
    import json  # only now: it takes a part of the time that importing fluidcore takes

    program = json.loads(text)
    ops = [op for block in program["blocks"] for op in block["ops"]]
    collectives = (_written(op) for op in ops if _is_removed(op))
    others = (_written(op) for op in ops if not _is_removed(op))
    removed = set().union(*collectives).difference(*others)
    for block in program["blocks"]:
        block["ops"] = [op for op in block["ops"] if not _is_removed(op)]
        block["vars"] = [each for each in block["vars"] if each["name"] not in removed]
    return json.dumps(program)


def _is_removed(op: dict[str, Any]) -> bool:
    return is_collective(op["type"])


def _written(op: dict[str, Any]) -> set[str]:
    return {name for names in op["outputs"].values() for name in names}
