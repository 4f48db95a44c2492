"""What append_backward and gradients are given, checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from fluidcore import core
from fluidcore.backward.view import is_array
from fluidcore.base.call_site import warn
from fluidcore.base.checks import did_you_mean
from fluidcore.base.dtypes import FLOATING
from fluidcore.program import Block, Program, Variable
from fluidcore.program.arguments import variable_names

Callback = Callable[..., object]
Names = Iterable[Variable | str] | None


def check_loss(loss: Variable) -> None:
    """Raises unless the loss is one floating number of the outermost block."""
    if not isinstance(loss, Variable):
        raise TypeError(f"append_backward: loss must be a Variable, got {type(loss).__name__}")
    if any(extent != 1 for extent in loss.shape):
        raise core.InvalidArgument(
            f"append_backward: the loss must be one number, got '{loss.name}' of shape "
            f"{list(loss.shape)}; reduce it, for example with layers.mean"
        )
    if loss.dtype not in FLOATING:
        raise core.InvalidArgument(
            f"append_backward: the loss must be floating, got '{loss.name}' of {loss.dtype}"
        )
    if loss.block.idx != 0:
        raise core.InvalidArgument(
            "append_backward: the loss must be in the outermost block, "
            f"got '{loss.name}' of block {loss.block.idx}"
        )


def checked_callbacks(callbacks: Any, callback: Any = None) -> Sequence[Callback]:
    """The callbacks, and one more, as a sequence; TypeError if they are no list of functions."""
    if callbacks is None:
        callbacks = []
    if isinstance(callbacks, (list, tuple)) and callback is not None:
        callbacks = [*callbacks, callback]
    if not isinstance(callbacks, (list, tuple)) or not all(callable(c) for c in callbacks):
        raise TypeError(
            f"append_backward: callbacks must be a list of functions, got {callbacks!r}"
        )
    return callbacks


def checked_names(what: str, items: Names, program: Program) -> list[str]:
    """The names of a list of Variables or names of a program; none for None."""
    return [] if items is None else variable_names(f"append_backward: {what}", items, program)


def checked_no_grad_set(items: Names, program: Program) -> set[str]:
    """The names that gradients do not pass; a warning for those that no block has."""
    names = checked_names("no_grad_set", items, program)
    unknown = dict.fromkeys(names)
    for block in program.blocks if names else ():
        unknown = {name: None for name in unknown if not block.has_var(name)}
    if unknown:
        known = list(dict.fromkeys(variable.name for variable in program.list_vars()))
        for name in unknown:
            warn(
                f"append_backward: no_grad_set must name variables of the program, got '{name}', "
                f"which has no effect{did_you_mean(name, known)}"
            )
    return set(names)


def checked_checkpoints(block: Block, items: Names) -> frozenset[str]:
    """The names of the checkpoints, all written by operators of the block."""
    checkpoints = checked_names("checkpoints", items, block.program)
    if checkpoints:
        written = {name for op in block.desc.ops() for name in op.output_arg_names()}
        for name in checkpoints:
            if name not in written:
                raise core.InvalidArgument(
                    f"append_backward: checkpoints must be results of operators of block "
                    f"{block.idx}, got '{name}'"
                )
    return frozenset(checkpoints)


def checked_variables(what: str, items: object) -> list[Variable]:
    """A Variable, or a list of these, as a list."""
    given = [items] if isinstance(items, Variable) else items
    if not isinstance(given, (list, tuple)) or not all(isinstance(v, Variable) for v in given):
        raise TypeError(f"gradients: {what} must be a Variable or a list of these, got {items!r}")
    return list(given)


def source_named(block: Block, name: str) -> Variable:
    """The variable of this name in the outermost block, whose gradient is wanted."""
    found = block.program.global_block().var(name)
    if is_array(block, name) or found.dtype not in FLOATING:
        kind = "a tensor array" if is_array(block, name) else found.dtype
        raise core.InvalidArgument(
            f"append_backward: parameter_list must hold floating variables, got '{name}' of {kind}"
        )
    return found
