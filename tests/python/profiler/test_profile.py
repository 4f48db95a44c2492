"""Tests of fluidcore.profiler."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import eager, layers
from fluidcore.profiler import profile, profiler


@pytest.fixture
def run() -> Any:
    """Runs mean(x W) and its gradient once."""
    x = layers.data("x", [8])
    loss = layers.mean(layers.fc(x, 4, bias_attr=False))
    ((_, gradient),) = fluid.append_backward(loss)
    program = fluid.default_main_program()
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    feed = {"x": np.ones((2, 8), np.float32)}
    scope = fluid.global_scope()
    return lambda: exe.run(program, feed, [loss, gradient], scope)


def test_every_operator_has_its_calls_amounts_and_line(run: Any) -> None:
    with profile() as recorded:
        for _ in range(3):
            run()
    product = next(row for row in recorded if row.type == "mul")
    assert product.calls == 3
    assert product.flops == 3 * 2 * (2 * 8 * 4)
    assert product.bytes == 3 * 4 * (2 * 8 + 8 * 4 + 2 * 4)
    assert product.line.startswith("tests/python/profiler/test_profile.py:")
    assert 0 < product.shortest <= product.seconds / 3 <= product.longest < product.seconds
    assert product.speed.endswith(" GFLOP/s")


def test_a_gradient_counts_the_products_that_are_wanted(run: Any) -> None:
    with profile() as recorded:
        run()
    gradient = next(row for row in recorded if row.type == "mul_grad")
    assert gradient.flops == 2 * (2 * 8 * 4)  # of W alone


def test_the_slowest_comes_first_and_types_are_added_up(run: Any) -> None:
    with profile() as recorded:
        run()
    rows, types = recorded.operators(), recorded.by_type()
    assert [row.seconds for row in rows] == sorted((row.seconds for row in rows), reverse=True)
    assert {row.type for row in types} == {row.type for row in rows}
    assert sum(row.seconds for row in types) == pytest.approx(recorded.seconds)


def test_the_table_says_what_it_leaves_out(run: Any) -> None:
    with profile() as recorded:
        run()
    heading, *rows, rest, total = recorded.table(limit=2).splitlines()
    assert heading.split() == ["operator", "calls", "ms", "share", "speed", "MB", "line"]
    assert len(rows) == 2
    assert rest.startswith(f"({len(recorded.operators()) - 2} more)")
    assert total.split()[:2] == ["all", str(len(recorded.operators()))]
    assert str(recorded) == recorded.table()


def test_a_loop_is_counted_without_what_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLUIDCORE_PASSES", "-fuse_rows")

    def body(i: fluid.Variable) -> fluid.Variable:
        return layers.elementwise_add(i, one)

    one = layers.fill_constant([1], "float32", 1.0)
    end = layers.fill_constant([1], "float32", 5.0)
    start = layers.fill_constant([1], "float32", 0.0)
    out = layers.while_loop(lambda i: layers.less_than(i, end), body, [start])
    with profile() as recorded:
        fluid.Executor().run(fetch_list=out if isinstance(out, list) else [out])
    calls = {row.type: row.calls for row in recorded.by_type()}
    assert calls["elementwise_add"] == 5
    assert calls["while"] == 1
    events = recorded._events()
    ((duration, inside),) = [event[3:5] for event in events if event[4] > 0]
    assert recorded.seconds < (sum(event[3] for event in events) - inside + 1) / 1e9
    assert duration > inside


def test_nothing_is_recorded_outside_of_the_block(run: Any) -> None:
    with profile() as outer:
        with profile() as inner:
            run()
        assert not list(outer)
        run()
    run()
    assert {row.calls for row in outer} == {row.calls for row in inner} == {1}


def test_runs_that_fail_end_the_profile(run: Any) -> None:
    with pytest.raises(RuntimeError, match="stop"), profile() as recorded:
        raise RuntimeError("stop")
    run()
    assert not list(recorded)


def test_eager_operators_and_their_gradients_are_recorded() -> None:
    with profile() as recorded:
        x = eager.tensor(np.ones((3, 4), np.float32), requires_grad=True)
        (x * x).sum().backward()
    types = " + ".join(row.type for row in recorded)
    assert {"elementwise_mul", "reduce_sum", "reduce_sum_grad"} <= set(types.split(" + "))


def test_a_trace_holds_the_operators_of_each_thread(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    with profile(path):
        run()
        other = threading.Thread(target=run)
        other.start()
        other.join()
    events = json.loads(path.read_text())["traceEvents"]
    assert {event["args"]["name"] for event in events if event["ph"] == "M"} == {
        "thread 0",
        "thread 1",
    }
    products = [event for event in events if event["name"] == "mul"]
    assert [event["tid"] for event in products] == [0, 1]
    assert products[0]["ts"] + products[0]["dur"] <= products[1]["ts"]
    assert products[0]["args"]["operator"].startswith("operator 0 of block 0 (mul), added at ")


def test_communications_stand_beside_the_operators_that_ran_meanwhile(
    run: Any, tmp_path: Path
) -> None:
    path = tmp_path / "trace.json"
    with profile(path) as recorded:
        run()
        recorded._core.add_communication("a sum", 100.0)
        recorded._core.add_communication("another", 0.0)
    first, second = recorded.communications()
    assert (first.label, first.seconds) == ("a sum", 100.0)
    assert first.overlap == pytest.approx(recorded.seconds)
    assert (second.label, second.overlap) == ("another", 0.0)
    events = json.loads(path.read_text())["traceEvents"]
    spans = [event for event in events if event.get("cat") == "communication"]
    assert [(span["ph"], span["id"], span["name"]) for span in spans] == [
        ("b", 0, "a sum"),
        ("e", 0, "a sum"),
        ("b", 1, "another"),
        ("e", 1, "another"),
    ]
    assert spans[1]["ts"] - spans[0]["ts"] == pytest.approx(100e6)


def test_a_trace_that_cannot_be_written_is_an_error_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), profile(tmp_path / "none" / "trace.json"):
        pytest.fail("the block has begun")


@pytest.mark.parametrize("key", [None, "default", "total", "calls", "ave", "max", "min"])
def test_fluids_profiler_prints_the_types(
    run: Any, key: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    with profiler("CPU", key):
        run()
    assert "mul_grad" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("TPU",), 'state must be "CPU", "GPU" or "All", got \'TPU\''),
        (("All", "median"), "sorted_key must be one of total, calls, ave, max, min, got 'median'"),
    ],
)
def test_arguments_of_fluids_profiler_that_there_are_not(
    arguments: tuple[str, ...], message: str
) -> None:
    with pytest.raises(fluid.InvalidArgument, match=message), profiler(*arguments):
        pass
