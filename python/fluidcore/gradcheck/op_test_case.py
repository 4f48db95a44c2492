"""OpTest: tests of operators in the style of unittest."""

from __future__ import annotations

import unittest

from fluidcore.gradcheck.operator_check import check_grad


class OpTest(unittest.TestCase):
    """Base of tests of operators: `self.check_grad` is `check_grad`, and fails the test.

    Example:
        class TestTanh(OpTest):
            def test_gradient(self):
                op = core.OpDesc("tanh", {"X": ["x"]}, {"Out": ["y"]}, {})
                self.check_grad(op, {"x": np.array([0.5, -1.0])}, ["x"], "y")
    """

    check_grad = staticmethod(check_grad)
