"""Gradients proven against numerical differentiation.

get_numerical_gradient differentiates a forward operator by central differences, check_grad compares
it with what the gradient operators calculate, and grad_table does so for a whole training program.
"""

from fluidcore.gradcheck.check import check_grad
from fluidcore.gradcheck.compare import GradientError, WorstElement, worst_element
from fluidcore.gradcheck.numerical import get_numerical_gradient
from fluidcore.gradcheck.table import GradRow, grad_table

__all__ = [
    "GradRow",
    "GradientError",
    "WorstElement",
    "check_grad",
    "get_numerical_gradient",
    "grad_table",
    "worst_element",
]
