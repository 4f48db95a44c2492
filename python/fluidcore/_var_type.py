"""Fluid's element types and kinds of variables, and its types of attributes."""

from __future__ import annotations

from enum import IntEnum, StrEnum


class VarType(StrEnum):
    """`core.VarDesc.VarType`: the names that this package has for them, with Fluid's numbers.

    So `x.dtype == VarType.FP32` for a dtype "float32", and `op.attr("dtype") == VarType.FP32` for
    the number 5 that attributes hold. Those from LOD_TENSOR on are kinds of variables.
    """

    number: int

    def __new__(cls, name: str, number: int) -> VarType:
        """A member by its name here and Fluid's number."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.number = number
        return member

    BOOL = ("bool", 0)
    INT16 = ("int16", 1)
    INT32 = ("int32", 2)
    INT64 = ("int64", 3)
    FP16 = ("float16", 4)
    FP32 = ("float32", 5)
    FP64 = ("float64", 6)
    LOD_TENSOR = ("lod_tensor", 7)
    SELECTED_ROWS = ("selected_rows", 8)
    FEED_MINIBATCH = ("feed_minibatch", 9)
    FETCH_LIST = ("fetch_list", 10)
    STEP_SCOPES = ("step_scopes", 11)
    LOD_RANK_TABLE = ("lod_rank_table", 12)
    LOD_TENSOR_ARRAY = ("lod_tensor_array", 13)
    PLACE_LIST = ("place_list", 14)

    @classmethod
    def _missing_(cls, value: object) -> VarType | None:
        """A member by Fluid's number, as `VarType(op.attr("dtype"))`."""
        return next((kind for kind in cls if kind.number == value), None)

    def __eq__(self, other: object) -> bool:
        return self.number == other if isinstance(other, int) else str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __int__(self) -> int:
        return self.number


class AttrType(IntEnum):
    """`core.AttrType`: the types of attributes, with Fluid's numbers."""

    INT = 0
    FLOAT = 1
    STRING = 2
    INTS = 3
    FLOATS = 4
    STRINGS = 5
    BOOLEAN = 6
    BOOLEANS = 7
    BLOCK = 8


_ATTR_TYPES = {bool: "BOOLEAN", int: "INT", float: "FLOAT", str: "STRING"}


def attr_type(value: object) -> AttrType:
    """The type of the value of an attribute; of an empty list, which does not tell, INTS."""
    if isinstance(value, list):
        name = _ATTR_TYPES[type(value[0])] + "S" if value else "INTS"
    else:
        name = _ATTR_TYPES.get(type(value), "BLOCK")
    return AttrType[name]
