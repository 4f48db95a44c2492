import itertools
import random

from fluidcore.picture.layering import crossings, layers_of, ordered


def test_a_layer_is_the_longest_path():
    assert layers_of(5, [(0, 1), (1, 2), (0, 3), (3, 4), (2, 4)]) == [0, 1, 2, 1, 3]


def test_what_nothing_leads_to_is_just_above_its_first_reader():
    # 3 is read by 4 in layer 3.
    assert layers_of(5, [(0, 1), (1, 2), (2, 4), (3, 4)])[3] == 2


def test_nodes_without_edges_are_in_the_first_layer():
    assert layers_of(3, []) == [0, 0, 0]


def test_crossings_are_counted():
    rows = [[0, 1, 2], [3, 4, 5]]
    for edges in ([(0, 5), (1, 4), (2, 3)], [(0, 4), (1, 4), (2, 3)], [(0, 3), (1, 4)]):
        pairs = itertools.combinations(edges, 2)
        expected = sum((a - c) * (b - d) < 0 for (a, b), (c, d) in pairs)
        assert crossings(rows, edges) == expected


def test_crossings_that_can_be_avoided_are():
    assert crossings(ordered([[0, 1, 2], [3, 4, 5]], edges := [(0, 5), (1, 3), (2, 4)]), edges) == 0


def test_ordering_never_adds_crossings():
    rng = random.Random(0)
    for _ in range(20):
        rows = [list(range(10 * i, 10 * i + 10)) for i in range(4)]
        edges = [
            (rng.choice(a), rng.choice(b)) for a, b in itertools.pairwise(rows) for _ in range(12)
        ]
        better = ordered(rows, edges)
        assert [sorted(row) for row in better] == rows
        assert crossings(better, edges) <= crossings(rows, edges)
