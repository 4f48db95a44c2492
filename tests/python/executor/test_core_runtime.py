"""What fluidcore.core's runtime refuses, whoever calls it."""

import pytest

from fluidcore import core


def test_a_run_needs_a_scope() -> None:
    with pytest.raises(TypeError, match="incompatible function arguments"):
        core.Executor(core.CPUPlace()).run(core.ProgramDesc(), {}, [], None)  # type: ignore[arg-type]


def test_a_tensor_has_no_levels_of_sequences() -> None:
    tensor = core.Tensor()
    assert tensor.lod() == []
    tensor.set_lod([])
    message = (
        r"set_lod: lod must be \[\], as fluidcore has no sequences yet, got \[\[0, 2, 5\]\]; "
        "pad the sequences to one length and feed their lengths"
    )
    with pytest.raises(core.InvalidArgument, match=message):
        tensor.set_lod([[0, 2, 5]])
