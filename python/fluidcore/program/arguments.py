"""What users put into the slots of an operator, turned into names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fluidcore import core
from fluidcore.base.checks import check_list, check_name
from fluidcore.program.variable import Variable

if TYPE_CHECKING:
    from fluidcore.program.program import Program

Argument = Variable | str | Sequence[Variable | str] | None


def names_by_slot(
    program: Program, op_type: str, slots: Mapping[str, Argument] | None
) -> dict[str, list[str]]:
    """The names of the variables in each slot; slots that are None are left out.

    Raises:
        core.InvalidArgument: A Variable belongs to another program.
        TypeError: Something is neither a Variable nor a name.
    """
    if not slots:
        return {}
    if not isinstance(slots, Mapping):
        raise TypeError(
            f"{op_type}: inputs and outputs must map slots to Variables, "
            f"got {type(slots).__name__} {slots!r}"
        )
    return {
        slot: [_name(program, op_type, slot, item) for item in value]
        if isinstance(value, (list, tuple))
        else [_name(program, op_type, slot, value)]
        for slot, value in slots.items()
        if value is not None
    }


def variable_names(what: str, items: object, program: Program) -> list[str]:
    """The names of a list of Variables or names.

    Args:
        what: What the list is, for errors.
        items: Names, and Variables of the program or of one that it is a copy of.
        program: Where the names are looked up.

    Raises:
        core.InvalidArgument: A Variable belongs to another program.
        TypeError: Something is neither a Variable nor a name.
    """
    if isinstance(items, (str, Variable)):
        raise TypeError(f"{what} must be a list or a set, got {items!r}")
    names = []
    for item in check_list(what, items):
        if isinstance(item, Variable):
            check_owner(what, item, program)
        elif not isinstance(item, str):
            raise TypeError(f"{what} must hold Variables or names, got {type(item).__name__}")
        names.append(item if isinstance(item, str) else item.name)
    return names


def check_owner(what: str, variable: Variable, program: Program) -> None:
    """Raises unless a Variable belongs to the program, or to one that this is a copy of."""
    if not program.is_copy_of(variable.block.program):
        name = variable.name
        raise core.InvalidArgument(
            f"{what}: the Variables must belong to the program or to one that it is a clone of, "
            f"got '{name}' of another one; write '{name}' if the variable of this name is meant"
        )


def _name(program: Program, op_type: str, slot: str, value: Any) -> str:
    if isinstance(value, Variable):
        if value.block.program is not program:
            raise core.InvalidArgument(
                f"{op_type}: the variables of slot '{slot}' must belong to this program, "
                f"got '{value.name}' of another one"
            )
        return value.name
    if isinstance(value, str):
        return check_name(f"{op_type}: a name in slot '{slot}'", value)
    raise TypeError(
        f"{op_type}: slot '{slot}' must be given Variables or names, "
        f"got {type(value).__name__} {value!r}"
    )
