"""The values of a state_dict, checked and set."""

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


def load(
    who: str, own: Mapping[str, Tensor], state_dict: Mapping[str, Any], strict: bool
) -> LoadedKeys:
    """Sets tensors to the values of a state_dict.

    Args:
        who: What the message starts with.
        own: Name -> the tensor that is set.
        state_dict: Name -> its value, a Tensor or what becomes one.
        strict: Whether the names must be the same.

    Raises:
        core.InvalidArgument: What does not fit, all of it; nothing is changed.
        TypeError: The state_dict is no mapping.
    """
    if not isinstance(state_dict, Mapping):
        raise TypeError(
            f"load_state_dict: state_dict must map names to tensors, got "
            f"{type(state_dict).__name__}; eager.load(path) reads one from a file"
        )
    missing = [name for name in own if name not in state_dict]
    unexpected = [name for name in state_dict if name not in own]
    found = {
        name: value if isinstance(value, Tensor) else Tensor(value)
        for name, value in state_dict.items()
        if name in own
    }
    problems = [f"missing '{name}' {_form(own[name])}" for name in missing if strict]
    problems += [f"unexpected '{name}' {_form(state_dict[name])}" for name in unexpected if strict]
    problems += [
        f"'{name}' of shape {list(value.shape)} where it must be {list(own[name].shape)}"
        for name, value in found.items()
        if value.shape != own[name].shape
    ]
    if problems:
        text = "\n  ".join(problems)
        cure = "\nstrict=False goes without names" if strict and (missing or unexpected) else ""
        raise core.InvalidArgument(
            f"load_state_dict: the names and shapes must be those of {who}, got\n  {text}{cure}"
        )
    for name, value in found.items():
        own[name].set_value(value)
    return LoadedKeys(missing, unexpected)


def _form(value: Any) -> str:
    return str(list(value.shape)) if hasattr(value, "shape") else type(value).__name__
