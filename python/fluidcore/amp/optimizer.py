"""An optimizer that trains in 16 bits."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from fluidcore import core, layers
from fluidcore.amp.cast import cast_program
from fluidcore.amp.lists import Lists
from fluidcore.amp.loss_scaling import DynamicLossScaling, ScaleState
from fluidcore.base.dtypes import HALF
from fluidcore.base.settings import Settings
from fluidcore.optimizer import Optimizer
from fluidcore.optimizer.base import ParamsGrads
from fluidcore.optimizer.changing import changing
from fluidcore.program import Operator, Program, Variable
from fluidcore.program.variable import SELECTED_ROWS


class MixedPrecision(Settings):
    """An optimizer whose `minimize` casts the program first; made by `decorate`.

    Attributes:
        optimizer: What updates the parameters, which stay float32.
        dtype: Of 16 bits.
        lists: Which operators run in it.
        scaling: Of the loss; None for none.
        loss_scaling: The factor of the last program that was minimized, float32 [1], to be fetched;
            None where there is none.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        dtype: str,
        lists: Lists,
        scaling: DynamicLossScaling | None,
    ) -> None:
        self.optimizer = optimizer
        self.dtype = dtype
        self.lists = lists
        self.scaling = scaling
        self.loss_scaling: Variable | None = None

    def minimize(
        self,
        loss: Variable,
        startup_program: Program | None = None,
        parameter_list: Iterable[Variable | str] | None = None,
        no_grad_set: Iterable[Variable | str] | None = None,
        checkpoints: Iterable[Variable | str] | None = None,
    ) -> tuple[list[Operator], ParamsGrads]:
        """Casts the program of the loss, and appends backward and the updates.

        Args:
            loss: One number, float32.
            startup_program: As in Optimizer.minimize, and so are the others.
            parameter_list: Parameters to learn.
            no_grad_set: Variables that are constants.
            checkpoints: Variables between which values are calculated again.

        Returns:
            The update operators, and each parameter with its gradient as it is used, both float32.

        Raises:
            core.InvalidArgument: As Optimizer.minimize and cast_program; the program is then as it
                was.
        """
        with changing(loss, startup_program, every_slot=True) as startup:
            cast_program(loss.block.program, self.dtype, self.lists)
            given = (parameter_list, no_grad_set, checkpoints)
            if self.scaling is None:
                return self.optimizer.minimize(loss, startup, *given)
            return self._minimize_scaled(self.scaling, loss, startup, *given)

    def _minimize_scaled(
        self,
        scaling: DynamicLossScaling,
        loss: Variable,
        startup: Program,
        parameter_list: Iterable[Variable | str] | None,
        no_grad_set: Iterable[Variable | str] | None,
        checkpoints: Iterable[Variable | str] | None,
    ) -> tuple[list[Operator], ParamsGrads]:
        block = loss.block.program.global_block()
        state = ScaleState.create(scaling, block, startup)
        scaled = layers.elementwise_mul(loss, state.scale)
        grads = self.optimizer.backward(scaled, startup, parameter_list, no_grad_set, checkpoints)
        wanted = [(param, grad) for param, grad in grads if grad is not None]
        for param, grad in wanted:
            if grad.desc.type() == SELECTED_ROWS:
                raise core.InvalidArgument(
                    f"amp: the gradient of '{param.name}' must be a tensor where the loss is "
                    "scaled, got selected rows; write is_sparse=False, or dtype='bfloat16'"
                )
        is_good = reduce(layers.logical_and, (_all_finite(grad) for _, grad in wanted))
        inverse = 1.0 / state.scale
        unscaled: ParamsGrads = [
            (param, None if grad is None else layers.elementwise_mul(grad, inverse))
            for param, grad in grads
        ]
        branch = layers.ConditionalBlock([is_good], is_scalar_condition=True)
        with branch.block():
            updates = self.optimizer.apply_gradients(unscaled, startup)
        state.append_update(scaling, is_good)
        self.loss_scaling = state.scale
        return updates


def _all_finite(grad: Variable) -> Variable:
    return layers.reduce_all(layers.isfinite(grad))


def decorate(
    optimizer: Optimizer,
    lists: Lists | None = None,
    dtype: str = "bfloat16",
    scaling: DynamicLossScaling | None = None,
) -> MixedPrecision:
    """An optimizer whose `minimize` makes the program run in 16 bits where that is good enough.

    Args:
        optimizer: Any optimizer of fluidcore.optimizer.
        lists: Which operators; None for those of `Lists()`.
        dtype: "bfloat16", which has the range of float32, or "float16".
        scaling: Of the loss; None for none with bfloat16, and for `DynamicLossScaling()` with
            float16, whose smallest number is 6e-8.

    Raises:
        TypeError: An argument is of another type.
        ValueError: A number of `scaling` cannot be.
        core.InvalidArgument: The dtype has not 16 bits.

    Example:
        adam = fluid.amp.decorate(fluid.optimizer.Adam(1e-3))
        adam.minimize(loss)
    """
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"amp: optimizer must be an Optimizer, got {type(optimizer).__name__}")
    if lists is not None and not isinstance(lists, Lists):
        raise TypeError(f"amp: lists must be amp.Lists, got {type(lists).__name__}")
    if dtype not in HALF:
        raise core.InvalidArgument(f"amp: dtype must be one of {sorted(HALF)}, got {dtype!r}")
    if scaling is None and dtype == "float16":
        scaling = DynamicLossScaling()
    if scaling is not None:
        if not isinstance(scaling, DynamicLossScaling):
            raise TypeError(
                f"amp: scaling must be amp.DynamicLossScaling, got {type(scaling).__name__}"
            )
        scaling.check()
    return MixedPrecision(optimizer, dtype, Lists() if lists is None else lists, scaling)
