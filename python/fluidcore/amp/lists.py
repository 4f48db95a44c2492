"""Which operators run in 16 bits, and which stay in float32."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fluidcore import core
from fluidcore.base.checks import did_you_mean

# Products: most of the arithmetic of a model, on operands that are rounded once, into sums that
# the kernels hold in float32.
IN_16_BITS = frozenset(
    {
        "conv1d",
        "conv1d_transpose",
        "conv2d",
        "conv2d_transpose",
        "conv3d",
        "conv3d_transpose",
        "depthwise_conv2d",
        "matmul",
        "mul",
        "scaled_dot_product_attention",
    }
)

# Sums of many numbers, functions that spread small differences, losses, state that small steps
# change, and inverses.
IN_FLOAT32 = frozenset(
    {
        "cholesky",
        "clip_by_norm",
        "cos_sim",
        "cross_entropy",
        "ctc_loss",
        "cumprod",
        "cumsum",
        "det",
        "elementwise_pow",
        "exp",
        "grid_sample",
        "group_mean",
        "group_norm",
        "hinge_loss",
        "huber_loss",
        "increment",
        "instance_norm",
        "inverse",
        "kl_div",
        "l1_norm",
        "layer_norm",
        "linear_recurrence",
        "log",
        "log_loss",
        "log_softmax",
        "logsumexp",
        "lookup_table",
        "lookup_table_v2",
        "lrn",
        "margin_rank_loss",
        "mean",
        "modified_huber_loss",
        "nll_loss",
        "norm",
        "pow",
        "rank_loss",
        "reciprocal",
        "reduce_mean",
        "reduce_prod",
        "reduce_sum",
        "rms_norm",
        "sigmoid_cross_entropy_with_logits",
        "slogdet",
        "smooth_l1_loss",
        "softmax",
        "softmax_with_cross_entropy",
        "sqrt",
        "square",
        "squared_l2_distance",
        "squared_l2_norm",
        "sum",
        "triangular_solve",
    }
)


class Lists(NamedTuple):
    """Types of operators by how they run; those in neither list follow their inputs.

    An operator that follows runs in 16 bits where every floating input is a result in 16 bits or a
    parameter, and at least one is such a result. One that has no 16-bit kernel, or reads a tensor
    array, stays in float32.

    Attributes:
        in_16_bits: Always run in 16 bits.
        in_float32: Always stay in float32.
    """

    in_16_bits: frozenset[str] = IN_16_BITS
    in_float32: frozenset[str] = IN_FLOAT32

    def changed(
        self,
        in_16_bits: Iterable[str] = (),
        in_float32: Iterable[str] = (),
        follow: Iterable[str] = (),
    ) -> Lists:
        """The lists with some types moved.

        Args:
            in_16_bits: Run in 16 bits from now on.
            in_float32: Stay in float32 from now on.
            follow: Follow their inputs from now on.

        Raises:
            TypeError: An argument is a str.
            core.InvalidArgument: A type is named twice.
            core.NotFound: There is no such operator.
        """
        names = {"in_16_bits": in_16_bits, "in_float32": in_float32, "follow": follow}
        moved = {list_name: _checked(list_name, types) for list_name, types in names.items()}
        everything = frozenset[str]()
        for types in moved.values():
            if twice := sorted(types & everything):
                raise core.InvalidArgument(
                    f"amp: an operator must be in one of the lists, got '{twice[0]}' in two"
                )
            everything |= types
        return Lists(
            (self.in_16_bits - everything) | moved["in_16_bits"],
            (self.in_float32 - everything) | moved["in_float32"],
        )


def _checked(list_name: str, types: Iterable[str]) -> frozenset[str]:
    if isinstance(types, str):
        raise TypeError(f"amp: {list_name} must be a list of types, got the str {types!r}")
    known = core.op_types()
    for op_type in (checked := frozenset(types)):
        if op_type not in known:
            raise core.NotFound(f"amp: no operator '{op_type}'{did_you_mean(op_type, known)}")
    return checked
