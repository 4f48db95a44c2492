"""Where the gradient of a function comes from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fluidcore.gradcheck.adapters import arguments
from fluidcore.gradcheck.adapters.arguments import IsTensor


@dataclass(frozen=True)
class Claim:
    """Where the gradient comes from: from the framework, unless the user says how.

    Attributes:
        vjp: vjp(*args, *vs) returns the gradients, vs being a cotangent for each floating output:
            an array if one input is differentiated by, else a tuple with an entry for each
            argument or for each input that is differentiated by. None stands for zeros.
        jvp: jvp(*args, *us) returns the derivative of the outputs along us, a direction for each
            input.
        value_and_grad: f returns (value, gradients) of one number, and no vjp is needed.
        second_vjp: second_vjp(*args, *vs, *us) returns the gradients of Σ u·vjp(*args, *vs), us
            being an array for each input that is differentiated by; in the form of vjp.
    """

    vjp: Callable[..., Any] | None = None
    jvp: Callable[..., Any] | None = None
    value_and_grad: bool = False
    second_vjp: Callable[..., Any] | None = None


def matched(
    grads: Sequence[Any], args: tuple[Any, ...], is_tensor: IsTensor, chosen: Sequence[int]
) -> list[Any] | None:
    """The gradient by each input, of gradients by arguments or by inputs; None if neither fits.

    Args:
        grads: What the user's gradient has returned.
        args: Of f.
        is_tensor: Tells which leaves of `args` are tensors.
        chosen: Which of the tensors are inputs.
    """
    if len(grads) == len(args):
        try:
            found = list(arguments.parallel(args, tuple(grads), is_tensor))
        except ValueError:
            return None
        return [found[i] for i in chosen]
    return list(grads) if len(grads) == len(chosen) else None
