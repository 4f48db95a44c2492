"""Gradients proven against numerical differentiation.

    from fluidcore.gradcheck import check

    def test_tanh():
        check(np.tanh, np.linspace(-2, 2, 5), vjp=lambda x, v: v * (1 - np.tanh(x) ** 2))

check takes functions of NumPy, PyTorch, JAX and MLX; GradientChecker also operators and programs
of fluidcore; check_grad and OpTest are for tests of operators. docs/gradient_checking.md says how
it is done.
"""

from fluidcore.gradcheck.api import check
from fluidcore.gradcheck.checker import GradientChecker
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.fixed_step.grad_table import GradRow, grad_table
from fluidcore.gradcheck.fixed_step.numerical import get_numerical_gradient
from fluidcore.gradcheck.op_test_case import OpTest
from fluidcore.gradcheck.operator_check import check_grad
from fluidcore.gradcheck.report.result import GradCheckReport, GradCheckResult, GradientError
from fluidcore.gradcheck.verdict import Reason, Verdict

__all__ = [
    "GradCheckConfig",
    "GradCheckReport",
    "GradCheckResult",
    "GradRow",
    "GradientChecker",
    "GradientError",
    "OpTest",
    "Reason",
    "Verdict",
    "check",
    "check_grad",
    "get_numerical_gradient",
    "grad_table",
]
