"""How each operator is written: RULES, or why it cannot be: NO_FORM."""

from fluidcore.onnx.writing.operator import Rule
from fluidcore.onnx.writing.rules import (
    activation,
    arithmetic,
    arrays,
    control_flow,
    conv,
    fill,
    gather,
    logic,
    loss,
    matmul,
    normalization,
    order,
    pool,
    random,
    recurrence,
    reduction,
    resample,
    shape,
    slice,
    softmax,
)
from fluidcore.onnx.writing.rules.no_form import NO_FORM

_FAMILIES = (
    activation,
    arithmetic,
    arrays,
    control_flow,
    conv,
    fill,
    gather,
    logic,
    loss,
    matmul,
    normalization,
    order,
    pool,
    random,
    recurrence,
    reduction,
    resample,
    shape,
    slice,
    softmax,
)

RULES: dict[str, Rule] = {
    op_type: rule for family in _FAMILIES for op_type, rule in family.RULES.items()
}

__all__ = ["NO_FORM", "RULES"]
