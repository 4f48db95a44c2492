"""The proof of a data parallel program: the gradient of all ranks against numerical ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fluidcore import core
from fluidcore.executor import Executor, Scope, global_scope
from fluidcore.optimizer.base import ParamsGrads
from fluidcore.parallel.averages import average
from fluidcore.program import Program, Variable, program_guard

if TYPE_CHECKING:
    from fluidcore.gradcheck import GradCheckReport

_RUN, _END = 1, 0


def check_gradients(
    loss: Variable,
    params_grads: ParamsGrads,
    feed: Mapping[str, Any],
    executor: Executor,
    scope: Scope | None = None,
    *,
    samples: Variable | None = None,
    raise_exception: bool = True,
    **options: Any,
) -> GradCheckReport | None:
    """Checks that the gradients are those of the mean of the loss over all ranks.

    All ranks call it, each with its own feed. Rank 0 asks the checker, which has all ranks run the
    program, collective operators included, at the points that it chooses; nothing of the scope
    changes.

    Args:
        loss: One number; of a program with backward and the sums over the ranks, and without the
            operators that update parameters.
        params_grads: As `append_backward` and `data_parallel` had them.
        feed: Of this rank, as of `Executor.run`.
        executor: Has the communicator.
        scope: Has the parameters; None for the global scope.
        samples: As of `data_parallel`.
        raise_exception: As of `gradcheck.check`.
        **options: Fields of GradCheckConfig, or `config`.

    Returns:
        The report, on rank 0; None on the others.

    Raises:
        core.InvalidArgument: The executor has no communicator, or the program updates parameters.
        gradcheck.GradientError: On rank 0, where the gradients are not proven and `raise_exception`
            is set.

    Example:
        params_grads = fluid.append_backward(loss)
        fluid.parallel.data_parallel(loss.block.program, params_grads, world)
        exe = fluid.Executor(communicator=world)
        exe.run(fluid.default_startup_program())
        fluid.parallel.check_gradients(loss, params_grads, {"x": x}, exe)
    """
    ranks = _Ranks(loss, params_grads, feed, executor, scope, samples)
    if ranks.communicator.rank != 0:
        ranks.follow()
        return None
    from fluidcore.gradcheck import check

    try:
        report = check(
            ranks.value,
            ranks.point(),
            vjp=ranks.gradients,
            name="the mean of the loss over all ranks",
            raise_exception=False,
            **options,
        )
    finally:
        ranks.end()
    if raise_exception:
        report.assert_ok()
    return report


class _Ranks:
    """The program at any point, run by all ranks when rank 0 says so."""

    def __init__(
        self,
        loss: Variable,
        params_grads: ParamsGrads,
        feed: Mapping[str, Any],
        executor: Executor,
        scope: Scope | None,
        samples: Variable | None,
    ) -> None:
        if executor.communicator is None:
            raise core.InvalidArgument(
                "check_gradients: the executor must have a communicator, got none; write "
                "Executor(communicator=fluid.parallel.world())"
            )
        self.communicator = executor.communicator
        pairs = [(param, grad) for param, grad in params_grads if grad is not None]
        self._params = [param.name for param, _ in pairs]
        self._program = loss.block.program.clone()
        block = self._program.global_block()
        updates = [op.type for op in block.ops if "ParamOut" in op.output_names]
        if updates:
            raise core.InvalidArgument(
                f"check_gradients: the program must not update parameters, got {updates[0]}; "
                "check it before apply_gradients"
            )
        with program_guard(self._program, Program()):
            counts = None if samples is None else block.var(samples.name)
            mean = average(block.var(loss.name), self.communicator, counts)
        self._fetches = [mean.name, *(grad.name for _, grad in pairs)]
        self._feed = feed
        self._executor = executor
        self._random = executor.random_state(self._program)
        self._scope = core.Scope()
        given = global_scope() if scope is None else scope
        self._share = Program()
        for variable in block.vars.values():
            held = given.find_var(variable.name) if variable.persistable else None
            if held is None:
                continue
            self._scope.var(variable.name).get_tensor().set(np.array(held.get_tensor()))
        for param, _ in pairs:
            shared = self._share.global_block().create_var(
                param.name, shape=param.shape, dtype=param.dtype, persistable=True
            )
            self._share.global_block().append_op("c_broadcast", {"X": shared}, {"Out": shared})

    def point(self) -> dict[str, Any]:
        """The parameters as they are."""
        return {n: np.array(self._scope.find_var(n).get_tensor()) for n in self._params}

    def value(self, params: dict[str, Any]) -> Any:
        """The mean of the loss."""
        return self._at(params)[0]

    def gradients(self, params: dict[str, Any], cotangent: Any) -> dict[str, Any]:
        """The gradients, as the program has them, times the cotangent."""
        _, *grads = self._at(params)
        return {n: grad * cotangent.item() for n, grad in zip(self._params, grads, strict=True)}

    def follow(self) -> None:
        """Runs the program as often as rank 0 does."""
        while self.communicator.gather([0], "the checker's next point")[0, 0] == _RUN:
            self._run()

    def end(self) -> None:
        """Lets the other ranks go on."""
        self.communicator.gather([_END], "the checker's next point")

    def _at(self, params: dict[str, Any]) -> list[Any]:
        for name, value in params.items():
            self._scope.find_var(name).get_tensor().set(np.asarray(value))
        self.communicator.gather([_RUN], "the checker's next point")
        return self._run()

    def _run(self) -> list[Any]:
        self._executor.run(self._share, scope=self._scope)
        self._executor.set_random_state(self._random, self._program)
        return self._executor.run(self._program, self._feed, self._fetches, self._scope)
