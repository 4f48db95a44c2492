from __future__ import annotations

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers


def test_there_are_as_many_places_as_asked_for():
    assert [str(place) for place in layers.get_places()] == ["CPUPlace()"]
    assert len(layers.get_places(device_count=3, device_type="CPU")) == 3
    with pytest.raises(fluid.InvalidArgument, match="device_type must be 'CPU' in this build"):
        layers.get_places(device_type="CUDA")
    with pytest.raises(fluid.InvalidArgument, match="device_count must be a whole number"):
        layers.get_places(-1)


def test_the_layers_of_a_parallel_do_run_once_with_the_whole_batch():
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        x = layers.data("x", [2])
        do = layers.ParallelDo(layers.get_places(2))
        with do.do():
            part = do.read_input(x)
            do.write_output(layers.reduce_sum(part, dim=1))
            do.write_output(part * 2.0)
        total, double = do()
        feed = {"x": np.arange(6, dtype=np.float32).reshape(3, 2)}
        sums, doubles = fluid.Executor().run(feed=feed, fetch_list=[total, double])
    assert sums.tolist() == [1, 5, 9]
    assert doubles.tolist() == (feed["x"] * 2).tolist()


def test_a_parallel_do_without_a_result_is_an_error():
    with pytest.raises(TypeError, match=r"places must be a list that get_places\(\) gave, got 2"):
        layers.ParallelDo(2)  # type: ignore[arg-type]
    with fluid.program_guard(fluid.Program()):
        do = layers.ParallelDo(layers.get_places())
        with do.do():
            pass
        with pytest.raises(fluid.InvalidArgument, match=r"got 0 results; call write_output"):
            do()
