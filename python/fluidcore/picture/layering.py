"""Layers of an acyclic graph and the order in them: longest paths, then barycenters.

After Sugiyama, Tagawa, Toda: Methods for visual understanding of hierarchical system structures
(1981).
"""

from __future__ import annotations

from collections.abc import Sequence

Edge = tuple[int, int]
_SWEEPS = 8
MAX_SPAN = 24  # layers that an edge is led through; a longer one goes around the picture


def layers_of(count: int, edges: Sequence[Edge]) -> list[int]:
    """The layer of each node: the longest path to it; what nothing leads to is near its readers.

    Args:
        count: The number of nodes.
        edges: Pairs (from, to) with from < to.
    """
    layer = [0] * count
    before: list[list[int]] = [[] for _ in range(count)]
    after: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        before[target].append(source)
        after[source].append(target)
    for node in range(count):
        layer[node] = max((layer[each] + 1 for each in before[node]), default=0)
    for node in range(count):
        if not before[node] and after[node]:
            layer[node] = max(min(layer[each] for each in after[node]) - 1, 0)
    return layer


def ordered(rows: list[list[int]], edges: Sequence[Edge]) -> list[list[int]]:
    """The rows with their nodes in an order in which few edges cross.

    Args:
        rows: The nodes of each layer.
        edges: Pairs (from, to) between a layer and the next one.
    """
    before: dict[int, list[int]] = {}
    after: dict[int, list[int]] = {}
    for source, target in edges:
        before.setdefault(target, []).append(source)
        after.setdefault(source, []).append(target)
    best, fewest = rows, crossings(rows, edges)
    for sweep in range(_SWEEPS):
        if fewest == 0:
            break
        near = before if sweep % 2 == 0 else after
        rows = [list(row) for row in rows]
        order = rows if sweep % 2 == 0 else rows[::-1]
        place: dict[int, int] = {}
        for row in order:
            middle = {
                node: _mean([place[each] for each in near.get(node, ())], position)
                for position, node in enumerate(row)
            }
            row.sort(key=middle.__getitem__)
            place.update({node: position for position, node in enumerate(row)})
        crossed = crossings(rows, edges)
        if crossed < fewest:
            best, fewest = rows, crossed
    return best


def crossings(rows: Sequence[Sequence[int]], edges: Sequence[Edge]) -> int:
    """The number of pairs of edges that cross."""
    place = {node: position for row in rows for position, node in enumerate(row)}
    row_of = {node: number for number, row in enumerate(rows) for node in row}
    between: list[list[Edge]] = [[] for _ in rows]
    for source, target in edges:
        between[row_of[source]].append((place[source], place[target]))
    return sum(_inversions(sorted(pairs)) for pairs in between)


def _inversions(pairs: Sequence[Edge]) -> int:
    """Pairs whose ends are in the other order than their beginnings; a Fenwick tree counts them."""
    size = max((end for _, end in pairs), default=0) + 1
    tree = [0] * (size + 1)
    found = 0
    for seen, (_, end) in enumerate(pairs):
        at, not_larger = end + 1, 0
        while at:
            not_larger += tree[at]
            at -= at & -at
        found += seen - not_larger
        at = end + 1
        while at <= size:
            tree[at] += 1
            at += at & -at
    return found


def _mean(values: Sequence[int], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
