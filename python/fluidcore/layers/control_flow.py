"""Control flow under one name: loops, branches, recurrent networks, tensor arrays, comparisons."""

from fluidcore.layers.arrays import array_length, array_read, array_write, create_array
from fluidcore.layers.branches import case, cond, switch_case
from fluidcore.layers.conditional_block import ConditionalBlock, Switch
from fluidcore.layers.if_else import IfElse
from fluidcore.layers.logic import (
    equal,
    greater_equal,
    greater_than,
    is_empty,
    less_equal,
    less_than,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    not_equal,
)
from fluidcore.layers.loops import While, while_loop
from fluidcore.layers.masked_rows import merge_lod_tensor, split_lod_tensor
from fluidcore.layers.static_rnn import StaticRNN

__all__ = [
    "ConditionalBlock",
    "IfElse",
    "StaticRNN",
    "Switch",
    "While",
    "array_length",
    "array_read",
    "array_write",
    "case",
    "cond",
    "create_array",
    "equal",
    "greater_equal",
    "greater_than",
    "is_empty",
    "less_equal",
    "less_than",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "merge_lod_tensor",
    "not_equal",
    "split_lod_tensor",
    "switch_case",
    "while_loop",
]
