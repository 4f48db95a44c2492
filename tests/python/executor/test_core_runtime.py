"""What fluidcore.core's runtime refuses, whoever calls it."""

import pytest

from fluidcore import core


def test_a_run_needs_a_scope() -> None:
    with pytest.raises(TypeError, match="incompatible function arguments"):
        core.Executor(core.CPUPlace()).run(core.ProgramDesc(), {}, [], None)  # type: ignore[arg-type]
