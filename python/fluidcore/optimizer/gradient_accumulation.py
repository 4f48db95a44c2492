"""Updates from the gradients of several runs."""

from __future__ import annotations

from fluidcore import layers
from fluidcore.base.checks import check_whole
from fluidcore.base.dtypes import HALF
from fluidcore.optimizer.base import Optimizer, ParamsGrads
from fluidcore.optimizer.changing import changing, some_gradient
from fluidcore.program import Operator, Program, Variable


class GradientAccumulation(Optimizer):
    """An optimizer that updates in every k-th run, with the mean of the gradients of k runs.

    As one run with the k batches together would, where the loss is a mean over the batch and the
    batches are equally large. Each run adds its gradients to persistable variables, float32 for
    parameters of 16 bits; gradient clips, weight decay and the updates stand in a conditional block
    and act on the sum. A run that is saved in between goes on where it was.

    Selected rows are added up in a whole table, so that the update is that of a dense gradient. A
    learning-rate schedule counts runs, not updates; `global_step` of the optimizer counts updates.
    For 16 bits write amp.decorate(GradientAccumulation(...)): a run whose gradients are not finite
    then adds nothing, and does not count.

    Args:
        optimizer: What updates the parameters.
        steps: k.
        average: False for the sum of the gradients, for a loss that is a sum over the batch.

    Raises:
        TypeError: An argument is of another type.
        ValueError: steps is below 1.

    Example:
        optimizer = fluid.optimizer.GradientAccumulation(fluid.optimizer.Adam(1e-3), steps=4)
        optimizer.minimize(loss)
    """

    type = "gradient_accumulation"
    is_elementwise = False

    def __init__(self, optimizer: Optimizer, steps: int, average: bool = True) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(
                "gradient_accumulation: optimizer must be an Optimizer, got "
                f"{type(optimizer).__name__}"
            )
        super().__init__(
            optimizer.learning_rate,
            optimizer.regularization,
            optimizer.name,
            optimizer.global_step,
        )
        self.optimizer = optimizer
        self.steps = check_whole("gradient_accumulation: steps", steps, 1)
        self.average = bool(average)

    def apply_gradients(
        self, params_grads: ParamsGrads, startup_program: Program | None = None
    ) -> tuple[list[Operator], ParamsGrads]:
        """Appends the sums, and the conditional block with what the optimizer appends.

        Args:
            params_grads: Each parameter with its gradient, or None.
            startup_program: Initializes the sums and the optimizer's state; None for the default
                one.

        Returns:
            The update operators, and each parameter with its gradient as it is used, both of the
            conditional block; None where there is no gradient.

        Raises:
            core.InvalidArgument: No parameter has a gradient.
        """
        first = some_gradient(params_grads)
        with changing(first, startup_program) as startup:
            self._startup = startup
            sums = [None if grad is None else self._added(grad) for _, grad in params_grads]
            runs = self._state("accumulated_runs", first, 0.0, [1], "int64")
            layers.increment(runs)
            wanted = layers.fill_constant([1], "int64", self.steps)
            update = layers.ConditionalBlock([layers.greater_equal(runs, wanted)], True)
            with update.block():
                used = [
                    (param, None if grad is None or total is None else self._used(total, grad))
                    for (param, grad), total in zip(params_grads, sums, strict=True)
                ]
                result = self.optimizer.apply_gradients(used, startup)
                for total in (runs, *(total for total in sums if total is not None)):
                    layers.fill_constant(total.shape, total.dtype, 0, out=total)
            return result

    def _added(self, grad: Variable) -> Variable:
        """The sum over runs that the gradient is added to."""
        dtype = "float32" if grad.dtype in HALF else grad.dtype
        total = self._state(f"{grad.name}.total", grad, 0.0, grad.shape, dtype)
        term = grad if grad.dtype == dtype else layers.cast(grad, dtype)
        return layers.sums([total, term], out=total)

    def _used(self, total: Variable, grad: Variable) -> Variable:
        """The gradient that the optimizer is given, of the element type of the parameter's."""
        used = layers.scale(total, scale=1.0 / self.steps if self.average else 1.0)
        return used if used.dtype == grad.dtype else layers.cast(used, grad.dtype)
