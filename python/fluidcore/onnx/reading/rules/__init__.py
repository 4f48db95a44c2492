"""How each operator of ONNX is read: (domain, operator) -> rule."""

from fluidcore.onnx.reading.rules import (
    activation,
    attention,
    bits,
    blocks,
    constants,
    control,
    conv,
    elementwise,
    fourier,
    gather,
    logic,
    norm,
    order,
    parts,
    pool,
    products,
    random,
    recurrent,
    reduce,
    resize,
    sequences,
    shape,
    unpool,
)
from fluidcore.onnx.reading.rules.common import Rule

_FAMILIES = (
    activation,
    attention,
    bits,
    blocks,
    constants,
    control,
    conv,
    elementwise,
    fourier,
    gather,
    logic,
    norm,
    order,
    parts,
    pool,
    products,
    random,
    recurrent,
    reduce,
    resize,
    sequences,
    shape,
    unpool,
)

RULES: dict[tuple[str, str], Rule] = {
    ("", op_type): rule for family in _FAMILIES for op_type, rule in family.RULES.items()
}

# Nodes that must stay what they are, though all their inputs are known.
NOT_FOLDED = frozenset(("", each) for each in (*control.RULES, *random.RULES, "Dropout"))

__all__ = ["NOT_FOLDED", "RULES", "Rule"]
