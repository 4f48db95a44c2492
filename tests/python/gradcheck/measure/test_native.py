"""What the core says of bad arguments; nothing of it may end the process."""

import numpy as np
import pytest
from targets import target_of

from fluidcore import core
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.measure.native import native_formula
from fluidcore.gradcheck.measure.noise import Noise
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.pipeline.kernel import KernelTests


def session_of(dtype: str = "float64") -> Session:
    return Session(target_of("tanh", dtype), GradCheckConfig(cotangents=1))


def test_of_rows_all_elements_are_wanted() -> None:
    session = session_of()
    formula = native_formula(session, Noise(None, [], False, ""))
    with pytest.raises(core.InvalidArgument, match="of rows all elements must be looked at"):
        formula.check_elements(
            0, np.arange(2), rows=2, direction=lambda: np.ones(2), claimed=np.ones((1, 2))
        )


def test_noise_has_a_number_for_each_output() -> None:
    session = session_of()
    arguments = [[session.cotangent(0)], session.outputs, session.rules]
    noise = core.NoiseLevel().at_least(np.ones(1))
    with pytest.raises(core.InvalidArgument, match="noise must have"):
        core.Formula(session.function, None, *arguments, alone=False, noise=noise)


def test_a_function_has_an_input() -> None:
    nothing = core.CallableFunction(lambda xs: [np.ones(1)], [])
    with pytest.raises(core.InvalidArgument, match="f must have an input"):
        core.Formula(nothing, None, [[np.ones(1)]], [np.ones(1)], core.Rules(), alone=False)


def test_a_kernel_has_elements() -> None:
    test, nothing = KernelTests(session_of("float32")).of(1), np.zeros(0)
    with pytest.raises(core.InvalidArgument, match="there must be an element"):
        test.check(0, nothing.astype(np.int64), nothing, nothing, core.Rules(), None)


def test_a_kernel_is_proven_as_a_whole() -> None:
    test = KernelTests(session_of("float32")).of(1)
    with pytest.raises(core.InvalidArgument, match=r"must have \d+ elements, got 0"):
        test.prove(0, np.zeros(0), np.zeros(0), core.Rules())
