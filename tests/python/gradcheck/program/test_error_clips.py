"""Which clips of gradients are those that variables ask for, and what they clip."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core
from fluidcore.gradcheck.program.error_clips import bypass_clips, clipped_elements, error_clip_of
from fluidcore.gradcheck.program.network import Network


def program(
    reads: str = "h@GRAD",
    writes: str = "h@GRAD",
    op_type: str = "clip",
    low: float = -2.0,
    high: float = 1.0,
    bounds: tuple[float, float] | None = (-2.0, 1.0),
) -> core.ProgramDesc:
    desc = core.ProgramDesc()
    variable = desc.block(0).var("h")
    if bounds is not None:
        variable.set_error_clip(bounds)
    attrs = {"min": low, "max": high}
    op = desc.block(0).append_op()
    op.copy_from(core.OpDesc(op_type, {"X": [reads]}, {"Out": [writes]}, attrs))
    return desc


def is_clip(desc: core.ProgramDesc, block: int = 0) -> bool:
    found = desc.block(block)
    return error_clip_of(desc, found, found.op(0))


@pytest.mark.parametrize("name", ["h@GRAD", "h@GRAD_0", "h@GRAD@VERSION@3", "h@GRAD@VERSION@3_12"])
def test_the_complete_gradient_is_clipped_in_place_to_the_bounds_of_its_variable(name) -> None:
    desc = program(name, name)
    assert is_clip(desc)
    bypass_clips(desc)
    assert desc.block(0).op_size() == 0


@pytest.mark.parametrize(
    "options",
    [
        {"op_type": "scale"},
        {"writes": "g@GRAD"},
        {"reads": "h", "writes": "h"},
        {"reads": "g@GRAD", "writes": "g@GRAD"},
        {"reads": "h@GRAD@RENAME@0", "writes": "h@GRAD@RENAME@0"},
        {"bounds": None},
        {"low": -2.00001},
        {"high": 1.00001},
        {"low": 1.0, "high": -2.0},
        {"bounds": (0.0, 1.0), "low": -1e-9},
    ],
)
def test_any_other_operator_is_no_error_clip(options) -> None:
    desc = program(**options)
    assert not is_clip(desc)
    bypass_clips(desc)
    assert desc.block(0).op_size() == 1


def test_bounds_are_compared_as_numbers_of_float32() -> None:
    assert is_clip(program(low=float(np.float32(-0.1)), high=1.0, bounds=(-0.1, 1.0)))
    assert is_clip(program(low=-2.000001, high=1.0))


@pytest.mark.parametrize("of", [0, 1])
def test_a_gradient_block_clips_variables_of_its_forward_block(of: int) -> None:
    desc = core.ProgramDesc()
    blocks = [desc.append_block(0), desc.append_block(0)]
    blocks[of].var("h").set_error_clip((-2.0, 1.0))
    blocks[1].set_forward_block_idx(blocks[0].id())
    op = blocks[1].append_op()
    attrs = {"min": -2.0, "max": 1.0}
    op.copy_from(core.OpDesc("clip", {"X": ["h@GRAD"]}, {"Out": ["h@GRAD"]}, attrs))
    assert is_clip(desc, blocks[1].id()) is (of == 0)
    bypass_clips(desc)
    assert blocks[1].op_size() == of


def test_the_elements_beyond_the_bounds_are_counted() -> None:
    values = np.array([-2.5, -2.0, -1.0, 1.0, 1.5, 9.0], np.float32)
    desc = program()
    block = desc.block(0)
    for name in ("x", "h", "h@GRAD"):
        block.var(name).set_dtype("float32")
        block.var(name).set_shape([6])
    block.insert_op(0).copy_from(core.OpDesc("assign", {"X": ["x"]}, {"Out": ["h"]}, {}))
    block.insert_op(1).copy_from(core.OpDesc("assign", {"X": ["h"]}, {"Out": ["h@GRAD"]}, {}))
    scope = fluid.Scope()

    def clipped() -> dict[str, int]:
        network = Network(desc, {"x": values}, ["h@GRAD"], scope=scope, copies=True)
        return clipped_elements(network)

    before = str(desc)
    assert clipped() == {"h@GRAD": 3}
    assert str(desc) == before
    block.append_op().copy_from(block.op(2))  # what is clipped already, is not counted again
    assert clipped() == {"h@GRAD": 3}
    values = np.clip(values, -2.0, 1.0)
    assert clipped() == {}
    bypass_clips(desc)
    assert clipped() == {}
