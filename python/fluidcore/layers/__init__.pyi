# Made by tools/make_stubs.py from the extension module; not to be edited.
from collections.abc import Sequence

from fluidcore.base.dtypes import DTypeLike
from fluidcore.layers.activation import prelu as prelu
from fluidcore.layers.auc import auc as auc
from fluidcore.layers.batch_size_like import fill_constant_batch_size_like as fill_constant_batch_size_like
from fluidcore.layers.composed_loss import bce_with_logits as bce_with_logits
from fluidcore.layers.composed_loss import cosine_similarity as cosine_similarity
from fluidcore.layers.composed_loss import triplet_margin_loss as triplet_margin_loss
from fluidcore.layers.control_flow import ConditionalBlock as ConditionalBlock
from fluidcore.layers.control_flow import IfElse as IfElse
from fluidcore.layers.control_flow import StaticRNN as StaticRNN
from fluidcore.layers.control_flow import Switch as Switch
from fluidcore.layers.control_flow import While as While
from fluidcore.layers.control_flow import array_length as array_length
from fluidcore.layers.control_flow import array_read as array_read
from fluidcore.layers.control_flow import array_write as array_write
from fluidcore.layers.control_flow import case as case
from fluidcore.layers.control_flow import cond as cond
from fluidcore.layers.control_flow import create_array as create_array
from fluidcore.layers.control_flow import equal as equal
from fluidcore.layers.control_flow import greater_equal as greater_equal
from fluidcore.layers.control_flow import greater_than as greater_than
from fluidcore.layers.control_flow import is_empty as is_empty
from fluidcore.layers.control_flow import less_equal as less_equal
from fluidcore.layers.control_flow import less_than as less_than
from fluidcore.layers.control_flow import logical_and as logical_and
from fluidcore.layers.control_flow import logical_not as logical_not
from fluidcore.layers.control_flow import logical_or as logical_or
from fluidcore.layers.control_flow import logical_xor as logical_xor
from fluidcore.layers.control_flow import not_equal as not_equal
from fluidcore.layers.control_flow import switch_case as switch_case
from fluidcore.layers.control_flow import while_loop as while_loop
from fluidcore.layers.conv import batch_norm as batch_norm
from fluidcore.layers.conv import conv2d as conv2d
from fluidcore.layers.conv import conv3d as conv3d
from fluidcore.layers.conv_transpose import conv2d_transpose as conv2d_transpose
from fluidcore.layers.decay import exponential_decay as exponential_decay
from fluidcore.layers.decay import inverse_time_decay as inverse_time_decay
from fluidcore.layers.decay import natural_exp_decay as natural_exp_decay
from fluidcore.layers.decay import piecewise_decay as piecewise_decay
from fluidcore.layers.decay import polynomial_decay as polynomial_decay
from fluidcore.layers.device import ParallelDo as ParallelDo
from fluidcore.layers.device import get_places as get_places
from fluidcore.layers.einsum import einsum as einsum
from fluidcore.layers.gated_units import lstm_unit as lstm_unit
from fluidcore.layers.indices import argsort as argsort
from fluidcore.layers.indices import gather as gather
from fluidcore.layers.indices import multiplex as multiplex
from fluidcore.layers.indices import one_hot as one_hot
from fluidcore.layers.indices import scatter as scatter
from fluidcore.layers.indices import sort as sort
from fluidcore.layers.io import data as data
from fluidcore.layers.loss import accuracy as accuracy
from fluidcore.layers.loss import cos_sim as cos_sim
from fluidcore.layers.loss import cross_entropy as cross_entropy
from fluidcore.layers.loss import ctc_loss as ctc_loss
from fluidcore.layers.loss import label_smooth as label_smooth
from fluidcore.layers.loss import log_loss as log_loss
from fluidcore.layers.loss import smooth_l1 as smooth_l1
from fluidcore.layers.loss import softmax_with_cross_entropy as softmax_with_cross_entropy
from fluidcore.layers.loss import square_error_cost as square_error_cost
from fluidcore.layers.loss import topk as topk
from fluidcore.layers.masked_rows import merge_lod_tensor as merge_lod_tensor
from fluidcore.layers.masked_rows import split_lod_tensor as split_lod_tensor
from fluidcore.layers.missing import why_missing as why_missing
from fluidcore.layers.nn import bmm as bmm
from fluidcore.layers.nn import dropout as dropout
from fluidcore.layers.nn import embedding as embedding
from fluidcore.layers.nn import fc as fc
from fluidcore.layers.nn import matmul as matmul
from fluidcore.layers.nn import mul as mul
from fluidcore.layers.nn import reduce_all as reduce_all
from fluidcore.layers.nn import reduce_any as reduce_any
from fluidcore.layers.nn import reduce_max as reduce_max
from fluidcore.layers.nn import reduce_mean as reduce_mean
from fluidcore.layers.nn import reduce_min as reduce_min
from fluidcore.layers.nn import reduce_prod as reduce_prod
from fluidcore.layers.nn import reduce_sum as reduce_sum
from fluidcore.layers.normalization import group_norm as group_norm
from fluidcore.layers.normalization import instance_norm as instance_norm
from fluidcore.layers.normalization import l2_normalize as l2_normalize
from fluidcore.layers.normalization import layer_norm as layer_norm
from fluidcore.layers.normalization import lrn as lrn
from fluidcore.layers.normalization import rms_norm as rms_norm
from fluidcore.layers.pool import adaptive_pool2d as adaptive_pool2d
from fluidcore.layers.pool import adaptive_pool3d as adaptive_pool3d
from fluidcore.layers.pool import pool2d as pool2d
from fluidcore.layers.pool import pool3d as pool3d
from fluidcore.layers.printing import Print as Print
from fluidcore.layers.ranges import arange as arange
from fluidcore.layers.recurrent import gru as gru
from fluidcore.layers.recurrent import lstm as lstm
from fluidcore.layers.recurrent import rnn as rnn
from fluidcore.layers.resize import image_resize as image_resize
from fluidcore.layers.resize import resize_bilinear as resize_bilinear
from fluidcore.layers.sampled_loss import nce as nce
from fluidcore.layers.step_counters import autoincreased_step_counter as autoincreased_step_counter
from fluidcore.layers.tensor import assign as assign
from fluidcore.layers.tensor import cast as cast
from fluidcore.layers.tensor import concat as concat
from fluidcore.layers.tensor import create_global_var as create_global_var
from fluidcore.layers.tensor import create_parameter as create_parameter
from fluidcore.layers.tensor import create_tensor as create_tensor
from fluidcore.layers.tensor import crop as crop
from fluidcore.layers.tensor import fill_constant as fill_constant
from fluidcore.layers.tensor import increment as increment
from fluidcore.layers.tensor import ones as ones
from fluidcore.layers.tensor import reshape as reshape
from fluidcore.layers.tensor import reverse as reverse
from fluidcore.layers.tensor import split as split
from fluidcore.layers.tensor import sums as sums
from fluidcore.layers.tensor import transpose as transpose
from fluidcore.layers.tensor import unstack as unstack
from fluidcore.layers.tensor import zeros as zeros
from fluidcore.layers.warmup import cosine_decay as cosine_decay
from fluidcore.layers.warmup import linear_lr_warmup as linear_lr_warmup
from fluidcore.layers.warmup import noam_decay as noam_decay
from fluidcore.program import Variable

