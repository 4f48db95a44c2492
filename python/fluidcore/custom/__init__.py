"""Operators that are added to a running process: written in Python, or compiled elsewhere."""

from fluidcore.custom.library import load_op_library
from fluidcore.custom.python_op import custom_op
from fluidcore.custom.recorded_layers import Spec

__all__ = ["Spec", "custom_op", "load_op_library"]
