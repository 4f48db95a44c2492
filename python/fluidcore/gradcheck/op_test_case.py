"""OpTest: tests of operators in the style of unittest."""

from __future__ import annotations

import unittest
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.operator_check import check_grad
from fluidcore.gradcheck.program.source import Source
from fluidcore.gradcheck.report.result import GradCheckReport


class OpTest(unittest.TestCase):
    """Base of tests of operators.

    class TestTanh(OpTest):
        def test_gradient(self):
            op = core.OpDesc("tanh", {"X": ["x"]}, {"Out": ["y"]})
            self.check_grad(op, {"x": np.array([0.5, -1.0])}, ["x"], "y")
    """

    def check_grad(
        self,
        forward_op: Source,
        input_vars: Mapping[str, Any],
        inputs_to_check: Sequence[str],
        output_name: str,
        no_grad_set: Iterable[str] | None = None,
        only_cpu: bool = False,
        max_relative_error: float | None = None,
        *,
        config: GradCheckConfig | None = None,
    ) -> GradCheckReport:
        """Fails the test unless the gradient is right; arguments as of `check_grad`."""
        return check_grad(
            forward_op,
            input_vars,
            inputs_to_check,
            output_name,
            no_grad_set,
            only_cpu,
            max_relative_error,
            config=config,
        )
