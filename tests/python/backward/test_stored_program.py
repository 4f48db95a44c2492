"""A program with loops, branches and their gradient that C++ tests read from a file."""

from pathlib import Path

import numpy as np

import fluidcore as fluid
from fluidcore import layers

PATH = Path(__file__).parents[3] / "tests" / "cpp" / "data" / "powers.json"


def powers() -> tuple[fluid.Program, fluid.Variable, fluid.Variable]:
    """loss = Σ c xⁿ⁺¹, c = 10 if n > 2 else 1, and its gradient by x."""
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()), fluid.unique_name.guard():
        x = layers.data("x", [2], append_batch_size=False, stop_gradient=False)
        n = layers.data("n", [1], dtype="int64", append_batch_size=False)
        power, _ = layers.while_loop(
            lambda _, i: i < n,
            lambda power, i: (power * x, i + 1),
            [layers.assign(x), layers.fill_constant([1], "int64", 0)],
        )
        scaled = layers.cond(n > 2, lambda: power * 10.0, lambda: layers.assign(power))
        loss = layers.reduce_sum(scaled)
        (slope,) = fluid.gradients(loss, x)
    return main, loss, slope


def test_the_file_of_the_cpp_tests_is_what_backward_writes():
    main, loss, slope = powers()
    assert (loss.name, slope.name) == ("reduce_sum_0.tmp_0", "x@GRAD")
    assert main.serialize_to_string() == PATH.read_text(), f"write it anew: python {__file__}"


def test_the_file_runs_in_python_too():
    main = fluid.Program.parse_from_string(PATH.read_text())
    feed = {"x": np.array([2, 3], np.float32), "n": np.array([3])}
    loss, slope = fluid.Executor().run(main, feed, ["reduce_sum_0.tmp_0", "x@GRAD"])
    np.testing.assert_array_equal(loss, [970])
    np.testing.assert_array_equal(slope, [320, 1080])


if __name__ == "__main__":
    PATH.write_text(powers()[0].serialize_to_string())
