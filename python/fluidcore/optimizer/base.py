"""What all optimizers share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fluidcore import core
from fluidcore.backward import append_backward
from fluidcore.base.checks import check_number
from fluidcore.base.dtypes import FLOATING, HALF, dtype_number
from fluidcore.base.settings import Settings
from fluidcore.clip import append_gradient_clip_ops, error_clip_callback
from fluidcore.initializer import Constant
from fluidcore.layers.helper import initialize
from fluidcore.optimizer.changing import changing, some_gradient
from fluidcore.optimizer.fluid_members import FluidMembers
from fluidcore.program import Block, Operator, Parameter, Program, Variable
from fluidcore.regularizer import (
    WeightDecayRegularizer,
    append_regularization_ops,
    check_regularizer,
)

ParamsGrads = list[tuple[Parameter, Variable | None]]


class Optimizer(FluidMembers, Settings):
    """The base of optimizers: minimize, the learning rate, and state for each parameter.

    Args:
        learning_rate: A number, or a floating Variable [1] of the program.
        regularization: Weight decay of parameters without a regularizer of their own.
        name: Starts the names of the optimizer's variables; None takes the class's.
        global_step: A persistable Variable [1]; each update adds 1 to it.
    """

    type = "optimizer"
    is_elementwise = True  # whether each element is updated by its own gradient alone
    _reads_rate = True  # whether the updates read the learning rate

    def __init__(
        self,
        learning_rate: float | Variable,
        regularization: WeightDecayRegularizer | None = None,
        name: str | None = None,
        global_step: Variable | None = None,
    ) -> None:
        if not isinstance(learning_rate, Variable):
            learning_rate = check_number(f"{self.type}: learning_rate", learning_rate)
        check_regularizer(f"{self.type}: regularization", regularization)
        if not (global_step is None or isinstance(global_step, Variable)):
            raise TypeError(f"{self.type}: global_step must be a Variable, got {global_step!r}")
        self.learning_rate = learning_rate
        self.regularization = regularization
        self.name = name
        self.global_step = global_step
        # Of the program that minimize is working on.
        self._startup: Program | None = None
        self._block: Block | None = None  # that the updates are appended to
        self._shared: dict[tuple[str, str], Variable] = {}
        # What _accumulator made, by name and parameter, as Fluid's optimizers kept it.
        self._accumulators: dict[str, dict[str, Variable]] = {}

    def minimize(
        self,
        loss: Variable,
        startup_program: Program | None = None,
        parameter_list: Iterable[Variable | str] | None = None,
        no_grad_set: Iterable[Variable | str] | None = None,
        checkpoints: Iterable[Variable | str] | None = None,
    ) -> tuple[list[Operator], ParamsGrads]:
        """Appends backward and the operators that update the parameters.

        Backward with error clips, then gradient clips, then weight decay, then the updates.

        Args:
            loss: One number, for example [1].
            startup_program: Initializes the optimizer's state; None for the default one.
            parameter_list: Parameters to learn; None for all trainable ones.
            no_grad_set: Variables that are constants.
            checkpoints: Variables between which values are calculated again for backward, not kept:
                the same gradients in less memory; None keeps everything.

        Returns:
            The update operators, and each parameter with its gradient as it is used (None where
            the loss does not depend on the parameter).

        Raises:
            core.InvalidArgument: As append_backward; or the loss depends on no parameter.
        """
        with changing(loss, startup_program) as startup:
            grads = self.backward(loss, startup, parameter_list, no_grad_set, checkpoints)
            with loss.block.program.inside(loss.block):
                return self.apply_gradients(grads, startup)

    def backward(
        self,
        loss: Variable,
        startup_program: Program | None = None,
        parameter_list: Iterable[Variable | str] | None = None,
        no_grad_set: Iterable[Variable | str] | None = None,
        checkpoints: Iterable[Variable | str] | None = None,
    ) -> ParamsGrads:
        """The first half of `minimize`: appends backward with error clips.

        Args:
            loss: As in minimize, and so are the others.
            startup_program: Is checked, and not changed.
            parameter_list: Parameters to learn.
            no_grad_set: Variables that are constants.
            checkpoints: Variables between which values are calculated again.

        Returns:
            Each parameter with its gradient, None where the loss does not depend on it.

        Raises:
            core.InvalidArgument: As append_backward; or the loss depends on no parameter.
        """
        with changing(loss, startup_program):
            callbacks = [error_clip_callback]
            found = append_backward(loss, parameter_list, no_grad_set, callbacks, checkpoints)
            grads = [(param, grad) for param, grad in found if isinstance(param, Parameter)]
            if len(grads) < len(found):
                others = [v.name for v, _ in found if not isinstance(v, Parameter)]
                raise core.InvalidArgument(
                    f"minimize: parameter_list must hold parameters, got {others}"
                )
            if all(grad is None for _, grad in grads):
                raise core.InvalidArgument(
                    f"minimize: the loss must depend on a trainable parameter, got "
                    f"'{loss.name}', which depends on none of "
                    f"{[param.name for param, _ in grads]}"
                )
            return grads

    def apply_gradients(
        self, params_grads: ParamsGrads, startup_program: Program | None = None
    ) -> tuple[list[Operator], ParamsGrads]:
        """The second half of `minimize`: appends gradient clips, weight decay, and the updates.

        What happens to the gradients between the halves is the caller's. The updates are appended
        to the current block, so that they may stand in a ConditionalBlock.

        Args:
            params_grads: Each parameter with its gradient, or None.
            startup_program: Initializes the optimizer's state; None for the default one.

        Returns:
            As minimize.

        Raises:
            core.InvalidArgument: No parameter has a gradient.
        """
        grad = some_gradient(params_grads)
        with changing(grad, startup_program) as startup:
            clipped = append_gradient_clip_ops(params_grads)
            decayed = append_regularization_ops(clipped, self.regularization)
            self._begin_updates(grad, startup)
            return self._append_updates(decayed), decayed

    def _begin_updates(self, grad: Variable, startup: Program) -> None:
        block = grad.block.program.current_block()
        self._startup, self._shared, self._block = startup, {}, block
        self._accumulators = {}

    def _append_updates(self, params_grads: ParamsGrads) -> list[Operator]:
        pairs = [(param, grad) for param, grad in params_grads if grad is not None]
        if self._reads_rate and not isinstance(self.learning_rate, Variable):
            self._shared_state("learning_rate", pairs[0][0], self.learning_rate)  # before all state
        updates = [self._append_update(param, grad) for param, grad in pairs]
        updates += self._finish_update(pairs)
        step = self.global_step
        if step is not None:
            block = self._updates_block()
            updates.append(block.append_op("increment", {"X": step}, {"Out": step}, {"step": 1.0}))
        return updates

    def _append_update(self, param: Parameter, grad: Variable) -> Operator:
        raise NotImplementedError

    def _finish_update(self, pairs: list[tuple[Parameter, Variable]]) -> list[Operator]:
        """Appends what is done once after all parameters."""
        del pairs
        return []

    def _updates_block(self) -> Block:
        assert self._block is not None
        return self._block

    def _append_rule(
        self,
        op_type: str,
        param: Parameter,
        grad: Variable,
        state: Mapping[str, Variable] | None = None,
        attrs: Mapping[str, Any] | None = None,
        scalars: Mapping[str, Variable] | None = None,
    ) -> Operator:
        """Appends the operator that updates `param` and its state in place.

        Args:
            op_type: Of the operator.
            param: The parameter.
            grad: Its gradient.
            state: Input slot -> variable, in the order of the operator's outputs after ParamOut.
            attrs: Attributes.
            scalars: What it reads beside the gradient: None for the learning rate alone.
        """
        state = state or {}
        if scalars is None:
            scalars = {"LearningRate": self._learning_rate(param)}
        outputs = [slot.name for slot in core.op_def(op_type).outputs]
        return self._updates_block().append_op(
            op_type,
            {"Param": param, "Grad": grad, **scalars, **state},
            dict(zip(outputs, (param, *state.values()), strict=True)),
            attrs,
        )

    def _state(
        self, name: str, like: Variable, value: float, shape: Iterable[int], dtype: str
    ) -> Variable:
        """A new variable that lives between runs and starts as `value`."""
        block = like.block.program.global_block()
        assert self._startup is not None
        variable = block.create_var(
            block.unique_name(name),
            shape=shape,
            dtype=dtype,
            persistable=True,
            stop_gradient=True,
        )
        initialize(self._startup, variable, Constant(value))
        return variable

    def _accumulator(self, name: str, param: Parameter, value: float = 0.0) -> Variable:
        made = self._state(f"{param.name}_{name}", param, value, param.shape, param.dtype)
        self._accumulators.setdefault(name, {})[param.name] = made
        return made

    def _shared_state(self, name: str, like: Variable, value: float) -> Variable:
        """State [1] that all parameters of one minimize and of one element type share.

        Float32 for parameters of 16 bits: 0.999 is 1 in bfloat16.
        """
        dtype = _scalar_dtype(like.dtype)
        key = (name, dtype)
        found = self._shared.get(key)
        if found is None:
            prefix = f"{self.name}_{name}" if self.name else name
            found = self._shared[key] = self._state(prefix, like, value, [1], dtype)
        return found

    def _learning_rate(self, param: Parameter) -> Variable:
        """The learning rate of one parameter, of its element type, float32 for 16 bits."""
        rate = self.learning_rate
        if not isinstance(rate, Variable):
            rate = self._shared_state("learning_rate", param, rate)
        elif rate.dtype != _scalar_dtype(param.dtype):
            rate = self._cast_rate(rate, param)
        factor = param.optimize_attr.get("learning_rate", 1.0)
        if isinstance(factor, Variable):
            return rate * factor
        if factor == 1.0:
            return rate
        return self._updates_block().append_single(
            "scale", {"X": rate}, {"scale": float(factor)}, key=f"{param.name}.learning_rate"
        )

    def _cast_rate(self, rate: Variable, param: Parameter) -> Variable:
        if rate.dtype not in FLOATING:
            raise core.InvalidArgument(
                f"{self.type}: the learning rate must be floating, got {rate!r}"
            )
        attrs = {
            "in_dtype": dtype_number(rate.dtype),
            "out_dtype": dtype_number(_scalar_dtype(param.dtype)),
        }
        return self._updates_block().append_single(
            "cast", {"X": rate}, attrs, key=f"{param.name}.learning_rate"
        )


def _scalar_dtype(dtype: str) -> str:
    """What the learning rate and powers of betas are for parameters of an element type."""
    return "float32" if dtype in HALF else dtype