def abs(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = |X|, element by element.

    Args:
        x: any shape, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def argmax(
    x: Variable,
    axis: int = -1,
    keepdims: bool = False,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = where the greatest element along axis is; of equal ones the first, and NaN before everything else.

    Args:
        x: any shape
        axis: the dimension; from the end if negative
        keepdims: whether Out keeps the dimension, with extent 1
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: int64, X without the dimension axis
    """

def argmin(
    x: Variable,
    axis: int = -1,
    keepdims: bool = False,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = where the least element along axis is; of equal ones the first, and NaN before everything else.

    Args:
        x: any shape
        axis: the dimension; from the end if negative
        keepdims: whether Out keeps the dimension, with extent 1
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: int64, X without the dimension axis
    """

def assign_value(
    shape: list[int],
    dtype: DTypeLike,
    fp32_values: list[float] = [],
    int32_values: list[int] = [],
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the values given, row by row.

    Args:
        shape: extents of Out, known
        dtype: number of Out's dtype
        fp32_values: the values, for a floating dtype
        int32_values: the values, for an integer dtype; 0 and 1 for bool
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: the shape and dtype of the attributes
    """

def bernoulli(
    x: Variable,
    seed: int = 0,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = 1 with the probability X, else 0, element by element.

    Args:
        x: probabilities in [0, 1], any shape, floating
        seed: of these numbers, the same in every run; 0: the seed of the program, other numbers in every run
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def brelu(
    x: Variable,
    t_min: float = 0.0,
    t_max: float = 24.0,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = min(max(X, t_min), t_max), element by element.

    Args:
        x: any shape, floating
        t_min: the least value of Out
        t_max: the greatest value of Out
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def broadcast_to(
    x: Variable,
    shape: list[int],
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X, repeated where its extent is 1.

    Args:
        x: any shape
        shape: extents of Out; -1: that of X
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: X, repeated
    """

def ceil(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the least whole number that is at least X.

    Args:
        x: any shape, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def channel_window_sum(
    x: Variable,
    before: int = 0,
    after: int = 0,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out[n, c] = the sum of X[n, c - before] to X[n, c + after], element by element, of the channels that there are.

    Args:
        x: [N, C, ...], floating
        before: channels before c, at least 0
        after: channels behind c, at least 0
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def cholesky(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the lower triangular L with L L^T = (X + X^T) / 2, the symmetric part of X: X itself where that is symmetric. Gradients are symmetric, too. For small matrices, to some hundred rows: without LAPACK and without blocks.

    Args:
        x: [..., n, n], of a positive definite symmetric part, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X, 0 above the diagonal
    """

def clip(
    x: Variable,
    min: float,
    max: float,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = min(max(X, min), max), element by element.

    Args:
        x: any shape, floating
        min: the least value of Out
        max: the greatest value of Out
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def clip_by_norm(
    x: Variable,
    max_norm: float,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X where the root of the sum of X^2 is at most max_norm, else X max_norm / root.

    Args:
        x: any shape, floating
        max_norm: the greatest norm of Out, above 0
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def conv1d(
    input: Variable,
    filter: Variable,
    strides: list[int] = [1],
    paddings: list[int] = [0],
    dilations: list[int] = [1],
    groups: int = 1,
    use_cudnn: bool = False,
    data_format: str = 'AnyLayout',
    workspace_size_MB: int = 4096,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Output[n, m, x] = sum over c, i of Filter[m, c, i] Input[n, c, x stride + i dilation - padding]; Input is 0 outside. Extents: (in + 2 padding - (dilation (kernel - 1) + 1)) / stride + 1.

    Args:
        input: [N, C, L] or, see data_format, with the channels last, floating
        filter: [M, C / groups, kernel length]
        strides: steps of the filter: [length]
        paddings: zeros on both sides of Input: [length]
        dilations: distances of the filter's elements: [length]; 1: they are neighbours
        groups: Input's channels and the filters are cut into this many groups that do not see each other
        use_cudnn: accepted, without effect
        data_format: 'NCL', which 'AnyLayout' means too, or 'NLC': where the channels of images are
        workspace_size_MB: accepted, without effect
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Output: [N, M, out length], or as Input
    """

def conv1d_transpose(
    input: Variable,
    filter: Variable,
    strides: list[int] = [1],
    paddings: list[int] = [0],
    dilations: list[int] = [1],
    groups: int = 1,
    use_cudnn: bool = False,
    data_format: str = 'AnyLayout',
    workspace_size_MB: int = 4096,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """What conv1d does to gradients: each element of Input adds Filter times itself to Output, where it is that conv1d would read from. paddings are cut off Output. Extents: (in - 1) stride - 2 padding + dilation (kernel - 1) + 1.

    Args:
        input: [N, C, L], floating
        filter: [C, M / groups, kernel length]
        strides: steps of the filter: [length]
        paddings: zeros on both sides of Input: [length]
        dilations: distances of the filter's elements: [length]; 1: they are neighbours
        groups: Input's channels and the filters are cut into this many groups that do not see each other
        use_cudnn: accepted, without effect
        data_format: 'NCL', which 'AnyLayout' means too, or 'NLC': where the channels of images are
        workspace_size_MB: accepted, without effect
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Output: [N, M, out length]
    """

def conv3d_transpose(
    input: Variable,
    filter: Variable,
    strides: list[int] = [1, 1, 1],
    paddings: list[int] = [0, 0, 0],
    dilations: list[int] = [1, 1, 1],
    groups: int = 1,
    use_cudnn: bool = False,
    data_format: str = 'AnyLayout',
    workspace_size_MB: int = 4096,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """What conv3d does to gradients: each element of Input adds Filter times itself to Output, where it is that conv3d would read from. paddings are cut off Output. Extents: (in - 1) stride - 2 padding + dilation (kernel - 1) + 1.

    Args:
        input: [N, C, D, H, W], floating
        filter: [C, M / groups, kernel depth, kernel height, kernel width]
        strides: steps of the filter: [depth, height, width]
        paddings: zeros on both sides of Input: [depth, height, width]
        dilations: distances of the filter's elements: [depth, height, width]; 1: they are neighbours
        groups: Input's channels and the filters are cut into this many groups that do not see each other
        use_cudnn: accepted, without effect
        data_format: 'NCDHW', which 'AnyLayout' means too, or 'NDHWC': where the channels of images are
        workspace_size_MB: accepted, without effect
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Output: [N, M, out depth, height, width]
    """

def cos(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the cosine of X, element by element.

    Args:
        x: any shape, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def cumprod(
    x: Variable,
    axis: int = -1,
    exclusive: bool = False,
    reverse: bool = False,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out[i] = X[0] X[1] ... X[i] along one dimension. Its gradients, of any order, are right where elements are 0.

    Args:
        x: any shape, floating or int32 or int64
        axis: the dimension; counted from the end if negative
        exclusive: whether Out[i] is without X[i]: the first product is 1
        reverse: whether the product begins at the last element
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def cumsum(
    x: Variable,
    axis: int = -1,
    exclusive: bool = False,
    reverse: bool = False,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out[i] = X[0] + ... + X[i] along one dimension.

    Args:
        x: any shape, floating or int32 or int64
        axis: the dimension; counted from the end if negative
        exclusive: whether Out[i] is without X[i]: the first sum is 0
        reverse: whether the sum begins at the last element
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def depthwise_conv2d(
    input: Variable,
    filter: Variable,
    strides: list[int] = [1, 1],
    paddings: list[int] = [0, 0],
    dilations: list[int] = [1, 1],
    groups: int = 1,
    use_cudnn: bool = False,
    data_format: str = 'AnyLayout',
    workspace_size_MB: int = 4096,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """conv2d where each channel is a group of its own: groups are the channels of Input.

    Args:
        input: [N, C, H, W] or, see data_format, with the channels last, floating
        filter: [M, C / groups, kernel height, kernel width]
        strides: steps of the filter: [height, width]
        paddings: zeros on both sides of Input: [height, width]
        dilations: distances of the filter's elements: [height, width]; 1: they are neighbours
        groups: Input's channels and the filters are cut into this many groups that do not see each other
        use_cudnn: accepted, without effect
        data_format: 'NCHW', which 'AnyLayout' means too, or 'NHWC': where the channels of images are
        workspace_size_MB: accepted, without effect
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Output: [N, M, out height, width], or as Input
    """

def det(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the determinant of each matrix, by LU factors. Its gradient is that of an invertible matrix: an error for a singular one. For small matrices, to some hundred rows: without LAPACK and without blocks.

    Args:
        x: [..., n, n], floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: [...], dtype of X
    """

def elementwise_add(
    x: Variable,
    y: Variable,
    axis: int = -1,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X + Y, element by element, Y broadcast to X.

    Args:
        x: any shape
        y: a shape that broadcasts with X: equal to X, [1], a run of X's dimensions, or as NumPy
        axis: the dimension of X where Y's dimensions begin; -1: the last dimensions of the two meet, and either may be broadcast
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: the broadcast shape
    """

def elementwise_div(
    x: Variable,
    y: Variable,
    axis: int = -1,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X / Y (integers: toward zero, and 0 where Y is 0), element by element, Y broadcast to X.

    Args:
        x: any shape
        y: a shape that broadcasts with X: equal to X, [1], a run of X's dimensions, or as NumPy
        axis: the dimension of X where Y's dimensions begin; -1: the last dimensions of the two meet, and either may be broadcast
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: the broadcast shape
    """

def elementwise_floordiv(
    x: Variable,
    y: Variable,
    axis: int = -1,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X / Y rounded down (integers: 0 where Y is 0), element by element, Y broadcast to X.

    Args:
        x: any shape
        y: a shape that broadcasts with X: equal to X, [1], a run of X's dimensions, or as NumPy
        axis: the dimension of X where Y's dimensions begin; -1: the last dimensions of the two meet, and either may be broadcast
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: the broadcast shape
    """

def elementwise_max(
    x: Variable,
    y: Variable,
    axis: int = -1,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = max(X, Y), NaN where one of them is, element by element, Y broadcast to X.

    Args:
        x: any shape
        y: a shape that broadcasts with X: equal to X, [1], a run of X's dimensions, or as NumPy
        axis: the dimension of X where Y's dimensions begin; -1: the last dimensions of the two meet, and either may be broadcast
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: the broadcast shape
    """

def elementwise_min(
    x: Variable,
    y: Variable,
    axis: int = -1,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = min(X, Y), NaN where one of them is, element by element, Y broadcast to X.

    Args:
        x: any shape
        y: a shape that broadcasts with X: equal to X, [1], a run of X's dimensions, or as NumPy
        axis: the dimension of X where Y's dimensions begin; -1: the last dimensions of the two meet, and either may be broadcast
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: the broadcast shape
    """

def elementwise_mod(
    x: Variable,
    y: Variable,
    axis: int = -1,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X - Y floor(X / Y), of the sign of Y (integers: 0 where Y is 0), element by element, Y broadcast to X.

    Args:
        x: any shape
        y: a shape that broadcasts with X: equal to X, [1], a run of X's dimensions, or as NumPy
        axis: the dimension of X where Y's dimensions begin; -1: the last dimensions of the two meet, and either may be broadcast
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: the broadcast shape
    """

def elementwise_mul(
    x: Variable,
    y: Variable,
    axis: int = -1,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X * Y, element by element, Y broadcast to X.

    Args:
        x: any shape
        y: a shape that broadcasts with X: equal to X, [1], a run of X's dimensions, or as NumPy
        axis: the dimension of X where Y's dimensions begin; -1: the last dimensions of the two meet, and either may be broadcast
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: the broadcast shape
    """

def elementwise_pow(
    x: Variable,
    y: Variable,
    axis: int = -1,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X^Y (integers: toward zero where Y is negative, and 0 where X is 0), element by element, Y broadcast to X.

    Args:
        x: any shape
        y: a shape that broadcasts with X: equal to X, [1], a run of X's dimensions, or as NumPy
        axis: the dimension of X where Y's dimensions begin; -1: the last dimensions of the two meet, and either may be broadcast
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: the broadcast shape
    """

def elementwise_sub(
    x: Variable,
    y: Variable,
    axis: int = -1,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X - Y, element by element, Y broadcast to X.

    Args:
        x: any shape
        y: a shape that broadcasts with X: equal to X, [1], a run of X's dimensions, or as NumPy
        axis: the dimension of X where Y's dimensions begin; -1: the last dimensions of the two meet, and either may be broadcast
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: the broadcast shape
    """

def elu(
    x: Variable,
    alpha: float = 1.0,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X where X > 0, else alpha (e^X - 1), element by element.

    Args:
        x: any shape, floating
        alpha: Out is -alpha far below 0
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def erf(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to X, element by element.

    Args:
        x: any shape, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def exp(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = e^X, element by element.

    Args:
        x: any shape, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def expand(
    x: Variable,
    expand_times: list[int],
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X, repeated along each of its dimensions.

    Args:
        x: any shape
        expand_times: how often, for each dimension of X
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: X, repeated
    """

def eye(
    num_rows: int,
    dtype: DTypeLike = 'float32',
    num_columns: int = -1,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = 1 on the main diagonal, 0 elsewhere.

    Args:
        dtype: number of Out's dtype
        num_rows: how many rows
        num_columns: how many columns; -1: as many as rows
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: [num_rows, num_columns]
    """

def fetch(
    x: Variable,
    col: int,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X. Fluid's saved programs say with it what is fetched; a run is told that by name, that of X or of Out.

    Args:
        x: any shape
        col: accepted: the place among the results
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def fill_any_like(
    x: Variable,
    value: float = 0.0,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = value everywhere.

    Args:
        x: any shape
        value: a whole number in range for an integer dtype
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def fill_zeros_like(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = 0 everywhere.

    Args:
        x: any shape
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def flatten(
    x: Variable,
    axis: int = 1,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the elements of X, in order, as a matrix.

    Args:
        x: any shape
        axis: how many dimensions of X make the rows of Out
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: [the first `axis` extents of X, the others], dtype of X
    """

def flip(
    x: Variable,
    axis: list[int],
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X with the elements of some dimensions in reverse order.

    Args:
        x: any shape
        axis: the dimensions; from the end if negative
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def floor(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the greatest whole number that is at most X.

    Args:
        x: any shape, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def gather_nd(
    x: Variable,
    index: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the parts of X at the positions that Index gives.

    Args:
        x: any shape
        index: int32 or int64 [..., K], K at most the rank of X: positions in X's first K dimensions
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: extents of Index but the last, then those of X after the first K
    """

def gaussian_random(
    shape: list[int],
    dtype: DTypeLike = 'float32',
    seed: int = 0,
    mean: float = 0.0,
    std: float = 1.0,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = random numbers with a normal distribution.

    Args:
        shape: extents of Out, known
        dtype: number of Out's dtype, floating
        seed: of these numbers, the same in every run; 0: the seed of the program, other numbers in every run
        mean: mean of the normal distribution
        std: its standard deviation, at least 0
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: the shape and dtype of the attributes
    """

def gaussian_random_batch_size_like(
    input: Variable,
    shape: list[int],
    dtype: DTypeLike = 'float32',
    seed: int = 0,
    mean: float = 0.0,
    std: float = 1.0,
    input_dim_idx: int = 0,
    output_dim_idx: int = 0,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = random numbers with a normal distribution.

    Args:
        input: any shape and dtype
        shape: extents of Out, known; that at output_dim_idx is not looked at
        dtype: number of Out's dtype, floating
        seed: of these numbers, the same in every run; 0: the seed of the program, other numbers in every run
        mean: mean of the normal distribution
        std: its standard deviation, at least 0
        input_dim_idx: the dimension of Input whose extent is taken
        output_dim_idx: the dimension of Out that has it
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: the shape and dtype of the attributes
    """

def gelu(
    x: Variable,
    approximate: bool = False,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X P(N(0, 1) <= X), element by element.

    Args:
        x: any shape, floating
        approximate: whether P is approximated: (1 + tanh(sqrt(2 / pi) (X + 0.044715 X^3))) / 2
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def get_tensor_from_selected_rows(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the values of X as they are held, 0 where no row is held. See selected_rows_to_dense for the tensor that X stands for.

    Args:
        x: selected rows
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: a tensor [number of rows, ...], dtype of X
    """

def grid_sample(
    x: Variable,
    grid: Variable,
    mode: str = 'bilinear',
    padding_mode: str = 'zeros',
    align_corners: bool = False,
    derivative: list[int] = [0, 0],
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out[n, :, i, j] = image n of X, seen at the point (x, y) = Grid[n, i, j], where X reaches from -1 to 1 (Jaderberg et al. 2015). Cubic: convolution with a = -0.75 (Keys 1981).

    Args:
        x: [N, C, H, W], floating
        grid: [N, H out, W out, 2], dtype of X: (x, y) along the width and the height
        mode: how X is interpolated
        padding_mode: what elements outside of X are: 0, those at its border, or those that a mirror there shows
        align_corners: -1 and 1 are the centres of the first and the last element; else their outer edges
        derivative: how often Out is differentiated by the x and by the y of its point
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: [N, C, H out, W out], dtype of X
    """

def grid_sample_adjoint(
    x: Variable,
    grid: Variable,
    y: Variable,
    mode: str = 'bilinear',
    padding_mode: str = 'zeros',
    align_corners: bool = False,
    derivative: list[int] = [0, 0],
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """The adjoint of grid_sample: Out[n] = the sum of Y[n, :, i, j], spread over the elements that grid_sample would see at Grid[n, i, j], with their weights.

    Args:
        x: [N, C, H, W], floating
        grid: [N, H out, W out, 2], dtype of X: (x, y) along the width and the height
        y: [N, C, H out, W out], dtype of X
        mode: how X is interpolated
        padding_mode: what elements outside of X are: 0, those at its border, or those that a mirror there shows
        align_corners: -1 and 1 are the centres of the first and the last element; else their outer edges
        derivative: how often Out is differentiated by the x and by the y of its point
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def group_mean(
    x: Variable,
    groups: int = 0,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = for each element of X, the mean of its group of channels in its example.

    Args:
        x: [N, C, ...], rank 2 or more, floating
        groups: how many groups of neighbouring channels; 0: each channel is one
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def gru_cell(
    x: Variable,
    recurrent: Variable,
    hiddenprev: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """One step of a gated recurrent unit (Cho et al. 2014): Hidden = (1 - u) HiddenPrev + u tanh(x_c + r recurrent_c), where u = sigmoid(x_u + recurrent_u), r = sigmoid(x_r + recurrent_r).

    Args:
        x: [batch, 3 size], floating: what the input gives to the gates update, reset, candidate
        recurrent: [batch, 3 size], dtype of X: what HiddenPrev gives to them
        hiddenprev: [batch, size], dtype of X
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Hidden: [batch, size], dtype of X
    """

def hard_shrink(
    x: Variable,
    threshold: float = 0.5,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X where |X| > threshold, else 0, element by element.

    Args:
        x: any shape, floating
        threshold: the largest |X| for which Out is 0
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def hard_sigmoid(
    x: Variable,
    slope: float = 0.2,
    offset: float = 0.5,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = min(max(slope X + offset, 0), 1), element by element.

    Args:
        x: any shape, floating
        slope: the slope between 0 and 1
        offset: Out for an X of 0
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def hinge_loss(
    logits: Variable,
    labels: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Loss = max(1 - (2 Labels - 1) Logits, 0), element by element.

    Args:
        logits: any shape, floating
        labels: 0 or 1, shape and dtype of the other input
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Loss: shape and dtype of the first input
    """

def huber_loss(
    x: Variable,
    y: Variable,
    delta: float,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Residual = Y - X; Out = Residual^2 / 2 where |Residual| <= delta, else delta (|Residual| - delta / 2), element by element.

    Args:
        x: any shape, floating
        y: shape and dtype of X
        delta: where the parabola turns into a line
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of the first input
    """

def index_select(
    x: Variable,
    index: Variable,
    axis: int = 0,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = what Index names along one dimension of X.

    Args:
        x: rank 1 or more
        index: int32 or int64, [N], [N, 1] or [], each in [0, extent)
        axis: the dimension; from the end if negative
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: X with the extent N along axis, or without axis for an Index []
    """

def interpolate(
    x: Variable,
    size: list[int] = [],
    scale: list[float] = [],
    mode: str = 'nearest',
    align_corners: bool = False,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X at other points of its spatial axes, interpolated along one axis after the other. Cubic: convolution with a = -0.75 (Keys 1981). Elements beyond the ends of X are those at the ends.

    Args:
        x: [N, C, ...], one to three spatial axes, floating
        size: the spatial extents of Out; empty: scale says them
        scale: for each spatial axis, the extent of Out is floor(in scale)
        mode: 'linear' for one spatial axis, 'bilinear' and 'bicubic' for two, 'trilinear' for three, 'nearest' for any
        align_corners: element i of Out lies at i (in - 1) / (out - 1) of X; else at (i + 0.5) in / out - 0.5, and the nearest is floor(i in / out)
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: [N, C, the spatial extents], dtype of X
    """

def inverse(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the inverse of each matrix, by LU factors. For small matrices, to some hundred rows: without LAPACK and without blocks.

    Args:
        x: [..., n, n], floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def isfinite(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = whether X is neither NaN nor infinite, element by element.

    Args:
        x: any shape, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape of X, bool
    """

def isinf(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = whether X is infinite, of either sign, element by element.

    Args:
        x: any shape, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape of X, bool
    """

def isnan(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = whether X is NaN, element by element.

    Args:
        x: any shape, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape of X, bool
    """

def kl_div(
    x: Variable,
    target: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Loss = Target (log(Target) - X), element by element, 0 for a Target of 0: what its sum over a distribution loses by believing exp(X) (Kullback and Leibler).

    Args:
        x: logarithms of probabilities, any shape, floating
        target: probabilities, shape and dtype of X
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Loss: shape and dtype of the first input
    """

def l1_norm(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the sum of |X| over all elements.

    Args:
        x: any shape, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: [1], dtype of X
    """

def leaky_relu(
    x: Variable,
    alpha: float = 0.02,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = max(X, alpha X), element by element.

    Args:
        x: any shape, floating
        alpha: the slope below 0
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def linear_recurrence(
    x: Variable,
    y: Variable,
    axis: int = -1,
    reverse: bool = False,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out[i] = X[i] * Out[i - 1] + Y[i] along one dimension, Out[0] = Y[0].

    Args:
        x: any shape, floating; X[0] counts for nothing
        y: shape and dtype of X
        axis: the dimension; counted from the end if negative
        reverse: whether it begins at the last element
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def linspace(
    start: float,
    stop: float,
    num: int,
    dtype: DTypeLike = 'float32',
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = num numbers from start to stop, evenly spaced.

    Args:
        dtype: number of Out's dtype
        start: the first number
        stop: the last number, where there is more than one
        num: how many
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: [num]
    """

def log(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the natural logarithm of X, element by element.

    Args:
        x: any shape, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def log_softmax(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X - log(sum of exp(X)) over the last dimension. Does not overflow.

    Args:
        x: [..., D], floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X; logarithms of probabilities
    """

def logsigmoid(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = -log(1 + exp(-X)), element by element.

    Args:
        x: any shape, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def logsumexp(
    x: Variable,
    dim: int | list[int] | None = None,
    keep_dim: bool = False,
    reduce_all: bool = False,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = log(sum of exp(X)) over the dimensions dim. Does not overflow; -infinity of no elements.

    Args:
        x: any shape
        dim: the dimensions to reduce, one or several, counted from the end if negative; None: all
        keep_dim: whether Out keeps the dimensions, with extent 1
        reduce_all: whether to reduce all dimensions, to Out [1]
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: X without the dimensions dim; [1] if nothing is left
    """

def lookup_selected_rows(
    w: Variable,
    rows: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the rows of W that Rows holds, in its order; 0 where none is held.

    Args:
        w: a tensor, shape and dtype of Rows
        rows: selected rows, whose values are not read
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: a tensor [number of rows, ...], dtype of W
    """

def lookup_table(
    w: Variable,
    ids: Variable,
    is_sparse: bool = False,
    padding_idx: int = -1,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the rows of W that Ids name.

    Args:
        w: [rows, width], floating
        ids: int32 or int64 [..., 1], each in [0, rows) or padding_idx
        is_sparse: whether the gradient of W is selected rows, those that Ids name: an optimizer then reads and writes only these
        padding_idx: an index that gives zeros; -1: none
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: [..., width], dtype of W
    """

def lookup_table_v2(
    w: Variable,
    ids: Variable,
    is_sparse: bool = False,
    padding_idx: int = -1,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the rows of W that Ids name.

    Args:
        w: [rows, width], floating
        ids: int32 or int64 [...], each in [0, rows) or padding_idx
        is_sparse: whether the gradient of W is selected rows, those that Ids name: an optimizer then reads and writes only these
        padding_idx: an index that gives zeros; -1: none
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: [..., width], dtype of W
    """

def margin_rank_loss(
    x1: Variable,
    x2: Variable,
    label: Variable,
    margin: float = 0.0,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = max(margin - Label (X1 - X2), 0), element by element; Activated = 1 where that is above 0, else 0.

    Args:
        x1: scores, any shape, floating
        x2: shape and dtype of X1
        label: 1 where X1 should be above X2, -1 where below; shape and dtype of X1
        margin: by how much the scores should differ
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of the first input
    """

def matrix_transpose(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the matrices in the last two dimensions of X, transposed.

    Args:
        x: [..., rows, columns]
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: [..., columns, rows], dtype of X
    """

def max_pool2d_with_index(
    x: Variable,
    ksize: list[int],
    global_pooling: bool = False,
    adaptive: bool = False,
    strides: list[int] = [1, 1],
    paddings: list[int] = [0, 0],
    *,
    name: str | None = None,
) -> tuple[Variable, Variable]:
    """Out = the maximum of the window of X that begins, along each axis, at its place times stride - padding; Mask = where the first of them is, counted in its plane of X. Extents: (in + 2 padding - ksize) / stride + 1, rounded down.

    Args:
        x: [N, C, H, W], floating
        ksize: extents of a window: [height, width]
        global_pooling: one window for the whole plane; ksize, strides and paddings are not used
        adaptive: ksize are the extents of Out, and output i is of the elements from floor(i in / out) to ceil((i + 1) in / out), not included; strides and paddings are not used
        strides: steps of the window: [height, width]
        paddings: elements on both sides of X that take no part: [height, width]; smaller than ksize
        name: Name of the layer; None makes one up.

    Returns:
        Out: [N, C, out height, width]
        Mask: shape of Out, int32
    """

def max_pool3d_with_index(
    x: Variable,
    ksize: list[int],
    global_pooling: bool = False,
    adaptive: bool = False,
    strides: list[int] = [1, 1, 1],
    paddings: list[int] = [0, 0, 0],
    *,
    name: str | None = None,
) -> tuple[Variable, Variable]:
    """Out = the maximum of the window of X that begins, along each axis, at its place times stride - padding; Mask = where the first of them is, counted in its plane of X. Extents: (in + 2 padding - ksize) / stride + 1, rounded down.

    Args:
        x: [N, C, D, H, W], floating
        ksize: extents of a window: [depth, height, width]
        global_pooling: one window for the whole plane; ksize, strides and paddings are not used
        adaptive: ksize are the extents of Out, and output i is of the elements from floor(i in / out) to ceil((i + 1) in / out), not included; strides and paddings are not used
        strides: steps of the window: [depth, height, width]
        paddings: elements on both sides of X that take no part: [depth, height, width]; smaller than ksize
        name: Name of the layer; None makes one up.

    Returns:
        Out: [N, C, out depth, height, width]
        Mask: shape of Out, int32
    """

def maxout(
    x: Variable,
    groups: int,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out[n, c] = the maximum of X[n, c groups] to X[n, (c + 1) groups - 1], element by element; NaN if there is one.

    Args:
        x: [N, C, ...], floating
        groups: how many neighbouring channels give one
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: [N, C / groups, ...], dtype of X
    """

def mean(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the mean of all elements of X.

    Args:
        x: any shape, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: [1], dtype of X
    """

def merge_selected_rows(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X with the values of each row added up: its rows are different and in rising order. The room that this leaves holds no rows.

    Args:
        x: selected rows
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: selected rows, shape and dtype of X
    """

def minus(
    x: Variable,
    y: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X - Y, element by element, without broadcasting.

    Args:
        x: any shape
        y: shape and dtype of X
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def mish(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X tanh(log(1 + e^X)), element by element.

    Args:
        x: any shape, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def modified_huber_loss(
    x: Variable,
    y: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """With IntermediateVal z = (2 Y - 1) X, Out = -4 z where z < -1, (1 - z)^2 where -1 <= z < 1, else 0.

    Args:
        x: scores, any shape, floating
        y: 0 or 1, shape and dtype of the other input
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of the first input
    """

def multinomial(
    x: Variable,
    num_samples: int,
    seed: int = 0,
    replacement: bool = False,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = numbers of classes, drawn from the distribution that each row of X is in proportion to. Without replacement a class is drawn once at most, in the order of drawing one after the other (Efraimidis and Spirakis, Weighted Random Sampling with a Reservoir, 2006).

    Args:
        x: [..., classes], finite weights of at least 0, floating
        seed: of these numbers, the same in every run; 0: the seed of the program, other numbers in every run
        num_samples: how many are drawn from each row
        replacement: whether a class can be drawn again
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: [..., num_samples], int64
    """

def nll_loss(
    x: Variable,
    label: Variable,
    weight: Variable | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = 'none',
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = -Weight[Label] X[Label] for each row: the negative log-likelihood. With log_softmax of logits as X it is their cross entropy.

    Args:
        x: [..., D], logarithms of probabilities, floating
        label: [..., 1] or [...], int32 or int64, the number of the right class
        weight: [D], dtype of X: what the rows of each class count; 1 if left out
        ignore_index: a label that takes no part: its loss and gradient are 0
        reduction: none: a loss for each row; sum: their sum [1]; mean: their sum [1], divided by that of the weights of their labels, NaN where no row takes part
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: [..., 1], or [1] with a reduction, dtype of X
    """

def norm(
    x: Variable,
    scale: Variable,
    epsilon: float = 1e-10,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X / sqrt(sum of X^2 over the channels + epsilon) Scale: the vector of channels at each pixel gets the length 1.

    Args:
        x: [N, C, ...], rank 2 or more, floating
        scale: [C], dtype of X
        epsilon: keeps the divisor above 0
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def pack_selected_rows(
    rows: Variable,
    values: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the rows that Rows holds, with other values.

    Args:
        rows: selected rows, whose values are not read
        values: a tensor [number of rows, ...], dtype of Rows; not read where no row is held
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: selected rows, shape and dtype of Rows
    """

def pad(
    x: Variable,
    paddings: list[int],
    pad_value: float = 0.0,
    mode: str = 'constant',
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X with elements added around it.

    Args:
        x: any shape
        paddings: for each dimension of X two numbers: how many elements come in front of it and how many behind
        pad_value: what is added, in mode 'constant'
        mode: 'constant'; 'edge': the outermost element again; 'reflect': X backwards and forwards again, without its outermost element; 'wrap': X again
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: the extents of X and its paddings
    """

def pixel_shuffle(
    x: Variable,
    upscale_factor: int,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out[n, c, r h + i, r w + j] = X[n, (c r + i) r + j, h, w]: channels become pixels (Shi et al. 2016).

    Args:
        x: [N, C r^2, H, W]
        upscale_factor: r, by which height and width grow
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: [N, C, H r, W r], dtype of X
    """

def pool1d(
    x: Variable,
    pooling_type: str,
    ksize: list[int],
    global_pooling: bool = False,
    adaptive: bool = False,
    strides: list[int] = [1],
    paddings: list[int] = [0],
    ceil_mode: bool = False,
    use_cudnn: bool = False,
    data_format: str = 'AnyLayout',
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the maximum or the mean of the window of X that begins at its number times stride - padding. Padding is never the maximum and does not count in the mean. Extents: (in + 2 padding - ksize) / stride + 1, rounded down (up with ceil_mode).

    Args:
        x: [N, C, L] or, see data_format, with the channels last; floating
        pooling_type: 'max' or 'avg'
        ksize: extents of a window: [length]
        global_pooling: one window for the whole plane; ksize, strides and paddings are not used
        adaptive: ksize are the extents of Out, and output i is of the elements from floor(i in / out) to ceil((i + 1) in / out), not included; strides and paddings are not used
        strides: steps of the window: [length]
        paddings: elements on both sides of X that take no part: [length]; smaller than ksize
        ceil_mode: also windows that reach beyond the padded X at the end
        use_cudnn: accepted, without effect
        data_format: 'NCL', which 'AnyLayout' means too, or 'NLC': where the channels of images are
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: [N, C, out length], or as X
    """

def pow(
    x: Variable,
    factor: float = 1.0,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X^factor, element by element.

    Args:
        x: any shape, floating
        factor: the exponent
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def randint(
    low: int,
    high: int,
    shape: list[int],
    dtype: DTypeLike = 'int64',
    seed: int = 0,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = random whole numbers from [low, high), each equally likely.

    Args:
        low: the least number
        high: the limit of the numbers, above low
        shape: extents of Out, known
        dtype: number of Out's dtype, int32 or int64
        seed: of these numbers, the same in every run; 0: the seed of the program, other numbers in every run
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: the shape and dtype of the attributes
    """

def randint_batch_size_like(
    input: Variable,
    low: int,
    high: int,
    shape: list[int],
    dtype: DTypeLike = 'int64',
    seed: int = 0,
    input_dim_idx: int = 0,
    output_dim_idx: int = 0,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = random whole numbers from [low, high), each equally likely.

    Args:
        input: any shape and dtype
        low: the least number
        high: the limit of the numbers, above low
        shape: extents of Out, known; that at output_dim_idx is not looked at
        dtype: number of Out's dtype, int32 or int64
        seed: of these numbers, the same in every run; 0: the seed of the program, other numbers in every run
        input_dim_idx: the dimension of Input whose extent is taken
        output_dim_idx: the dimension of Out that has it
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: the shape and dtype of the attributes
    """

def randperm(
    n: int,
    dtype: DTypeLike = 'int64',
    seed: int = 0,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the numbers from 0 to n - 1 in an order each of which is equally likely.

    Args:
        dtype: number of Out's dtype, int32 or int64
        seed: of these numbers, the same in every run; 0: the seed of the program, other numbers in every run
        n: how many
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: [n]
    """

def rank_loss(
    label: Variable,
    left: Variable,
    right: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = log(1 + exp(Left - Right)) - Label (Left - Right), element by element (RankNet). Does not overflow.

    Args:
        label: the probability that Left ranks above Right, any shape, floating
        left: scores, shape and dtype of Label
        right: scores, shape and dtype of Label
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of the first input
    """

def reciprocal(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = 1 / X, element by element.

    Args:
        x: any shape, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def relu(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = max(X, 0), element by element.

    Args:
        x: any shape, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def relu6(
    x: Variable,
    threshold: float = 6.0,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = min(max(X, 0), threshold), element by element.

    Args:
        x: any shape, floating
        threshold: the greatest value of Out
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def roll(
    x: Variable,
    shifts: list[int],
    axis: list[int] = [],
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X, its elements moved on by shifts; what falls out at the end comes in again in front.

    Args:
        x: any shape
        shifts: how far, for each of axis; back if negative
        axis: the dimensions, one perhaps several times, from the end if negative; empty: of all elements in order
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def round(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the whole number nearest to X, of two the even one.

    Args:
        x: any shape, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def scale(
    x: Variable,
    scale: float = 1.0,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = scale * X, element by element; of integers rounded toward zero.

    Args:
        x: any shape
        scale: the factor
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def scaled_dot_product_attention(
    q: Variable,
    k: Variable,
    v: Variable,
    mask: Variable | None = None,
    *,
    causal: bool = False,
    scale: float = 0.0,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = softmax(scale Q K^T + Mask) V, for every head of every example (Vaswani et al. 2017). Calculated tile by tile: the matrix of scores is never in memory (Dao et al. 2022). 0 for a query that sees no key.

    Args:
        q: [batch, heads, queries, depth], floating
        k: [batch, heads, keys, depth], dtype of Q
        v: [batch, heads, keys, value depth], dtype of Q
        mask: is added to the scores; broadcasts to [batch, heads, queries, keys], dtype of Q; -infinity where a query does not see a key
        causal: whether query i sees the keys 0 to i alone
        scale: the factor of Q K^T; 0: 1 / sqrt(depth)
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: [batch, heads, queries, value depth], dtype of Q
    """

def scatter_nd_add(
    x: Variable,
    index: Variable,
    updates: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X, with Updates added to the parts at the positions that Index gives; to a part as often as it is named.

    Args:
        x: any shape, floating or int32 or int64
        index: int32 or int64 [..., K], K at most the rank of X: positions in X's first K dimensions
        updates: extents of Index but the last, then those of X after the first K
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def selected_rows_to_dense(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the tensor that X stands for: the values of each row added up, 0 in the rows that X does not hold.

    Args:
        x: selected rows
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: a tensor, shape and dtype of X
    """

def sigmoid(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = 1 / (1 + exp(-X)), element by element.

    Args:
        x: any shape, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def sigmoid_cross_entropy_with_logits(
    x: Variable,
    label: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = -Label log(p) - (1 - Label) log(1 - p) with p = 1 / (1 + exp(-X)), element by element, as max(X, 0) - X Label + log(1 + exp(-|X|)), which does not overflow.

    Args:
        x: logits, any shape, floating
        label: probabilities, shape and dtype of X
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of the first input
    """

def sign(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = 1 where X > 0, -1 where X < 0, else X.

    Args:
        x: any shape, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def silu(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X / (1 + exp(-X)), element by element.

    Args:
        x: any shape, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def sin(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the sine of X, element by element.

    Args:
        x: any shape, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def slice(
    x: Variable,
    axes: list[int],
    starts: list[int],
    ends: list[int],
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the part of X from starts to ends; indices outside are the nearest inside.

    Args:
        x: any shape
        axes: the dimensions; from the end if negative
        starts: for each of axes the first index; from the end if negative
        ends: for each of axes the index to stop before, likewise
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: the elements of X at these indices
    """

def slogdet(
    x: Variable,
    *,
    name: str | None = None,
) -> tuple[Variable, Variable]:
    """Out = the logarithm of the absolute value of the determinant of each matrix, which neither overflows nor underflows: -infinity for a singular one, whose gradient is an error. For small matrices, to some hundred rows: without LAPACK and without blocks.

    Args:
        x: [..., n, n], floating
        name: Name of the layer; None makes one up.

    Returns:
        Sign: [...], dtype of X: the sign of the determinant, -1, 0 or 1
        Out: [...], dtype of X
    """

def smooth_l1_loss(
    x: Variable,
    y: Variable,
    insideweight: Variable | None = None,
    outsideweight: Variable | None = None,
    *,
    sigma: float = 1.0,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Diff = (X - Y) InsideWeight; Out = the sum, over each row, of OutsideWeight (sigma^2 Diff^2 / 2 where |Diff| < 1 / sigma^2, else |Diff| - 1 / (2 sigma^2)). Without a weight it is 1.

    Args:
        x: [N, ...], floating; a single number counts as [1]
        y: shape and dtype of X
        insideweight: shape and dtype of X
        outsideweight: shape and dtype of X
        sigma: where parabola and line meet: at 1 / sigma^2
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: [N, 1], dtype of X
    """

def soft_relu(
    x: Variable,
    threshold: float = 40.0,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = log(1 + exp(min(max(X, -threshold), threshold))), element by element.

    Args:
        x: any shape, floating
        threshold: X counts no further from 0
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def softmax(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = exp(X) / sum of exp(X) over the last dimension.

    Args:
        x: [..., D], floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X; positive, and 1 in sum over the last dimension
    """

def softplus(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = log(1 + e^X), element by element.

    Args:
        x: any shape, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def softshrink(
    x: Variable,
    lambda_: float = 0.5,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X - lambda where X > lambda, X + lambda where X < -lambda, else 0, element by element.

    Args:
        x: any shape, floating
        lambda_: the largest |X| for which Out is 0
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def softsign(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X / (1 + |X|), element by element.

    Args:
        x: any shape, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def sqrt(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the square root of X, element by element.

    Args:
        x: any shape, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def square(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X^2, element by element.

    Args:
        x: any shape, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def squared_l2_distance(
    x: Variable,
    y: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """sub_result = X - Y; Out = the sum of its squares over each row.

    Args:
        x: [N, ...], floating; a single number counts as [1]
        y: shape of X, or one row for all; dtype of X
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: [N, 1], dtype of X
    """

def squared_l2_norm(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the sum of X^2 over all elements.

    Args:
        x: any shape, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: [1], dtype of X
    """

def squeeze(
    x: Variable,
    axes: list[int] = [],
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X without some dimensions of extent 1.

    Args:
        x: any shape
        axes: dimensions of X of extent 1, from the end if negative; empty: all of these
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: the other extents of X, dtype of X
    """

def stack(
    x: Sequence[Variable],
    axis: int = 0,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Y = all X, one after the other along a new dimension.

    Args:
        x: one or more tensors of one shape
        axis: the dimension of Y that numbers X; from the end if negative
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Y: extents of X, and at axis their number
    """

def stanh(
    x: Variable,
    scale_a: float = 0.6666666666666666,
    scale_b: float = 1.7159,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = scale_b tanh(scale_a X), element by element.

    Args:
        x: any shape, floating
        scale_a: the factor of X
        scale_b: the limit of Out
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def strided_slice(
    x: Variable,
    axes: list[int],
    starts: list[int],
    ends: list[int],
    strides: list[int],
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = every stride-th element of X from starts to ends, backwards where the stride is negative; indices outside are the nearest inside.

    Args:
        x: any shape
        axes: the dimensions; from the end if negative
        starts: for each of axes the first index; from the end if negative
        ends: for each of axes the index to stop before, likewise
        strides: for each of axes the distance between indices
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: the elements of X at these indices
    """

def sum(
    x: Sequence[Variable],
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the sum of all X, element by element. Selected rows are added to the rows of the tensors; where there is no tensor, Out is the rows of all X.

    Args:
        x: one or more tensors, or selected rows, of one shape and dtype
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def swish(
    x: Variable,
    beta: float = 1.0,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X / (1 + exp(-beta X)), element by element.

    Args:
        x: any shape, floating
        beta: how steep the gate is
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def take_along_axis(
    x: Variable,
    index: Variable,
    axis: int = -1,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out[..., i, ...] = X[..., Index[..., i, ...], ...] along one dimension; along the others X and Index are broadcast as in NumPy.

    Args:
        x: any shape; a single number counts as [1]
        index: int32 or int64, the rank of X, and its extents or 1 in all dimensions but axis; each in [0, extent)
        axis: the dimension; from the end if negative
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: the broadcast shape, with the extent of Index along axis; dtype of X
    """

def tanh(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = tanh(X), element by element.

    Args:
        x: any shape, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def tanh_shrink(
    x: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X - tanh(X), element by element.

    Args:
        x: any shape, floating
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def thresholded_relu(
    x: Variable,
    threshold: float = 1.0,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X where X > threshold, else 0, element by element.

    Args:
        x: any shape, floating
        threshold: the largest X for which Out is 0
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def tile(
    x: Variable,
    repeat_times: list[int],
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X, repeated along its last dimensions and new ones.

    Args:
        x: any shape
        repeat_times: how often, for the last dimensions; for more than X has, new ones in front
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: X, repeated
    """

def top_k(
    x: Variable,
    k: int = 1,
    *,
    name: str | None = None,
) -> tuple[Variable, Variable]:
    """The k greatest elements along the last dimension, greatest first; of equal ones the first.

    Args:
        x: [..., width]; a single number counts as [1]
        k: how many, at most width
        name: Name of the layer; None makes one up.

    Returns:
        Out: [..., k], dtype of X: the elements; [] of a single number
        Indices: int64 [..., k]: where they are in the last dimension
    """

def triangular_solve(
    x: Variable,
    y: Variable,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the solution of X Out = Y for triangular X, or of X^T Out = Y; infinite or NaN where an element of the diagonal is 0. For small matrices, to some hundred rows: without LAPACK and without blocks.

    Args:
        x: [..., n, n], floating; the other triangle is not read
        y: [..., n, k], dtype of X
        upper: whether X is upper triangular, not lower
        transpose: whether X is transposed
        unitriangular: whether the diagonal of X counts as 1 and is not read
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: [..., n, k], dtype of X; the batches are broadcast as in NumPy
    """

def tril(
    x: Variable,
    diagonal: int = 0,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the matrices X with 0 above a diagonal.

    Args:
        x: [..., rows, columns]
        diagonal: which one; above 0: so many columns to the right of the main diagonal
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def triu(
    x: Variable,
    diagonal: int = 0,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = the matrices X with 0 below a diagonal.

    Args:
        x: [..., rows, columns]
        diagonal: which one; above 0: so many columns to the right of the main diagonal
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: shape and dtype of X
    """

def truncated_gaussian_random(
    shape: list[int],
    dtype: DTypeLike = 'float32',
    seed: int = 0,
    mean: float = 0.0,
    std: float = 1.0,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = random numbers with a normal distribution, drawn again where they are more than two standard deviations from the mean.

    Args:
        shape: extents of Out, known
        dtype: number of Out's dtype, floating
        seed: of these numbers, the same in every run; 0: the seed of the program, other numbers in every run
        mean: mean of the normal distribution
        std: its standard deviation, at least 0
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: the shape and dtype of the attributes
    """

def uniform_random(
    shape: list[int],
    dtype: DTypeLike = 'float32',
    seed: int = 0,
    min: float = -1.0,
    max: float = 1.0,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = random numbers from [min, max), each equally likely.

    Args:
        shape: extents of Out, known
        dtype: number of Out's dtype, floating
        seed: of these numbers, the same in every run; 0: the seed of the program, other numbers in every run
        min: the least number
        max: the limit of the numbers; 16-bit dtypes may round up to it
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: the shape and dtype of the attributes
    """

def uniform_random_batch_size_like(
    input: Variable,
    shape: list[int],
    dtype: DTypeLike = 'float32',
    seed: int = 0,
    min: float = -1.0,
    max: float = 1.0,
    input_dim_idx: int = 0,
    output_dim_idx: int = 0,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = random numbers from [min, max), each equally likely.

    Args:
        input: any shape and dtype
        shape: extents of Out, known; that at output_dim_idx is not looked at
        dtype: number of Out's dtype, floating
        seed: of these numbers, the same in every run; 0: the seed of the program, other numbers in every run
        min: the least number
        max: the limit of the numbers; 16-bit dtypes may round up to it
        input_dim_idx: the dimension of Input whose extent is taken
        output_dim_idx: the dimension of Out that has it
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: the shape and dtype of the attributes
    """

def unsqueeze(
    x: Variable,
    axes: list[int],
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X with new dimensions of extent 1.

    Args:
        x: any shape
        axes: dimensions of Out that X does not have, from the end if negative
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: extents of X and of 1, dtype of X
    """

def where(
    condition: Variable,
    x: Variable,
    y: Variable,
    *,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Out = X where Condition is true, else Y, broadcast as in NumPy.

    Args:
        condition: bool, any shape
        x: any shape that broadcasts with the others
        y: any shape that broadcasts with the others, dtype of X
        act: Type of an activation operator for the result; None for none.
        name: Name of the layer; None makes one up.

    Returns:
        Out: the broadcast shape, dtype of X
    """
