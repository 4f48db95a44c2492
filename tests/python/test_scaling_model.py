"""The replay of a step with sums over ranks, and the formulas of their time."""

import pytest

from bench.scaling_model import ALGORITHMS, Event, Network, fitted, replay

NET = Network(latency=1e-6, bandwidth=1e9, adding=4e9)
STEP = [
    Event("mul_grad", 1.0),
    Event("c_allreduce_sum", 0.0, 100, "first"),
    Event("mul_grad", 2.0),
    Event("c_allreduce_sum", 0.0, 10, "second"),
    Event("c_wait", 0.5, 0, "second"),
    Event("sgd", 0.25),
    Event("c_wait", 0.5, 0, "first"),
    Event("sgd", 0.25),
]


def test_a_sum_that_is_through_before_it_is_needed_costs_nothing():
    assert replay(STEP, lambda size: size * 1e-3) == pytest.approx(4.5 + 0.01)


def test_sums_are_made_one_after_the_other():
    # The first ends at 1 + 10, the second at 11 + 1.
    assert replay(STEP, lambda size: size * 0.1) == pytest.approx(12 + 1.5)


def test_without_cost_a_step_takes_what_its_operators_take():
    assert replay(STEP, lambda _: 0.0) == pytest.approx(sum(event.seconds for event in STEP))


@pytest.mark.parametrize("ranks", [2, 8, 4096])
def test_a_ring_sends_as_many_bytes_as_halves_in_more_messages(ranks):
    ring, halves, tree = (ALGORITHMS[name](ranks, NET) for name in ("ring", "halves", "tree"))
    assert ring(0) == pytest.approx(2 * (ranks - 1) * NET.latency)
    assert ring(1e6) - ring(0) == pytest.approx(halves(1e6) - halves(0))
    assert halves(1e6) < tree(1e6) or ranks == 2


def test_a_fit_finds_the_line_that_was_measured():
    cost = fitted([(size, 3e-5 + 2e-10 * size) for size in (1e3, 1e5, 1e7)])
    assert cost(5e6) == pytest.approx(3e-5 + 1e-3)
