"""Weight decay: operators that add to a gradient."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fluidcore.base.checks import check_number
from fluidcore.program.gradient_hooks import WeightDecayRegularizer
from fluidcore.program.merged_rows import MergedRows

if TYPE_CHECKING:
    from fluidcore.program import Block, Parameter, Variable

__all__ = [
    "L1Decay",
    "L1DecayRegularizer",
    "L2Decay",
    "L2DecayRegularizer",
    "ParamsGrads",
    "WeightDecayRegularizer",
    "append_regularization_ops",
    "check_regularizer",
]

ParamsGrads = list[tuple["Parameter", "Variable | None"]]
_KEPT_AS = {"regularization_coeff": "coefficient"}


def check_regularizer(what: str, value: object) -> None:
    """Raises TypeError unless `value` is a regularizer or None."""
    if not (value is None or isinstance(value, WeightDecayRegularizer)):
        raise TypeError(f"{what} must be a regularizer such as L2Decay(0.01), got {value!r}")


def _coefficient(kind: str, value: float) -> float:
    return check_number(f"{kind}: regularization_coeff", value)


class L2DecayRegularizer(WeightDecayRegularizer):
    """Adds coeff * parameter to the gradient (the penalty is coeff / 2 * sum of squares)."""

    _kept_as = _KEPT_AS

    def __init__(self, regularization_coeff: float = 0.0) -> None:
        self.coefficient = _coefficient("L2Decay", regularization_coeff)

    def __call__(self, param: Variable, grad: Variable, block: Block) -> Variable:
        """Appends scale."""
        return block.append_single(
            "scale", {"X": param}, {"scale": self.coefficient}, key=f"{grad.name}.decay"
        )


class L1DecayRegularizer(WeightDecayRegularizer):
    """Adds coeff * sign(parameter) to the gradient (the penalty is coeff * sum of |parameter|)."""

    _kept_as = _KEPT_AS

    def __init__(self, regularization_coeff: float = 0.0) -> None:
        self.coefficient = _coefficient("L1Decay", regularization_coeff)

    def __call__(self, param: Variable, grad: Variable, block: Block) -> Variable:
        """Appends sign, which is 0 for 0, and scale."""
        key = f"{grad.name}.decay"
        sign = block.append_single("sign", {"X": param}, key=key)
        return block.append_single("scale", {"X": sign}, {"scale": self.coefficient}, key=key)


def append_regularization_ops(
    params_grads: Iterable[tuple[Parameter, Variable | None]],
    regularization: WeightDecayRegularizer | None = None,
) -> ParamsGrads:
    """Adds weight decay to the gradients; of a gradient of selected rows, to these rows alone.

    Args:
        params_grads: Parameters and their gradients; None where there is no gradient.
        regularization: For parameters without a regularizer of their own.

    Returns:
        The parameters with their new gradients.
    """
    result: ParamsGrads = []
    for param, grad in params_grads:
        regularizer = param.regularizer or regularization
        if grad is None or regularizer is None:
            result.append((param, grad))
            continue
        merged = MergedRows.of(grad)
        if merged is None:
            result.append((param, _regularized(regularizer, param, grad)))
            continue
        values = _regularized(regularizer, merged.of_table(param), merged.values)
        result.append((param, merged.with_values(values)))
    return result


def _regularized(regularizer: WeightDecayRegularizer, param: Variable, grad: Variable) -> Variable:
    decay = regularizer(param, grad, grad.block)
    return grad.block.append_single(
        "elementwise_add", {"X": grad, "Y": decay}, key=f"{grad.name}.regularized"
    )


L1Decay = L1DecayRegularizer
L2Decay = L2DecayRegularizer
