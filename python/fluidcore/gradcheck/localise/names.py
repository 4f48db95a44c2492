"""What the names of gradients say."""

from __future__ import annotations

import re

from fluidcore import core

_SUFFIX = re.compile(r"(@RENAME@\d+|@CARRY|@STEP|@VERSION@\d+|_\d+)$")


def is_gradient(name: str) -> bool:
    """Whether a variable is named as a gradient."""
    return core.GRAD_VAR_SUFFIX in name


def variable_of(grad: str) -> str:
    """The forward variable of a gradient: "x@GRAD@RENAME@0" gives "x"."""
    head, found, tail = grad.rpartition(core.GRAD_VAR_SUFFIX)
    while found and _SUFFIX.search(tail):
        tail = _SUFFIX.sub("", tail)
    return head if found and not tail else grad


def is_part_of(name: str, whole: str) -> bool:
    """Whether a variable is a partial gradient, or what has been added up so far."""
    return ("@RENAME@" in name or "@CARRY" in name) and variable_of(name) == variable_of(whole)


def is_sum_of_parts(op: core.OpDesc) -> bool:
    """Whether an operator adds up the parts of a gradient, and is no gradient of a `sum`."""
    if op.type() != "sum":
        return False
    (whole,) = op.output("Out")
    return any(is_part_of(name, whole) for name in op.input("X"))
