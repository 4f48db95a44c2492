"""Fluid's numbers of element types and kinds of variables."""

from enum import IntEnum


class VarType(IntEnum):
    """`core.VarDesc.VarType`: where a dtype is asked for, those of element types are taken."""

    BOOL = 0
    INT16 = 1
    INT32 = 2
    INT64 = 3
    FP16 = 4
    FP32 = 5
    FP64 = 6
    LOD_TENSOR = 7
    SELECTED_ROWS = 8
    FEED_MINIBATCH = 9
    FETCH_LIST = 10
    STEP_SCOPES = 11
    LOD_RANK_TABLE = 12
    LOD_TENSOR_ARRAY = 13
