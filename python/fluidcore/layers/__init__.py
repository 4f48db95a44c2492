"""Functions that append operators to the default main program.

Those with parameters or several operators are written out, by family; every other operator with
one result has a function made from its definition (`layers.generated`).
"""

from collections.abc import Callable
from typing import Any

from fluidcore.layers import control_flow, generated, learning_rate_scheduler
from fluidcore.layers.activation import prelu
from fluidcore.layers.auc import auc
from fluidcore.layers.batch_size_like import fill_constant_batch_size_like
from fluidcore.layers.composed_loss import (
    bce_with_logits,
    cosine_similarity,
    triplet_margin_loss,
)
from fluidcore.layers.control_flow import (
    ConditionalBlock,
    IfElse,
    StaticRNN,
    Switch,
    While,
    array_length,
    array_read,
    array_write,
    case,
    cond,
    create_array,
    equal,
    greater_equal,
    greater_than,
    is_empty,
    less_equal,
    less_than,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    not_equal,
    switch_case,
    while_loop,
)
from fluidcore.layers.conv import batch_norm, conv2d, conv3d
from fluidcore.layers.conv_transpose import conv2d_transpose
from fluidcore.layers.decay import (
    exponential_decay,
    inverse_time_decay,
    natural_exp_decay,
    piecewise_decay,
    polynomial_decay,
)
from fluidcore.layers.device import ParallelDo, get_places
from fluidcore.layers.einsum import einsum
from fluidcore.layers.gated_units import lstm_unit
from fluidcore.layers.indices import argsort, gather, multiplex, one_hot, scatter, sort
from fluidcore.layers.io import data
from fluidcore.layers.loss import (
    accuracy,
    cos_sim,
    cross_entropy,
    ctc_loss,
    label_smooth,
    log_loss,
    smooth_l1,
    softmax_with_cross_entropy,
    square_error_cost,
    topk,
)
from fluidcore.layers.masked_rows import merge_lod_tensor, split_lod_tensor
from fluidcore.layers.missing import why_missing
from fluidcore.layers.nn import (
    bmm,
    dropout,
    embedding,
    fc,
    matmul,
    mul,
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
from fluidcore.layers.normalization import (
    group_norm,
    instance_norm,
    l2_normalize,
    layer_norm,
    lrn,
    rms_norm,
)
from fluidcore.layers.pool import adaptive_pool2d, adaptive_pool3d, pool2d, pool3d
from fluidcore.layers.printing import Print
from fluidcore.layers.ranges import arange
from fluidcore.layers.recurrent import gru, lstm, rnn
from fluidcore.layers.resize import image_resize, resize_bilinear
from fluidcore.layers.sampled_loss import nce
from fluidcore.layers.step_counters import autoincreased_step_counter
from fluidcore.layers.tensor import (
    assign,
    cast,
    concat,
    create_global_var,
    create_parameter,
    create_tensor,
    crop,
    fill_constant,
    increment,
    ones,
    reshape,
    reverse,
    split,
    sums,
    transpose,
    unstack,
    zeros,
)
from fluidcore.layers.warmup import cosine_decay, linear_lr_warmup, noam_decay

__all__ = [
    "ParallelDo",
    "ConditionalBlock",
    "IfElse",
    "Print",
    "StaticRNN",
    "Switch",
    "While",
    "accuracy",
    "adaptive_pool2d",
    "adaptive_pool3d",
    "arange",
    "argsort",
    "array_length",
    "array_read",
    "array_write",
    "assign",
    "auc",
    "autoincreased_step_counter",
    "batch_norm",
    "bce_with_logits",
    "bmm",
    "case",
    "cast",
    "concat",
    "cond",
    "control_flow",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "cos_sim",
    "cosine_decay",
    "cosine_similarity",
    "create_array",
    "create_global_var",
    "create_parameter",
    "create_tensor",
    "crop",
    "cross_entropy",
    "ctc_loss",
    "data",
    "dropout",
    "einsum",
    "embedding",
    "equal",
    "exponential_decay",
    "fc",
    "fill_constant",
    "fill_constant_batch_size_like",
    "gather",
    "get_places",
    "greater_equal",
    "greater_than",
    "group_norm",
    "gru",
    "image_resize",
    "increment",
    "instance_norm",
    "inverse_time_decay",
    "is_empty",
    "l2_normalize",
    "label_smooth",
    "layer_norm",
    "learning_rate_scheduler",
    "less_equal",
    "less_than",
    "linear_lr_warmup",
    "log_loss",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "lrn",
    "lstm",
    "lstm_unit",
    "matmul",
    "merge_lod_tensor",
    "mul",
    "multiplex",
    "natural_exp_decay",
    "nce",
    "noam_decay",
    "not_equal",
    "one_hot",
    "ones",
    "piecewise_decay",
    "polynomial_decay",
    "pool2d",
    "pool3d",
    "prelu",
    "reduce_all",
    "reduce_any",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "reshape",
    "resize_bilinear",
    "reverse",
    "rms_norm",
    "rnn",
    "scatter",
    "smooth_l1",
    "softmax_with_cross_entropy",
    "sort",
    "split",
    "split_lod_tensor",
    "square_error_cost",
    "sums",
    "switch_case",
    "topk",
    "transpose",
    "triplet_margin_loss",
    "unstack",
    "while_loop",
    "zeros",
]


def __getattr__(name: str) -> Callable[..., Any]:
    try:
        function: Callable[..., Any] = getattr(generated, name)
    except AttributeError:
        why = why_missing(name)
        text = f"module 'fluidcore.layers' has no layer '{name}'" if why is None else why
        raise AttributeError(text) from None
    return function


def __dir__() -> list[str]:
    return sorted({*__all__, *generated.layer_names()})
