"""The functions of a custom operator, and which variables their parameters are."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fluidcore import core

Function = Callable[..., Any]


def parameter_name(name: str) -> str:
    """Of a slot or an attribute: "X" is x, "lambda" is lambda_."""
    return f"{name}_" if keyword.iskeyword(name) else name


def slot_parameters(slots: Sequence[str]) -> dict[str, str]:
    """Parameter -> slot."""
    return {parameter_name(slot.lower()): slot for slot in slots}


def gradient_parameters(slots: Sequence[str]) -> dict[str, str]:
    """Parameter -> slot of a gradient: "dx" is "X@GRAD"."""
    return {f"d{slot.lower()}": core.grad_var_name(slot) for slot in slots}


def parameters_of(who: str, function: Function, known: Sequence[str]) -> list[str]:
    """The names of a function's parameters.

    Raises:
        core.InvalidArgument: One is not among `known`, or stands for any number of arguments.
        TypeError: It is no function.
    """
    if not callable(function):
        raise TypeError(f"{who} must be a function, got {type(function).__name__}")
    names = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise core.InvalidArgument(
                f"{who}: each parameter must be one of {', '.join(known)}, got '{parameter}'"
            )
        if parameter.name not in known:
            raise core.InvalidArgument(
                f"{who}: each parameter must be one of {', '.join(known)}, got '{parameter.name}'"
            )
        names.append(parameter.name)
    return names


def called_with(
    who: str, function: Function, parameters: Sequence[str], slots: Mapping[str, str]
) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    """function(...) as function({slot: array}, {attribute: value}).

    Args:
        who: "cube: forward".
        function: What is called.
        parameters: Its parameters.
        slots: Which of them are arrays: parameter -> slot. A slot that is not there is None.
    """
    arrays = [(name, slots[name]) for name in parameters if name in slots]
    attrs = [name for name in parameters if name not in slots]

    def call(values: dict[str, Any], settings: dict[str, Any]) -> None:
        result = function(
            **{name: values.get(slot) for name, slot in arrays},
            **{name: settings[name] for name in attrs},
        )
        if result is not None:
            raise TypeError(
                f"{who} must write into its results, as in out[...] = 2 * x, and return None, got "
                f"{type(result).__name__}"
            )

    return call
