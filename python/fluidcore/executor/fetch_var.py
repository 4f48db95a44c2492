"""Values of variables in a scope, as Fluid's executor gave them."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.base.checks import check_name
from fluidcore.executor.scopes import Scope, global_scope


def as_numpy(tensor: Any) -> Any:
    """A copy of a Tensor as an array; a list of them as a list."""
    if isinstance(tensor, (list, tuple)):
        return [as_numpy(item) for item in tensor]
    return np.array(tensor)


def fetch_var(name: str, scope: Scope | None = None, return_numpy: bool = True) -> Any:
    """The value of a variable that lives between runs.

    Args:
        name: Of the variable.
        scope: None for the global scope.
        return_numpy: Whether to return a NumPy array, else a Tensor.

    Raises:
        core.NotFound: It has no value in the scope.
    """
    check_name("fetch_var: name", name)
    scope = global_scope() if scope is None else scope
    found = scope.find_var(name)
    if found is None or not found.get_tensor().is_initialized():
        raise core.NotFound(
            f"fetch_var: variable '{name}' must have a value in the scope, got none; "
            "is it persistable, and did the program run?"
        )
    tensor = found.get_tensor()
    return as_numpy(tensor) if return_numpy else tensor
