"""Parts of networks that many models have, composed of layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fluidcore import core, layers
from fluidcore.layers.missing import why_missing
from fluidcore.param_attr import ParamAttrLike
from fluidcore.program import Variable

Size = int | Sequence[int]


def simple_img_conv_pool(
    input: Variable,
    num_filters: int,
    filter_size: Size,
    pool_size: Size,
    pool_stride: Size,
    act: str | None,
    param_attr: ParamAttrLike = None,
    pool_type: str = "max",
    use_cudnn: bool = True,
) -> Variable:
    """A convolution and a pooling.

    Args:
        input: Images [N, C, H, W].
        num_filters: Channels of the result.
        filter_size: Height and width of the filters.
        pool_size: Height and width of the pooling window.
        pool_stride: Its steps.
        act: Type of the activation after the convolution; None for none.
        param_attr: Of the filters.
        pool_type: "max" or "avg".
        use_cudnn: Accepted for Fluid's sake.
    """
    filtered = layers.conv2d(
        input, num_filters, filter_size, param_attr=param_attr, act=act, use_cudnn=use_cudnn
    )
    return layers.pool2d(filtered, pool_size, pool_type, pool_stride, use_cudnn=use_cudnn)


def _for_each(argument: str, given: Any, count: int) -> list[Any]:
    if not isinstance(given, (list, tuple)):
        return [given] * count
    if len(given) != count:
        raise core.InvalidArgument(
            f"img_conv_group: {argument} must be one value or one for each of the {count} "
            f"convolutions, got {len(given)}: {list(given)}"
        )
    return list(given)


def img_conv_group(
    input: Variable,
    conv_num_filter: Sequence[int],
    pool_size: Size,
    conv_padding: int | Sequence[int] = 1,
    conv_filter_size: int | Sequence[int] = 3,
    conv_act: str | None = None,
    param_attr: ParamAttrLike | Sequence[ParamAttrLike] = None,
    conv_with_batchnorm: bool | Sequence[bool] = False,
    conv_batchnorm_drop_rate: float | Sequence[float] = 0.0,
    pool_stride: Size = 1,
    pool_type: str | None = None,
    use_cudnn: bool = True,
) -> Variable:
    """Convolutions one after the other, each with batch norm and dropout if asked for; a pooling.

    Args:
        input: Images [N, C, H, W].
        conv_num_filter: Channels of each convolution; what follows is one value or a list of them.
        pool_size: Height and width of the pooling window.
        conv_padding: Zeros around the images.
        conv_filter_size: Height and width of the filters.
        conv_act: Type of the activation, after the batch norm if there is one.
        param_attr: Of the filters.
        conv_with_batchnorm: Whether a batch norm follows.
        conv_batchnorm_drop_rate: What share a dropout after the batch norm drops.
        pool_stride: Steps of the pooling window.
        pool_type: "max", which None means too, or "avg".
        use_cudnn: Accepted for Fluid's sake.

    Raises:
        core.InvalidArgument: There is no convolution, or a list of another length.
    """
    if not isinstance(conv_num_filter, (list, tuple)) or not conv_num_filter:
        raise core.InvalidArgument(
            "img_conv_group: conv_num_filter must be a list of at least one number, got "
            f"{conv_num_filter!r}"
        )
    count = len(conv_num_filter)
    settings = zip(
        conv_num_filter,
        _for_each("conv_padding", conv_padding, count),
        _for_each("conv_filter_size", conv_filter_size, count),
        _for_each("param_attr", param_attr, count),
        _for_each("conv_with_batchnorm", conv_with_batchnorm, count),
        _for_each("conv_batchnorm_drop_rate", conv_batchnorm_drop_rate, count),
        strict=True,
    )
    images = input
    for filters, padding, size, attr, has_norm, drop_rate in settings:
        images = layers.conv2d(
            images,
            filters,
            size,
            padding=padding,
            param_attr=attr,
            act=None if has_norm else conv_act,
            use_cudnn=use_cudnn,
        )
        if has_norm:
            images = layers.batch_norm(images, act=conv_act)
            if abs(drop_rate) > 1e-5:
                images = layers.dropout(images, drop_rate)
    return layers.pool2d(images, pool_size, pool_type or "max", pool_stride, use_cudnn=use_cudnn)


def __getattr__(name: str) -> Any:
    why = why_missing(name)
    text = f"module 'fluidcore.nets' has no '{name}'" if why is None else why
    raise AttributeError(text)


def glu(input: Variable, dim: int = -1) -> Variable:
    """A gated linear unit: a sigmoid(b), where a and b are the halves of `input` along `dim`.

    Dauphin et al., Language Modeling with Gated Convolutional Networks, 2017.
    """
    a, b = layers.split(input, 2, dim)
    return a * layers.sigmoid(b)


def scaled_dot_product_attention(
    queries: Variable,
    keys: Variable,
    values: Variable,
    num_heads: int = 1,
    dropout_rate: float = 0.0,
    causal: bool = False,
) -> Variable:
    """Attention, softmax(Q K^T / sqrt(d)) V for each head, without projections of its own.

    Vaswani et al., Attention Is All You Need, 2017.

    Args:
        queries: [batch, length, size].
        keys: [batch, other length, size].
        values: [batch, other length, size of the values].
        num_heads: Into how many parts the sizes are cut.
        dropout_rate: What share of the weights a dropout drops.
        causal: Whether query i sees the keys 0 to i alone.

    Returns:
        [batch, length, size of the values].

    Raises:
        core.InvalidArgument: The ranks are not 3, or the sizes are no multiples of `num_heads`.
    """
    for name, given in (("queries", queries), ("keys", keys), ("values", values)):
        if len(given.shape) != 3:
            raise core.InvalidArgument(
                f"scaled_dot_product_attention: {name} must have rank 3 [batch, length, size], "
                f"got {list(given.shape)}"
            )
        if num_heads < 1 or given.shape[2] % num_heads != 0:
            raise core.InvalidArgument(
                f"scaled_dot_product_attention: the size of {name} must be a multiple of "
                f"num_heads, got {given.shape[2]} and {num_heads}"
            )

    def heads(x: Variable) -> Variable:  # [batch, heads, length, size of a head]
        return layers.stack(layers.split(x, num_heads, 2), axis=1)

    if dropout_rate == 0.0:
        mixed = layers.scaled_dot_product_attention(
            heads(queries), heads(keys), heads(values), causal=causal
        )
    else:
        scaled = heads(queries) * (queries.shape[2] // num_heads) ** -0.5
        scores = layers.matmul(scaled, heads(keys), transpose_y=True)
        if causal:
            seen = layers.cast(layers.tril(layers.fill_any_like(scores, 1.0)), "bool")
            scores = layers.where(seen, scores, layers.fill_any_like(scores, -1e4))
        weights = layers.dropout(layers.softmax(scores), dropout_rate)
        mixed = layers.matmul(weights, heads(values))
    return layers.concat(layers.unstack(mixed, axis=1), axis=2)
