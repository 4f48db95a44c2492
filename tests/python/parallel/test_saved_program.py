"""A saved program of several ranks is checked by all of them."""

from pathlib import Path

import numpy as np
import pytest
from mpi_run import mpiexec

import fluidcore as fluid
from fluidcore import core, layers
from fluidcore.gradcheck import GradCheckConfig, Verdict
from fluidcore.parallel.saved_program import check_saved

ROWS = np.random.default_rng(2).normal(size=(7, 3))


class OfTwo(core.Communicator):
    """Says that there are two ranks, for a transformation."""

    def __init__(self) -> None:
        super().__init__(0, 2)


def trained(counts=False, shard_state=False):
    """A training program for several ranks, and the name of its loss."""
    x = layers.data("x", [3], dtype="float64")
    samples = None
    if counts:
        samples = layers.data("samples", [2], dtype="int64", append_batch_size=False)
    h = layers.fc(x, 4, act="tanh")
    loss = layers.mean(layers.square(layers.fc(h, 1) - 0.5))
    fluid.parallel.DistributedOptimizer(
        fluid.optimizer.Adam(1e-3), OfTwo(), samples=samples, shard_state=shard_state
    ).minimize(loss)
    return loss.block.program, loss.name


def checked(program, loss, size, rows=ROWS[:6], names=None):
    """The reports of all ranks."""
    rng = np.random.default_rng(3)
    values = {
        v.name: rng.normal(size=v.shape)
        for v in program.global_block().vars.values()
        if v.persistable
    } | {"x": rows}
    text = program.serialize_to_string()

    def run(communicator):
        own = fluid.Program.parse_from_string(text)
        return check_saved(own, loss, names, values, GradCheckConfig(), communicator)

    return fluid.parallel.run_in_threads(size, run)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_gradients_that_ranks_add_up_are_proven_for_all_parameters(size):
    report, *others = checked(*trained(), size)
    assert report.verdict is Verdict.PASS
    assert [result.name for result in report.results] == [
        "params['fc_0.w_0']",
        "params['fc_0.b_0']",
        "params['fc_1.w_0']",
        "params['fc_1.b_0']",
    ]
    assert others == [None] * (size - 1)


@pytest.mark.parametrize("size", [2, 3])
def test_ranks_may_have_different_rows_where_the_program_counts_them(size):
    assert checked(*trained(counts=True), size, ROWS)[0].verdict is Verdict.PASS


@pytest.mark.parametrize("row", range(len(ROWS)))
def test_every_row_is_that_of_a_rank(row):
    rows = ROWS.copy()
    rows[row] = np.nan
    assert checked(*trained(counts=True), 2, rows)[0].verdict is Verdict.INCONCLUSIVE


def test_a_sum_that_is_not_divided_is_found():
    program, loss = trained()
    for op in program.global_block().ops:
        if op.type == "c_allreduce_sum":
            op.desc.set_attr("average", False)
    report, _ = checked(program, loss, 2, names=["fc_1.b_0"])
    assert [(r.name, r.verdict) for r in report.results] == [("params['fc_1.b_0']", Verdict.FAIL)]


def test_rows_that_do_not_divide_are_refused_where_nobody_counts_them():
    with pytest.raises(
        core.InvalidArgument, match=r"each rank must have rows, .* got 7 rows for 2"
    ):
        checked(*trained(), 2, ROWS)
    with pytest.raises(core.InvalidArgument, match="got 2 rows for 3 ranks"):
        checked(*trained(counts=True), 3, ROWS[:2])


def test_parts_of_gradients_are_refused():
    with pytest.raises(core.InvalidArgument, match="whole gradients, got c_reduce_scatter"):
        checked(*trained(shard_state=True), 2)


def test_a_loss_of_several_numbers_is_refused():
    program, _ = trained()
    with pytest.raises(core.InvalidArgument, match=r"one number, got '.*' of shape \[-1, 4\]"):
        checked(program, "fc_0.tmp_0", 2)


def test_a_parameter_must_have_a_gradient():
    with pytest.raises(core.InvalidArgument, match=r"got fc_0\.w_0, nothing without"):
        checked(*trained(), 2, names=["fc_0.w_0", "nothing"])


def test_data_of_different_lengths_are_refused():
    y = layers.data("y", [1], dtype="float64")
    x = layers.data("x", [3], dtype="float64")
    loss = layers.mean(layers.fc(x, 1) * y)
    fluid.parallel.DistributedOptimizer(fluid.optimizer.SGD(1e-3), OfTwo()).minimize(loss)
    program = loss.block.program
    values = {"x": ROWS[:4], "y": ROWS[:2, :1], "fc_0.w_0": ROWS[:3, :1], "fc_0.b_0": ROWS[0, :1]}

    def run(communicator):
        check_saved(program, loss.name, None, values, GradCheckConfig(), communicator)

    with pytest.raises(core.InvalidArgument, match=r"as many rows, got .*'x': 4"):
        fluid.parallel.run_in_threads(1, run)


def test_the_command_checks_a_file_on_two_processes(tmp_path: Path):
    program, loss = trained()
    file = tmp_path / "program.json"
    file.write_text(program.serialize_to_string(), encoding="utf-8")
    np.save(tmp_path / "x.npy", ROWS)
    command = f"""
import sys
from fluidcore.cli import main

given = ["gradcheck", "program", {str(file)!r}, "--loss", {loss!r}, "--quiet"]
sys.exit(main([*given, *sys.argv[1:]]))
"""
    run = mpiexec(2, command)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("1 program: 1 pass") == 1
    run = mpiexec(2, command, "--feed", f"x={tmp_path / 'x.npy'}")
    assert run.returncode == 3
    assert "got 7 rows for 2 ranks" in run.stderr
