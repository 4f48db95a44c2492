"""The values of a state_dict, checked against what they will be the values of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fluidcore import core
from fluidcore.eager.tensor import Tensor


class LoadedKeys(NamedTuple):
    """What `load_state_dict` did without.

    Attributes:
        missing_keys: Names of the module that the state_dict does not have.
        unexpected_keys: Names of the state_dict that the module does not have.
    """

    missing_keys: list[str]
    unexpected_keys: list[str]


def fitting(
    who: str, own: Mapping[str, Tensor], state_dict: Mapping[str, Any], strict: bool, cure: str = ""
) -> tuple[dict[str, Tensor], LoadedKeys]:
    """The values of the names that both have, and the names that only one has.

    Args:
        who: Whose names they must be, for the message.
        own: Name -> a tensor of the shape that the value must have.
        state_dict: Name -> its value, a Tensor or what becomes one.
        strict: Whether the names must be the same.
        cure: What the message says about names that are not.

    Raises:
        core.InvalidArgument: What does not fit, all of it.
        TypeError: The state_dict is no mapping.
    """
    if not isinstance(state_dict, Mapping):
        raise TypeError(
            f"load_state_dict: state_dict must map names to tensors, got "
            f"{type(state_dict).__name__}; eager.load(path) reads one from a file"
        )
    keys = LoadedKeys(
        [name for name in own if name not in state_dict],
        [name for name in state_dict if name not in own],
    )
    found = {
        name: value if isinstance(value, Tensor) else Tensor(value)
        for name, value in state_dict.items()
        if name in own
    }
    names = [f"missing '{name}' {list(own[name].shape)}" for name in keys.missing_keys]
    names += [f"unexpected '{name}' {_form(state_dict[name])}" for name in keys.unexpected_keys]
    problems = [
        *(names if strict else []),
        *(
            f"'{name}' of shape {list(value.shape)} where it must be {list(own[name].shape)}"
            for name, value in found.items()
            if value.shape != own[name].shape
        ),
    ]
    if problems:
        lines = "\n  ".join(problems)
        end = f"\n{cure}" if cure and strict and names else ""
        raise core.InvalidArgument(
            f"load_state_dict: the names and shapes must be those of {who}, got\n  {lines}{end}"
        )
    return found, keys


def _form(value: Any) -> str:
    return str(list(value.shape)) if hasattr(value, "shape") else type(value).__name__
