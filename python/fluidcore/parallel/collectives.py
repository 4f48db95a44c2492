"""A program made data parallel: collective operators around the gradients of its parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from fluidcore import core
from fluidcore.base.checks import check_number
from fluidcore.base.dtypes import numpy_dtype
from fluidcore.optimizer.base import ParamsGrads
from fluidcore.optimizer.changing import changing
from fluidcore.program import Block, Parameter, Program, Variable
from fluidcore.program.collective import is_collective
from fluidcore.program.variable import SELECTED_ROWS


class Summand(NamedTuple):
    """A gradient, and where it is made."""

    param: Parameter
    grad: Variable
    made: int  # the operator that writes it
    used: int  # the first one after that which reads or changes it; or the number of operators

    @property
    def is_rows(self) -> bool:
        """Whether it has selected rows."""
        return self.grad.desc.type() == SELECTED_ROWS

    @property
    def elements(self) -> int:
        """How many it has."""
        return math.prod(self.grad.shape)

    @property
    def bytes(self) -> int:
        """What they take."""
        return self.elements * numpy_dtype(self.grad.dtype).itemsize


Bucket = list[Summand]


class _Step(NamedTuple):
    """An operator to be inserted."""

    type: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    attrs: dict[str, Any]


def data_parallel(
    program: Program,
    params_grads: ParamsGrads,
    communicator: core.Communicator,
    *,
    bucket_mb: float = 25.0,
    samples: Variable | None = None,
    startup_program: Program | None = None,
) -> None:
    """Makes the gradients of parameters the means over all ranks.

    Right after backward has made the gradients of a bucket, a c_allreduce_sum begins to add them
    up, and a c_wait ends that before anything uses one of them: clips, weight decay and updates see
    the sums, and the rest of backward overlaps with the communication. Selected rows are gathered
    from all ranks. The startup program ends with a c_broadcast from rank 0 of each variable that it
    draws at random, so that all ranks start alike. With one rank nothing is changed.

    Where the loss is a mean over the samples of a batch, and each rank is given its part of it, the
    result is the gradient of the whole batch: with equal parts, or with `samples`.

    Args:
        program: Has the gradients; before or after the updates were appended.
        params_grads: Each parameter with its gradient, as append_backward gave them, or None.
        communicator: The ranks.
        bucket_mb: Gradients are added up together until they have so many 2^20 bytes.
        samples: Fed int64 [2]: how many samples this rank's batch has, and those of all ranks; None
            where these are equally many. A DataLoader gives them.
        startup_program: Gets the broadcasts; None for the default one.

    Raises:
        TypeError: An argument is of another type.
        core.InvalidArgument: A gradient is not of the program, is made nowhere in its block, or is
            the sum of all ranks already; or bucket_mb is not above 0. Then no program has changed.

    Example:
        params_grads = fluid.append_backward(loss)
        fluid.parallel.data_parallel(loss.block.program, params_grads, fluid.parallel.world())
    """
    if not isinstance(program, Program):
        raise TypeError(f"data_parallel: program must be a Program, got {type(program).__name__}")
    if not isinstance(communicator, core.Communicator):
        raise TypeError(
            "data_parallel: communicator must be a Communicator, got "
            f"{type(communicator).__name__}; write fluid.parallel.world()"
        )
    if not (samples is None or isinstance(samples, Variable)):
        raise TypeError(f"data_parallel: samples must be a Variable, got {samples!r}")
    if check_number("data_parallel: bucket_mb", bucket_mb) <= 0:
        raise core.InvalidArgument(f"data_parallel: bucket_mb must be above 0, got {bucket_mb!r}")
    pairs = [(param, grad) for param, grad in params_grads if grad is not None]
    for param, grad in pairs:
        if grad.block.program is not program:
            raise core.InvalidArgument(
                f"data_parallel: the gradient of '{param.name}' must be of the program, got "
                f"{grad!r} of another one"
            )
    if communicator.size == 1 or not pairs:
        return
    with changing(pairs[0][1], startup_program) as startup:
        _insert(pairs, communicator, bucket_mb * 2**20, samples)
        broadcast_what_is_drawn(startup)


def _insert(
    pairs: list[tuple[Parameter, Variable]],
    communicator: core.Communicator,
    bucket_bytes: float,
    samples: Variable | None,
) -> None:
    block = pairs[0][1].block
    summands = [summand_of(block, param, grad) for param, grad in pairs]
    steps: list[tuple[int, int, _Step]] = []  # before which operator, as it is now, and the order
    shares = {} if samples is None else {"Samples": samples}
    for bucket in buckets(sorted(summands, key=lambda summand: summand.made), bucket_bytes):
        begin, *end = _steps(block, bucket, communicator.size, shares)
        steps.append((bucket[-1].made + 1, 0, begin))
        # At one place what begins comes before what waits.
        steps += [(min(each.used for each in bucket), 1, step) for step in end]
    for added, (place, _, step) in enumerate(sorted(steps, key=lambda each: each[:2])):
        block.insert_op(place + added, *step)


def _steps(block: Block, bucket: Bucket, ranks: int, shares: Mapping[str, Variable]) -> list[_Step]:
    """The operators that begin to add up a bucket, and that wait for it."""
    grads = [each.grad for each in bucket]
    inputs: dict[str, Any] = {"X": grads, **shares}
    attrs: dict[str, Any] = {"params": [each.param.name for each in bucket]}
    if bucket[0].is_rows:
        return [_Step("c_allgather_rows", inputs, {"Out": grads}, {**attrs, "ranks": ranks})]
    request = block.unique_name("gradients.request")
    return [
        _Step("c_allreduce_sum", inputs, {"Request": request}, attrs),
        _Step("c_wait", {"Request": request, "Like": grads}, {"Out": grads}, {}),
    ]


def summand_of(block: Block, param: Parameter, grad: Variable) -> Summand:
    """A gradient of a block.

    Raises:
        core.InvalidArgument: It is made nowhere there, or is the sum of all ranks already.
    """
    ops = block.ops
    mentions = [
        (index, grad.name in op.input_arg_names, grad.name in op.output_arg_names, op)
        for index, op in enumerate(ops)
    ]
    made = [index for index, reads, writes, _ in mentions if writes and not reads]
    if grad.block is not block or not made:
        raise core.InvalidArgument(
            f"data_parallel: the gradient of '{param.name}' must be made in block {block.idx}, got "
            f"{grad!r}, which no operator there makes"
        )
    later = [each for each in mentions if each[0] > made[-1] and (each[1] or each[2])]
    if any(is_collective(op.type) for *_, op in later):
        raise core.InvalidArgument(
            f"data_parallel: the gradient of '{param.name}' must be that of one rank, got "
            f"{grad.name}, which is the sum of all ranks already"
        )
    return Summand(param, grad, made[-1], later[0][0] if later else len(ops))


def buckets(
    summands: Iterable[Summand],
    most_bytes: float,
    kind: Callable[[Parameter], object] = lambda param: None,
) -> Iterator[Bucket]:
    """Gradients in the order in which they are made, those together that are added up together.

    Args:
        summands: In this order.
        most_bytes: Of those together, unless one has more.
        kind: Of those together, all are of one.
    """
    bucket: Bucket = []
    for summand in summands:
        if bucket and not (
            summand.grad.dtype == bucket[0].grad.dtype
            and kind(summand.param) == kind(bucket[0].param)
            and not (summand.is_rows or bucket[0].is_rows)
            and summand.made < min(each.used for each in bucket)
            and sum(each.bytes for each in (*bucket, summand)) <= most_bytes
        ):
            yield bucket
            bucket = []
        bucket.append(summand)
    if bucket:
        yield bucket


def broadcast_what_is_drawn(startup: Program) -> None:
    """Appends broadcasts of what a startup program draws, or makes of that; but for those there."""
    block = startup.global_block()
    drawn: list[str] = []
    sent: set[str] = set()
    for op in block.ops:
        names = op.output_arg_names
        if op.type == "c_broadcast":
            sent.update(names)
        elif core.op_def(op.type).is_random or any(name in drawn for name in op.input_arg_names):
            drawn += [name for name in names if name not in drawn]
    for name in drawn:
        if name not in sent and block.var(name).persistable:
            block.append_op("c_broadcast", {"X": name}, {"Out": name}, {"root": 0})
