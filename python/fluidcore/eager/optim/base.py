"""What the optimizers of eager tensors share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.base.checks import check_number
from fluidcore.base.dtypes import HALF
from fluidcore.eager.apply import apply
from fluidcore.eager.state import no_grad
from fluidcore.eager.state_dict import fitting
from fluidcore.eager.tensor import Tensor


class Optimizer:
    """The base of optimizers: parameters, a learning rate, and state for each parameter.

    Attributes:
        parameters: As given.
        lr: The learning rate; another one may be set between two steps.

    Args:
        parameters: Leaves, as `module.parameters()` gives them; each once.
        lr: The learning rate, at least 0.
        weight_decay: Times the parameter it is added to its gradient; at least 0.
    """

    op_type: str
    _slots: tuple[str, ...] = ()  # of the operator's state, zeros at first

    def __init__(self, parameters: Iterable[Tensor], lr: float, weight_decay: float = 0.0) -> None:
        self._who = type(self).__name__
        self.parameters = _checked(self._who, parameters)
        self.lr = self._not_negative("lr", lr)
        self.weight_decay = self._not_negative("weight_decay", weight_decay)
        self._steps = [0] * len(self.parameters)  # that each parameter has taken
        self._states = [self._first_state(parameter) for parameter in self.parameters]

    def step(self) -> None:
        """Updates every parameter that has a gradient; the others stay, with their state.

        What was calculated before keeps the old values, also for its gradients.

        Raises:
            core.InvalidArgument: No parameter has a gradient.
        """
        if all(parameter.grad is None for parameter in self.parameters):
            raise core.InvalidArgument(
                f"{self._who}: a step needs gradients, got none for any of "
                f"{len(self.parameters)} parameters; call loss.backward() first"
            )
        scalars: dict[tuple[int, str], dict[str, Tensor]] = {}
        with no_grad():
            for index, parameter in enumerate(self.parameters):
                if parameter.grad is not None:
                    self._steps[index] += 1
                    key = (self._steps[index], _wide(parameter.dtype))
                    if key not in scalars:
                        scalars[key] = self._scalars(*key)
                    self._update(parameter, parameter.grad, self._states[index], scalars[key])

    def zero_grad(self) -> None:
        """Forgets the gradients of all parameters."""
        for parameter in self.parameters:
            parameter.zero_grad()

    def state_dict(self) -> dict[str, Tensor]:
        """What the next step depends on beside the parameters, for `eager.save`.

        "lr", and for parameter i "i.step" and its state: {"lr": ..., "0.step": ...,
        "0.moment1": ...}.
        """
        found = {"lr": Tensor(np.float64(self.lr))}
        for index, (steps, state) in enumerate(zip(self._steps, self._states, strict=True)):
            found[f"{index}.step"] = Tensor(steps)
            found |= {f"{index}.{slot.lower()}": value for slot, value in state.items()}
        return found

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Goes on where another optimizer of the same kind and parameters was.

        Args:
            state_dict: What `state_dict` or `eager.load` gave.

        Raises:
            core.InvalidArgument: A name or a shape does not fit; nothing is changed.
        """
        who = f"{self._who} of {len(self.parameters)} parameters"
        found, _ = fitting(who, self.state_dict(), state_dict, strict=True)
        self.lr = float(found["lr"].item())
        for index, state in enumerate(self._states):
            self._steps[index] = int(found[f"{index}.step"].item())
            for slot, value in state.items():
                state[slot] = Tensor(found[f"{index}.{slot.lower()}"], dtype=value.dtype)

    def _attrs(self) -> dict[str, Any]:
        """Of the operator."""
        return {}

    def _scalars(self, steps: int, dtype: str) -> dict[str, Tensor]:
        """What the operator reads beside the gradient and the state, in the step of this number."""
        del steps
        return {"LearningRate": Tensor([self.lr], dtype)}

    def _decayed(self, parameter: Tensor, grad: Tensor) -> Tensor:
        """The gradient with the decay of weights."""
        return grad + self.weight_decay * parameter if self.weight_decay else grad

    def _update(
        self,
        parameter: Tensor,
        grad: Tensor,
        state: dict[str, Tensor],
        scalars: Mapping[str, Tensor],
    ) -> None:
        inputs = {"Param": parameter, "Grad": self._decayed(parameter, grad), **state, **scalars}
        results = apply(self.op_type, inputs, self._attrs())
        parameter.array = results["ParamOut"].array
        for slot in state:
            state[slot] = results[f"{slot}Out"]

    def _first_state(self, parameter: Tensor) -> dict[str, Tensor]:
        dtype = _wide(parameter.dtype)
        return {slot: Tensor.zeros(parameter.shape, dtype) for slot in self._slots}

    def _not_negative(self, argument: str, value: Any) -> float:
        number = check_number(f"{self._who}: {argument}", value)
        if number < 0:
            raise ValueError(f"{self._who}: {argument} must be at least 0, got {value}")
        return number

    def _share(self, argument: str, value: Any) -> float:
        number = check_number(f"{self._who}: {argument}", value)
        if not 0 <= number < 1:
            raise ValueError(f"{self._who}: {argument} must be in [0, 1), got {value}")
        return number

    def __repr__(self) -> str:
        return f"{self._who}({len(self.parameters)} parameters, lr={self.lr})"


def _wide(dtype: str) -> str:
    """What learning rates and state are for parameters of an element type."""
    return "float32" if dtype in HALF else dtype


def tensors(who: str, parameters: Any) -> list[Tensor]:
    """The parameters as a list; TypeError if one is no Tensor."""
    given = list(parameters) if isinstance(parameters, Iterable) else [parameters]
    for parameter in given:
        if not isinstance(parameter, Tensor):
            raise TypeError(
                f"{who}: parameters must be Tensors, as module.parameters() gives them, got "
                f"{type(parameter).__name__}"
            )
    return given


def _checked(who: str, parameters: Any) -> list[Tensor]:
    if isinstance(parameters, Tensor):
        raise TypeError(f"{who}: parameters must be a list of Tensors, got a Tensor; write [x]")
    found = tensors(who, parameters)
    if not found:
        raise core.InvalidArgument(f"{who}: there must be a parameter to learn, got an empty list")
    for parameter in found:
        if not parameter.is_leaf:
            raise core.InvalidArgument(
                f"{who}: parameters must be leaves, got {parameter!r}; the results of operators "
                "cannot be learnt"
            )
    if len({id(parameter) for parameter in found}) < len(found):
        raise core.InvalidArgument(f"{who}: each parameter must be there once, got one twice")
    return found
