"""Members that Fluid's objects of C++ had beside those that are needed here."""

from __future__ import annotations

import numpy as np

from fluidcore._core import BlockDesc, OpDesc, Variable, op_def
from fluidcore._var_type import AttrType, attr_type

MEMBERS = (
    *("attr_type", "check_attrs", "infer_var_type", "input_names", "output_names"),
    *("get_int", "is_int", "set_float", "set_int"),
)


def add_members() -> None:
    """Gives the members to the classes."""
    OpDesc.attr_type = _attr_type  # type: ignore[attr-defined]
    OpDesc.check_attrs = _check_attrs  # type: ignore[attr-defined]
    OpDesc.infer_var_type = _infer_var_type  # type: ignore[attr-defined]
    OpDesc.input_names = lambda op: list(op.inputs())  # type: ignore[attr-defined]
    OpDesc.output_names = lambda op: list(op.outputs())  # type: ignore[attr-defined]
    Variable.set_int = _set_int  # type: ignore[attr-defined]
    Variable.set_float = _set_float  # type: ignore[attr-defined]
    Variable.is_int = _is_int  # type: ignore[attr-defined]
    Variable.get_int = _get_int  # type: ignore[attr-defined]


def _attr_type(op: OpDesc, name: str) -> AttrType:
    """The type of an attribute; an error if there is none of this name."""
    return attr_type(op.attr(name))


def _check_attrs(op: OpDesc) -> None:
    """Gives the attributes that were left out their defaults.

    Raises:
        NotFound: There is no such operator.
    """
    for attr in op_def(op.type()).attrs:
        if not (attr.required or op.has_attr(attr.name)):
            op.set_attr(attr.name, attr.default)


def _infer_var_type(op: OpDesc, block: BlockDesc) -> None:
    """Does nothing: infer_shape gives the outputs their kinds, too."""
    del op, block


def _set_int(variable: Variable, value: int) -> None:
    """Makes a variable of a scope one whole number: a tensor of int32 []."""
    variable.get_tensor().set(np.array(value, np.int32))


def _set_float(variable: Variable, value: float) -> None:
    """Makes a variable of a scope one number: a tensor of float32 []."""
    variable.get_tensor().set(np.array(value, np.float32))


def _is_int(variable: Variable) -> bool:
    """Whether a variable of a scope is one whole number, int32 []."""
    tensor = variable.get_tensor()
    return tensor.is_initialized() and tensor.dtype() == "int32" and not tensor.shape()


def _get_int(variable: Variable) -> int:
    """The whole number that a variable of a scope is.

    Raises:
        TypeError: It is none.
    """
    if not _is_int(variable):
        raise TypeError(
            f"get_int: the variable must be one int32, as set_int makes it, got "
            f"{variable.get_tensor()!r}"
        )
    return int(np.asarray(variable.get_tensor()))
