"""Modules as functions of their input and their parameters, which the gradient checker takes."""

from collections.abc import Callable
from typing import Any

from fluidcore import eager
from fluidcore.eager import Tensor
from fluidcore.gradcheck import check


def function_of_all(module: eager.Module) -> tuple[Callable[..., Any], list[Tensor]]:
    """The function (x, *parameters) -> results, and the parameters as they are now."""
    named = list(module.named_parameters())
    owners = dict(module.named_modules())

    def function(x: Tensor, *parameters: Tensor) -> Any:
        for (path, _), parameter in zip(named, parameters, strict=True):
            owner, _, name = path.rpartition(".")
            setattr(owners[owner], name, parameter)
        return module(x)

    return function, [parameter.detach() for _, parameter in named]


def check_module(module: eager.Module, x: Tensor) -> None:
    """Proves the gradients of a module by its input and by all parameters."""
    function, parameters = function_of_all(module)
    check(function, x, *parameters)


def check_parameters(module: eager.Module, x: Tensor) -> None:
    """As check_module, for an input that has no gradient."""
    function, parameters = function_of_all(module)
    check(lambda *args: function(x, *args), *parameters)
