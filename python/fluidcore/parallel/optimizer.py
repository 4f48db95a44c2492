"""An optimizer that trains on several processes."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager

from fluidcore import core
from fluidcore.base.checks import check_number
from fluidcore.optimizer.base import Optimizer, ParamsGrads
from fluidcore.optimizer.changing import changing, some_gradient
from fluidcore.parallel.batch_norms import synchronized
from fluidcore.parallel.collectives import data_parallel
from fluidcore.parallel.sharding import append_sharded_updates
from fluidcore.program import Operator, Program, Variable


class DistributedOptimizer(Optimizer):
    """An optimizer whose `minimize` makes the program data parallel: see `data_parallel`.

    Clips, weight decay and the updates act on the gradients of all ranks. It takes the place of
    the optimizer in others: amp.decorate(DistributedOptimizer(...)) looks at these gradients for
    what is not finite, GradientAccumulation(DistributedOptimizer(...)) adds up over the ranks once
    in k runs.

    Args:
        optimizer: What updates the parameters.
        communicator: The ranks, for example `fluid.parallel.world()`. With one of them this is the
            optimizer alone.
        bucket_mb: As of `data_parallel`, and so is the other one.
        samples: Fed int64 [2].
        sync_batch_norm: Whether batch norms use the statistics of all ranks: see
            `synchronize_batch_norms`.
        shard_state: Whether each rank has a part of the optimizer's state, and updates that part
            of the parameters, which all then get: with n ranks the state takes 1 / n of the
            memory. For updates element by element, clips by value or global norm, and `minimize`.
            Then the program is transformed with one rank, too.

    Raises:
        TypeError: An argument is of another type.
        core.InvalidArgument: bucket_mb is not above 0.

    Example:
        world = fluid.parallel.world()
        optimizer = fluid.parallel.DistributedOptimizer(fluid.optimizer.Adam(1e-3), world)
        optimizer.minimize(loss)
        exe = fluid.Executor(communicator=world)
    """

    type = "distributed_optimizer"

    def __init__(
        self,
        optimizer: Optimizer,
        communicator: core.Communicator,
        *,
        bucket_mb: float = 25.0,
        samples: Variable | None = None,
        sync_batch_norm: bool = False,
        shard_state: bool = False,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(
                "distributed_optimizer: optimizer must be an Optimizer, got "
                f"{type(optimizer).__name__}"
            )
        if not isinstance(communicator, core.Communicator):
            raise TypeError(
                "distributed_optimizer: communicator must be a Communicator, got "
                f"{type(communicator).__name__}; write fluid.parallel.world()"
            )
        if check_number("distributed_optimizer: bucket_mb", bucket_mb) <= 0:
            raise core.InvalidArgument(
                f"distributed_optimizer: bucket_mb must be above 0, got {bucket_mb!r}"
            )
        super().__init__(
            optimizer.learning_rate,
            optimizer.regularization,
            optimizer.name,
            optimizer.global_step,
        )
        self.optimizer = optimizer
        self.communicator = communicator
        self.bucket_mb = bucket_mb
        self.samples = samples
        self.sync_batch_norm = bool(sync_batch_norm)
        self.shard_state = bool(shard_state)
        self._summed: Program | None = None  # whose gradients are those of all ranks

    def minimize(
        self,
        loss: Variable,
        startup_program: Program | None = None,
        parameter_list: Iterable[Variable | str] | None = None,
        no_grad_set: Iterable[Variable | str] | None = None,
        checkpoints: Iterable[Variable | str] | None = None,
    ) -> tuple[list[Operator], ParamsGrads]:
        """Appends what `minimize` of the optimizer appends, and makes the program data parallel.

        Args:
            loss: As in Optimizer.minimize, and so are the others.
            startup_program: Gets the broadcasts, too.
            parameter_list: Parameters to learn.
            no_grad_set: Variables that are constants.
            checkpoints: Variables between which values are calculated again.

        Returns:
            As Optimizer.minimize; with shard_state parts of parameters and of their gradients.

        Raises:
            core.InvalidArgument: As Optimizer.minimize; or shard_state does not go with the
                optimizer or a clip.
        """
        with changing(loss, startup_program) as startup, self._synchronized(loss):
            given = (parameter_list, no_grad_set, checkpoints)
            grads = self.optimizer.backward(loss, startup, *given)
            if self.shard_state:
                return append_sharded_updates(
                    self.optimizer,
                    grads,
                    self.communicator,
                    self.bucket_mb,
                    self.samples,
                    startup,
                )
            with loss.block.program.inside(loss.block):
                result = self.optimizer.apply_gradients(grads, startup)
            # Now that the updates are there, each bucket is waited for where it is used first.
            self._add_up(grads, startup)
            return result

    def backward(
        self,
        loss: Variable,
        startup_program: Program | None = None,
        parameter_list: Iterable[Variable | str] | None = None,
        no_grad_set: Iterable[Variable | str] | None = None,
        checkpoints: Iterable[Variable | str] | None = None,
    ) -> ParamsGrads:
        """The first half of `minimize`: backward, and the sums over the ranks.

        Args:
            loss: As in minimize, and so are the others.
            startup_program: Gets the broadcasts.
            parameter_list: Parameters to learn.
            no_grad_set: Variables that are constants.
            checkpoints: Variables between which values are calculated again.

        Returns:
            Each parameter with its gradient, None where the loss does not depend on it.

        Raises:
            core.InvalidArgument: As `Optimizer.backward`; or shard_state is set.
        """
        self._require_no_parts("backward")
        with changing(loss, startup_program) as startup, self._synchronized(loss):
            given = (parameter_list, no_grad_set, checkpoints)
            grads = self.optimizer.backward(loss, startup, *given)
            self._add_up(grads, startup)
        self._summed = loss.block.program
        return grads

    def apply_gradients(
        self, params_grads: ParamsGrads, startup_program: Program | None = None
    ) -> tuple[list[Operator], ParamsGrads]:
        """The second half of `minimize`: what the optimizer appends.

        Gradients that `backward` of this optimizer did not give are added up over the ranks first.

        Args:
            params_grads: Each parameter with its gradient, or None.
            startup_program: Initializes the optimizer's state; None for the default one.

        Returns:
            As minimize.

        Raises:
            core.InvalidArgument: No parameter has a gradient; or shard_state is set.
        """
        self._require_no_parts("apply_gradients")
        first = some_gradient(params_grads)
        with changing(first, startup_program) as startup:
            if self._summed is not first.block.program:
                self._add_up(params_grads, startup)
            self._summed = None
            return self.optimizer.apply_gradients(params_grads, startup)

    def _require_no_parts(self, called: str) -> None:
        if self.shard_state:
            raise core.InvalidArgument(
                "distributed_optimizer: with shard_state minimize() must be called, got "
                f"{called}(), as GradientAccumulation and an amp with a scaled loss do"
            )

    def _synchronized(self, loss: Variable) -> AbstractContextManager[None]:
        program = loss.block.program
        return synchronized(program, self.communicator, self.samples, self.sync_batch_norm)

    def _add_up(self, params_grads: ParamsGrads, startup: Program) -> None:
        data_parallel(
            some_gradient(params_grads).block.program,
            params_grads,
            self.communicator,
            bucket_mb=self.bucket_mb,
            samples=self.samples,
            startup_program=startup,
        )
