"""The base class of unittest tests."""

import unittest
from typing import Any

import numpy as np
import pytest

from fluidcore import core
from fluidcore.gradcheck.adapters.network_target import NetworkTarget
from fluidcore.gradcheck.op_test_case import OpTest
from fluidcore.gradcheck.verdict import Verdict

TANH = core.OpDesc("tanh", {"X": ["x"]}, {"Out": ["y"]}, {})
VALUES = {"x": np.array([0.5, -1.0, 2.0], dtype=np.float32)}


class TestTanh(OpTest):
    def test_gradient(self) -> None:
        report = self.check_grad(TANH, VALUES, ["x"], "y")
        assert report.verdict is Verdict.PASS

    def test_gradient_within_a_tolerance(self) -> None:
        self.check_grad(TANH, VALUES, ["x"], "y", max_relative_error=0.005)

    def test_gradient_on_the_cpu_with_constants(self) -> None:
        mul = core.OpDesc("mul", {"X": ["x"], "Y": ["w"]}, {"Out": ["y"]}, {})
        values = {"x": np.ones((2, 3)), "w": np.ones((3, 2))}
        self.check_grad(mul, values, ["x"], "y", no_grad_set={"w"}, only_cpu=True)


def test_a_wrong_gradient_is_a_failure_not_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    right = NetworkTarget.vjp

    def wrong(self: Any, xs: Any, vs: Any, dtype: str) -> list[Any]:
        return [2 * gradient for gradient in right(self, xs, vs, dtype)]

    monkeypatch.setattr(NetworkTarget, "vjp", wrong)
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(TestTanh).run(result)
    assert len(result.failures) == 3
    assert not result.errors
    assert "tanh" in result.failures[0][1]
