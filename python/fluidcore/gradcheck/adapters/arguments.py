"""Tensors among the arguments of a function: their names, and others in their place."""

from __future__ import annotations

import contextlib
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from fluidcore import core
from fluidcore.gradcheck.target.precision import UNIT
from fluidcore.gradcheck.target.target import Input

_SHOWN = 4  # of a sequence in a message

IsTensor: TypeAlias = Callable[[Any], bool]


def argument_names(function: Any, count: int) -> list[str]:
    """What `function` calls its first arguments; "x0", "x1" … where it has no names for them."""
    parameters: list[inspect.Parameter] = []
    if not inspect.isbuiltin(function) or getattr(function, "__text_signature__", None):
        with contextlib.suppress(TypeError, ValueError):
            parameters = list(inspect.signature(function).parameters.values())
    names: list[str] = []
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}[{i}]" for i in range(count - len(names))]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
    names += [f"x{i}" for i in range(len(names), count)]
    return names[:count]


def check_call(who: str, what: str, function: Any, count: int, given: str) -> None:
    """Raises TypeError if a Python function cannot be called with `count` arguments in a row.

    Args:
        who: What the message starts with.
        what: "f", "vjp" or "jvp".
        function: Others than plain functions and methods are not looked at.
        count: How many arguments there will be.
        given: What they are.
    """
    if not (inspect.isfunction(function) or inspect.ismethod(function)):
        return
    try:
        signature = inspect.signature(function)
    except ValueError:  # it wraps one that has none
        return
    try:
        signature.bind(*([None] * count))
    except TypeError as error:
        plain = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
        shown = inspect.Signature(plain)
        arguments = "argument" if count == 1 else "arguments"
        raise TypeError(
            f"{who}: {what} must take {count} positional {arguments} ({given}), got "
            f"{what}{shown}: {error}; wrap it in a lambda"
        ) from None


def leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """What is in a tree of lists, tuples and dicts, named like "params['w'][0]".

    Without a name, the keys of a dict are the names.
    """
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from leaves(item, f"{name}[{key!r}]" if name else str(key))
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from leaves(item, f"{name}[{i}]")
    else:
        yield name, value


def replaced(value: Any, is_tensor: IsTensor, tensors: Iterator[Any]) -> Any:
    """The same tree with the next of `tensors` in the place of each tensor."""
    if isinstance(value, dict):
        items = {key: replaced(item, is_tensor, tensors) for key, item in value.items()}
        return items if type(value) is dict else type(value)(items)
    if isinstance(value, (list, tuple)):
        parts = [replaced(item, is_tensor, tensors) for item in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return next(tensors) if is_tensor(value) else value


def parallel(value: Any, other: Any, is_tensor: IsTensor) -> Iterator[Any]:
    """For each tensor of `value` what `other`, a tree of the same form, has in its place.

    None stands for a whole subtree of None. Raises ValueError where the forms differ.
    """
    if isinstance(value, Mapping):
        if other is not None and not isinstance(other, Mapping):
            raise ValueError("a dict is missing")
        for key, item in value.items():
            yield from parallel(item, None if other is None else other.get(key), is_tensor)
    elif isinstance(value, (list, tuple)):
        if isinstance(other, (list, tuple)):
            if len(other) != len(value):
                raise ValueError(f"a sequence of {len(value)} is missing")
        elif other is not None:
            raise ValueError(f"a sequence of {len(value)} is missing")
        for i, item in enumerate(value):
            yield from parallel(item, None if other is None else other[i], is_tensor)
    elif is_tensor(value):
        yield other


def narrowest_dtype(who: str, kind: str, inputs: Sequence[Input], args: Any, cure: str) -> str:
    """The dtype of the inputs, the one with the fewest digits if they differ.

    Args:
        who: What messages start with.
        kind: What an input is: "NumPy array".
        inputs: What is differentiated by.
        args: Of the function.
        cure: What to do about an argument of another kind.

    Raises:
        core.InvalidArgument: There is no input.
    """
    if not inputs:
        raise core.InvalidArgument(
            f"{who}: must have a floating {kind} among its arguments, got "
            f"{described(tuple(args))}; {cure}"
        )
    return max((put.value.dtype.name for put in inputs), key=lambda name: UNIT[name])


def described(value: Any) -> str:
    """A value as messages show it: "float32 [2, 3]", "a str", "(float32 [2], None)"."""
    if isinstance(value, Mapping):
        items = [f"{key!r}: {described(value[key])}" for key in itertools.islice(value, _SHOWN)]
        return "{" + _joined(items, len(value)) + "}"
    if isinstance(value, (list, tuple)):
        return "(" + _joined([described(item) for item in value[:_SHOWN]], len(value)) + ")"
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if isinstance(shape, Sequence) and dtype is not None:
        return f"{str(dtype).rpartition('.')[2]} {list(shape)}"
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _joined(items: Sequence[str], count: int) -> str:
    more = [f"... {count - len(items)} more"] if count > len(items) else []
    return ", ".join([*items, *more])
