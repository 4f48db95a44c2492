import itertools
import random

import pytest

from fluidcore.picture.layout import GAP, ROW_GAP, layered, separated


def test_places_keep_their_order_and_distances():
    assert separated([5.0, 1.0, 20.0], [2.0, 2.0]) == [2.0, 4.0, 20.0]
    assert separated([0.0, 10.0], [3.0]) == [0.0, 10.0]


def test_no_boxes_need_no_place():
    assert layered([], []) == ([], [], 0.0, 0.0)


def test_boxes_do_not_overlap_and_lines_lead_downwards():
    rng = random.Random(0)
    for _ in range(10):
        count = 40
        sizes = [(rng.uniform(20, 200), rng.uniform(20, 90)) for _ in range(count)]
        edges = sorted({tuple(sorted(rng.sample(range(count), 2))) for _ in range(60)})
        layout = layered(sizes, edges)
        for a, b in itertools.combinations(range(count), 2):
            (xa, ya), (xb, yb) = layout.middles[a], layout.middles[b]
            apart_across = abs(xa - xb) >= (sizes[a][0] + sizes[b][0]) / 2 + GAP - 1e-6
            apart_down = abs(ya - yb) >= (sizes[a][1] + sizes[b][1]) / 2
            assert apart_across or apart_down
        for (source, target), route in zip(edges, layout.routes, strict=True):
            assert route[0] == pytest.approx(
                (layout.middles[source][0], layout.middles[source][1] + sizes[source][1] / 2)
            )
            assert route[-1] == pytest.approx(
                (layout.middles[target][0], layout.middles[target][1] - sizes[target][1] / 2)
            )
            assert all(a[1] <= b[1] + 1e-6 for a, b in itertools.pairwise(route))
        for (x, y), (width, height) in zip(layout.middles, sizes, strict=True):
            assert x - width / 2 >= -1e-6
            assert x + width / 2 <= layout.width + 1e-6
            assert y + height / 2 <= layout.height + 1e-6


def test_a_chain_is_straight():
    layout = layered([(50, 20), (90, 20), (30, 20)], [(0, 1), (1, 2)])
    assert len({x for x, _ in layout.middles}) == 1
    assert layout.height == 3 * 20 + 2 * ROW_GAP


def test_layers_go_down_to_where_they_are_wanted():
    layout = layered([(50, 20)] * 2, [(0, 1)], {1: 500.0, 0: 100.0})
    assert [y for _, y in layout.middles] == [100.0, 500.0]


def test_a_very_long_line_goes_around_the_boxes():
    count = 60
    edges = [(i, i + 1) for i in range(count - 1)] + [(0, count - 1)]
    layout = layered([(50, 20)] * count, edges)
    assert max(x for x, _ in layout.routes[-1]) > 50
    assert layout.width > max(x for x, _ in layout.routes[-1]) - 1
