"""Optimizer state of which each rank has its part: ZeRO, stage 1 (Rajbhandari et al. 2020)."""

from __future__ import annotations

from typing import NamedTuple

from fluidcore import core
from fluidcore.clip import GradientClipByGlobalNorm, GradientClipByValue
from fluidcore.optimizer.base import Optimizer, ParamsGrads
from fluidcore.parallel.averages import average
from fluidcore.parallel.collectives import (
    Bucket,
    broadcast_what_is_drawn,
    buckets,
    data_parallel,
    summand_of,
)
from fluidcore.program import Block, Operator, Parameter, Program, Variable
from fluidcore.program.gradient_hooks import BaseGradientClipAttr
from fluidcore.program.variable import SELECTED_ROWS


class _Part(NamedTuple):
    """A rank's part of some parameters."""

    of: list[Parameter]
    param: Parameter
    grad: Variable
    request: str


class _NormOverRanks(GradientClipByGlobalNorm):
    """A clip by the norm of all parts of all ranks."""

    def __init__(self, clip: GradientClipByGlobalNorm, communicator: core.Communicator) -> None:
        super().__init__(clip.clip_norm, clip.group_name)
        self._communicator = communicator

    def whole(self, squares: Variable) -> Variable:
        """The sum over the ranks."""
        mean = average(squares, self._communicator)
        return mean * float(self._communicator.size)


def append_sharded_updates(
    optimizer: Optimizer,
    params_grads: ParamsGrads,
    communicator: core.Communicator,
    bucket_mb: float,
    samples: Variable | None,
    startup: Program,
) -> tuple[list[Operator], ParamsGrads]:
    """Appends updates of this rank's parts of the parameters, and gives all ranks all of them.

    Parameters are put together as data_parallel puts gradients together, those alike in learning
    rate, weight decay and clip. Right after backward has made their gradients, a c_reduce_scatter
    begins to add them up, part by part.

    Args:
        optimizer: Has the updates.
        params_grads: Each parameter with its gradient.
        communicator: The ranks.
        bucket_mb: As of data_parallel.
        samples: As of data_parallel.
        startup: Gets the optimizer's state, and the broadcasts.

    Returns:
        As Optimizer.apply_gradients, with parts in place of parameters.

    Raises:
        core.InvalidArgument: An update, or a clip, needs whole gradients.
    """
    _require_elementwise(optimizer, params_grads)
    pairs = [(param, grad) for param, grad in params_grads if grad is not None]
    block = pairs[0][1].block
    summands = [summand_of(block, param, grad) for param, grad in pairs]
    dense = [each for each in summands if not each.is_rows]
    rows: ParamsGrads = [(each.param, each.grad) for each in summands if each.is_rows]
    made = sorted(dense, key=lambda each: each.made)
    parts = [
        _begin(block, bucket, number, communicator, samples)
        for number, bucket in enumerate(buckets(made, bucket_mb * 2**20, _settings))
    ]
    data_parallel(block.program, rows, communicator, samples=samples, startup_program=startup)
    for part in parts:
        block.append_op("c_part", {"X": part.of}, {"Out": part.param}, {"ranks": communicator.size})
        block.append_op("c_wait", {"Request": part.request, "Like": part.param}, {"Out": part.grad})
    own: ParamsGrads = [(part.param, part.grad) for part in parts]
    result = optimizer.apply_gradients([*own, *rows], startup)
    for part in parts:
        block.append_op(
            "c_allgather",
            {"X": part.param, "Like": part.of},
            {"Out": part.of},
            {"ranks": communicator.size},
        )
    broadcast_what_is_drawn(startup)
    return result


def _begin(
    block: Block,
    bucket: Bucket,
    number: int,
    communicator: core.Communicator,
    samples: Variable | None,
) -> _Part:
    """Inserts the beginning of the sum; `number` operators were inserted before it."""
    params = [each.param for each in bucket]
    total = sum(each.elements for each in bucket)
    size = -(-total // communicator.size)
    param = Parameter(
        block,
        [size],
        params[0].dtype,
        block.unique_name("parameters.part"),
        trainable=False,
        optimize_attr=params[0].optimize_attr,
        regularizer=params[0].regularizer,
        gradient_clip_attr=_clip_over_ranks(params[0], communicator),
        stop_gradient=True,
    )
    # It is made anew in each run.
    param.desc.set_is_parameter(False)
    param.desc.set_persistable(False)
    grad = block.create_var(f"{param.name}@GRAD", shape=[size], dtype=param.dtype)
    request = block.unique_name("gradients.request")
    block.insert_op(
        bucket[-1].made + 1 + number,
        "c_reduce_scatter",
        {"X": [each.grad for each in bucket]} | ({} if samples is None else {"Samples": samples}),
        {"Request": request},
        {"params": [param.name]},
    )
    return _Part(params, param, grad, request)


def _settings(param: Parameter) -> tuple[object, ...]:
    """What is alike in parameters that are updated together."""
    factor = param.optimize_attr.get("learning_rate", 1.0)
    rate = id(factor) if isinstance(factor, Variable) else factor
    return rate, id(param.regularizer), id(param.gradient_clip_attr)


def _clip_over_ranks(
    param: Parameter, communicator: core.Communicator
) -> BaseGradientClipAttr | None:
    clip = param.gradient_clip_attr
    if isinstance(clip, GradientClipByGlobalNorm):
        return _NormOverRanks(clip, communicator)
    return clip


def _require_elementwise(optimizer: Optimizer, params_grads: ParamsGrads) -> None:
    """Raises core.InvalidArgument where a part of a gradient is not enough."""
    if not optimizer.is_elementwise:
        raise core.InvalidArgument(
            f"distributed_optimizer: with shard_state updates must be element by element, got "
            f"{optimizer.type}, whose are not"
        )
    rows = [
        param.name
        for param, grad in params_grads
        if grad is not None and grad.desc.type() == SELECTED_ROWS
    ]
    for param, _ in params_grads:
        clip = param.gradient_clip_attr
        if isinstance(clip, GradientClipByGlobalNorm):
            if rows:
                raise core.InvalidArgument(
                    f"distributed_optimizer: with shard_state and a clip by global norm gradients "
                    f"must be dense, got selected rows for {rows}"
                )
        elif clip is not None and not isinstance(clip, GradientClipByValue):
            raise core.InvalidArgument(
                f"distributed_optimizer: with shard_state gradients must be clipped by value or "
                f"global norm, got {type(clip).__name__} for '{param.name}'"
            )
