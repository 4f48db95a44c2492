"""Error clips, which act during backward, and gradient clips, which act after it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from fluidcore.base.checks import check_list, check_number
from fluidcore.program import Block, Parameter, Program, Variable, default_main_program
from fluidcore.program.error_clip import BaseErrorClipAttr, ErrorClipByValue, checked_bounds
from fluidcore.program.gradient_hooks import BaseGradientClipAttr
from fluidcore.program.merged_rows import MergedRows

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "BaseErrorClipAttr",
    "BaseGradientClipAttr",
    "ClipByValue",
    "ErrorClipByValue",
    "GradientClipByGlobalNorm",
    "GradientClipByNorm",
    "GradientClipByValue",
    "ParamsGrads",
    "append_gradient_clip_ops",
    "error_clip_callback",
    "set_gradient_clip",
]

ParamsGrads = list[tuple[Parameter, Variable | None]]


def error_clip_callback(block: Block, context: Mapping[str, str]) -> None:
    """Appends the error clips of the gradients that the last operator of `block` completes.

    Args:
        block: Its last operator is a gradient operator.
        context: Name of a complete gradient -> name of its forward variable.
    """
    grad_to_var = context
    op_desc = block.desc.op(block.desc.op_size() - 1)
    # A gradient block may have values of its own under the names of its forward block.
    forward_idx = block.forward_block_idx
    forward_block = block.program.block(forward_idx) if forward_idx >= 0 else block
    for grad_name in dict.fromkeys(op_desc.output_arg_names()):
        forward_name = grad_to_var.get(grad_name)
        if forward_name is None:
            continue
        forward = forward_block.find_var_recursive(forward_name)
        error_clip = None if forward is None else forward.error_clip
        if not (error_clip is None or isinstance(error_clip, BaseErrorClipAttr)):
            error = TypeError(
                "Variable's error_clip should be an instance of BaseErrorClipAttr or None."
            )
            error.add_note(f"variable '{forward_name}' has the error_clip {error_clip!r}")
            raise error
        if error_clip is not None:
            _append_error_clip(error_clip, block, grad_name)


def _append_error_clip(clip: BaseErrorClipAttr, block: Block, grad_name: str) -> None:
    merged = MergedRows.of(block.var(grad_name))
    if merged is None:
        clip.append_clip_op(block, grad_name)
    else:
        clip.append_clip_op(block, merged.values.name)
        inputs = {"Rows": merged.rows, "Values": merged.values}
        block.append_op("pack_selected_rows", inputs, {"Out": grad_name})


def _positive(kind: str, clip_norm: float) -> float:
    norm = check_number(f"{kind}: clip_norm", clip_norm, finite=False)
    if not (norm > 0 and math.isfinite(norm)):
        raise ValueError(f"{kind}: clip_norm must be positive and finite, got {clip_norm}")
    return norm


class GradientClipByValue(BaseGradientClipAttr):
    """Clips every element of a gradient to [min, max]; `min` None means -max."""

    def __init__(self, max: float, min: float | None = None) -> None:
        self.max, self.min = checked_bounds("GradientClipByValue", max, min)

    def create_operators(
        self, context: dict[Any, Any], param: Parameter, grad: Variable
    ) -> Variable:
        """Appends clip."""
        bounds = {"min": self.min, "max": self.max}
        return _append(grad.block, "clip", {"X": grad}, bounds, grad)


ClipByValue = GradientClipByValue  # as the first versions called it


class GradientClipByNorm(BaseGradientClipAttr):
    """Scales a gradient down to an L2 norm of `clip_norm` if its norm is larger."""

    def __init__(self, clip_norm: float) -> None:
        self.clip_norm = _positive("GradientClipByNorm", clip_norm)

    def create_operators(
        self, context: dict[Any, Any], param: Parameter, grad: Variable
    ) -> Variable:
        """Appends the norm, the factor and the product."""
        factor = _norm_factor([grad], self.clip_norm)
        return _append(grad.block, "elementwise_mul", {"X": grad, "Y": factor}, {}, grad)


class GradientClipByGlobalNorm(BaseGradientClipAttr):
    """Scales the gradients of a group by one factor, so that their common norm is bounded.

    The factor is clip_norm / max(clip_norm, sqrt(sum of squares of all gradients of the group)).

    Args:
        clip_norm: The largest norm; the same for the whole group.
        group_name: Parameters with the same name are one group.
    """

    def __init__(self, clip_norm: float, group_name: str = "default_group") -> None:
        self.clip_norm = _positive("GradientClipByGlobalNorm", clip_norm)
        self.group_name = group_name

    def process_context(self, context: dict[Any, Any], param: Parameter, grad: Variable) -> None:
        """Adds the gradient to its group."""
        clip_norm, grads = context.setdefault(self.group_name, (self.clip_norm, []))
        if clip_norm != self.clip_norm:
            raise ValueError(
                f"GradientClipByGlobalNorm: all parameters of group '{self.group_name}' must have "
                f"the same clip_norm, got {clip_norm} and {self.clip_norm}"
            )
        grads.append(grad)

    def create_operators(
        self, context: dict[Any, Any], param: Parameter, grad: Variable
    ) -> Variable:
        """Appends the factor once for each group, and the product."""
        key = (self.group_name, "factor")
        if key not in context:
            grads = context[self.group_name][1]
            context[key] = _norm_factor(grads, self.clip_norm, self.whole)
        return _append(grad.block, "elementwise_mul", {"X": grad, "Y": context[key]}, {}, grad)

    def whole(self, squares: Variable) -> Variable:
        """From the sum of squares that this program has to that of the whole group."""
        return squares


def _append(
    block: Block, op_type: str, inputs: dict[str, Any], attrs: dict[str, Any], grad: Variable
) -> Variable:
    return block.append_single(op_type, inputs, attrs, key=f"{grad.name}.clip")


def _norm_factor(
    grads: list[Variable],
    clip_norm: float,
    whole: Callable[[Variable], Variable] = lambda squares: squares,
) -> Variable:
    """clip_norm / max(clip_norm, norm of all gradients together), of shape [1]."""
    first = grads[0]
    block = first.block

    def square_sum(grad: Variable) -> Variable:
        square = _append(block, "square", {"X": grad}, {}, grad)
        return _append(block, "reduce_sum", {"X": square}, {"reduce_all": True}, grad)

    total = _append(block, "sum", {"X": [square_sum(grad) for grad in grads]}, {}, first)
    norm = _append(block, "sqrt", {"X": whole(total)}, {}, first)
    constant = {"shape": [1], "value": clip_norm, "dtype": first.dtype}
    limit = _append(block, "fill_constant", {}, constant, first)
    bounded = _append(block, "elementwise_max", {"X": norm, "Y": limit}, {}, first)
    return _append(block, "elementwise_div", {"X": limit, "Y": bounded}, {}, first)


def set_gradient_clip(
    clip: BaseGradientClipAttr,
    param_list: Iterable[Parameter | str] | None = None,
    program: Program | None = None,
) -> None:
    """Sets the gradient clip of parameters.

    Args:
        clip: How to clip.
        param_list: Parameters or their names; None for all parameters of the program.
        program: None for the default main program.
    """
    if not isinstance(clip, BaseGradientClipAttr):
        raise TypeError(f"clip must be a BaseGradientClipAttr, got {type(clip).__name__}")
    block = (program or default_main_program()).global_block()
    if param_list is None:
        params: list[Any] = list(block.all_parameters())
    else:
        given = check_list("param_list", param_list)
        params = [block.var(item) if isinstance(item, str) else item for item in given]
    for param in params:
        if not isinstance(param, Parameter):
            raise TypeError(f"param_list must hold parameters, got {param!r}")
    for param in params:
        param.gradient_clip_attr = clip


def append_gradient_clip_ops(
    params_grads: Iterable[tuple[Parameter, Variable | None]],
) -> ParamsGrads:
    """Appends the gradient clips of the parameters.

    Of a gradient of selected rows the values of these rows are clipped, each row once; the rows
    that it does not hold stay 0.

    Returns:
        The parameters with their clipped gradients.
    """
    params_grads = list(params_grads)
    context: dict[Any, Any] = {}
    given = []
    for param, grad in params_grads:
        clip = param.gradient_clip_attr
        if not (clip is None or isinstance(clip, BaseGradientClipAttr)):
            raise TypeError(
                f"the gradient clip of parameter '{param.name}' must be a BaseGradientClipAttr, "
                f"got {type(clip).__name__}"
            )
        rows = None if clip is None or grad is None else MergedRows.of(grad)
        tensor = grad if rows is None else rows.values
        if clip is not None and tensor is not None:
            clip.process_context(context, param, tensor)
        given.append((param, tensor, rows))
    result: ParamsGrads = []
    for param, tensor, rows in given:
        clip = param.gradient_clip_attr
        if clip is not None and tensor is not None:
            clipped = clip.create_operators(context, param, tensor)
            tensor = clipped if rows is None else rows.with_values(clipped)
        result.append((param, tensor))
    return result
