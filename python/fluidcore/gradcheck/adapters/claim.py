"""Where the gradient of a function comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


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
    """

    vjp: Callable[..., Any] | None = None
    jvp: Callable[..., Any] | None = None
    value_and_grad: bool = False
