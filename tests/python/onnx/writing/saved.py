"""Programs of layers, saved as models and run by others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import onnx
import pytest
from runtimes import RUNTIMES, Array, checked

import fluidcore as fluid
from fluidcore.onnx.writing import to_model


class Saved(NamedTuple):
    """The default main program, run and saved.

    Attributes:
        program: What was run.
        fetches: The names of what it gave.
        feed: What it was given.
        wanted: What it gave.
        model: What was saved.
    """

    program: fluid.Program
    fetches: list[str]
    feed: dict[str, Array]
    wanted: list[Array]
    model: onnx.ModelProto

    def node_types(self) -> list[str]:
        """Of all nodes of the outermost graph but constants."""
        types = [node.op_type for node in self.model.graph.node]
        return [op_type for op_type in types if op_type != "Constant"]

    def agrees(self, runtime: str, tolerance: float = 1e-5) -> None:
        results = RUNTIMES[runtime](self.model, self.feed)
        for want, got in zip(self.wanted, results, strict=True):
            assert got.dtype == want.dtype
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def saved(fetches: Sequence[fluid.Variable], **feed: Array) -> Saved:
    """Initializes, runs for inference, and saves what the fetches need.

    Args:
        fetches: What is calculated.
        **feed: The values of all inputs.
    """
    startup, main = fluid.default_startup_program(), fluid.default_main_program()
    startup.random_seed = 1
    exe = fluid.Executor()
    exe.run(startup)
    names = [variable.name for variable in fetches]
    test = main.clone(for_test=True).prune(names, list(feed))
    wanted = exe.run(test, feed=feed, fetch_list=names)
    return Saved(test, names, feed, wanted, checked(to_model(main, list(feed), names)))


every_runtime = pytest.mark.parametrize("runtime", RUNTIMES)
