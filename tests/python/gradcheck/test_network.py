import numpy as np
import pytest

from fluidcore import core
from fluidcore.gradcheck.network import Network
from fluidcore.gradcheck.numerical import differentiate

LOG = core.OpDesc("log", {"X": ["x"]}, {"Out": ["y"]}, {})
LOOKUP = core.OpDesc("lookup_table", {"W": ["w"], "Ids": ["ids"]}, {"Out": ["out"]}, {})


def test_only_what_the_outputs_need_is_there() -> None:
    program = core.ProgramDesc()
    block = program.block(0)
    for name in ("x", "z"):
        block.var(name).set_shape([2])
        block.var(name).set_dtype("float32")
    block.add_op("exp", {"X": ["x"]}, {"Out": ["a"]}, {})
    block.add_op("exp", {"X": ["z"]}, {"Out": ["b"]}, {})
    block.add_op("log", {"X": ["a"]}, {"Out": ["c"]}, {})
    network = Network(program, {"x": np.ones(2, dtype=np.float32)}, ["c"])
    assert [op.type() for op in network.program.block(0).ops()] == ["exp", "log"]
    assert network.inputs() == ["x"]
    np.testing.assert_allclose(network.run(["c"])[0], [1, 1], rtol=1e-6)


def test_everything_floating_can_be_made_another_dtype() -> None:
    program = core.ProgramDesc()
    block = program.block(0)
    block.var("x").set_shape([2])
    block.var("x").set_dtype("float32")
    block.add_op("fill_constant", {}, {"Out": ["c"]}, {"shape": [2], "value": 0.1, "dtype": 5})
    block.add_op("elementwise_mul", {"X": ["x"], "Y": ["c"]}, {"Out": ["y"]}, {})
    network = Network(program, {"x": np.ones(2, dtype=np.float32)}, ["y"], dtype="float64")
    (y,) = network.run(["y"])
    assert y.dtype == np.float64
    np.testing.assert_array_equal(y, [0.1, 0.1])


def test_integers_keep_their_dtype() -> None:
    values = {"w": np.ones((3, 2), dtype=np.float32), "ids": np.array([[0]])}
    network = Network(LOOKUP, values, ["out"], dtype="float64")
    assert network.tensor("ids").dtype() == "int64"
    assert network.tensor("w").dtype() == "float64"


def test_the_input_is_as_it_was_also_after_a_run_that_fails() -> None:
    network = Network(LOG, {"x": np.array([1.0, 2.0])}, ["y"])
    tensor = network.tensor("x")

    def failing_run(outputs: object) -> list[object]:
        calls.append(tensor.get_float_element(0))
        if len(calls) > 1:
            raise RuntimeError("stop")
        return plain_run(["y"])

    calls: list[float] = []
    plain_run = network.run
    network.run = failing_run  # type: ignore[method-assign, assignment]
    with pytest.raises(RuntimeError, match="stop"):
        differentiate(network, "y", "x", 0.125)
    assert calls == [1.0, 1.125]
    np.testing.assert_array_equal(np.asarray(tensor), [1.0, 2.0])
