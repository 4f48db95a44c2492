"""Where the boxes of an acyclic graph stand, from top to bottom, and how its edges run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from fluidcore.picture.layering import MAX_SPAN, Edge, layers_of, ordered

Point = tuple[float, float]
Size = tuple[float, float]  # width, height

GAP = 18.0  # between boxes of a layer
LANE = 12.0  # between edges that pass by
ROW_GAP = 42.0  # between layers: room for a label
_SWEEPS = 8


class Layout(NamedTuple):
    """Middles of the boxes, points of the edges, and the size of it all; it starts at (0, 0)."""

    middles: list[Point]
    routes: list[list[Point]]
    width: float
    height: float


def layered(
    sizes: Sequence[Size], edges: Sequence[Edge], wanted: Mapping[int, float] | None = None
) -> Layout:
    """Puts boxes into layers.

    Args:
        sizes: Of the boxes.
        edges: Pairs (from, to) with from < to.
        wanted: How far down some boxes would like to be; layers are apart where that helps, and
            the first one need not be at 0.
    """
    count = len(sizes)
    if not count:
        return Layout([], [], 0.0, 0.0)
    layer = layers_of(count, edges)
    widths = [size[0] for size in sizes]
    chains: list[list[int]] = []  # of each edge: its source, what stands for it, its target
    for source, target in edges:
        chain = [source]
        if layer[target] - layer[source] <= MAX_SPAN:
            for at in range(layer[source] + 1, layer[target]):
                chain.append(len(layer))
                layer.append(at)
                widths.append(0.0)
        chains.append([*chain, target])
    rows: list[list[int]] = [[] for _ in range(max(layer) + 1)]
    for node, at in enumerate(layer):
        rows[at].append(node)
    short = {pair for chain in chains for pair in pairwise(chain)}
    steps = sorted(pair for pair in short if layer[pair[1]] == layer[pair[0]] + 1)
    rows = ordered(rows, steps)
    across = _across(rows, widths, steps)
    down, heights = _down(rows, sizes, wanted or {})
    middles = [(across[node], down[layer[node]]) for node in range(len(layer))]
    width = max(across[node] + widths[node] / 2 for node in range(len(layer)))
    routes, width = _routes(chains, middles, sizes, layer, heights, width)
    return Layout(middles[:count], routes, width, down[-1] + heights[-1] / 2)


def separated(wanted: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """The places nearest to the wanted ones, in squares, that keep their order and distances.

    Pools adjacent violators, as for isotonic regression.

    Args:
        wanted: One place for each.
        gaps: The least distance of each to the next one; one fewer.
    """
    offsets = [0.0]
    for gap in gaps:
        offsets.append(offsets[-1] + gap)
    pools: list[tuple[float, int]] = []  # sum, number
    for place, offset in zip(wanted, offsets, strict=True):
        total, number = place - offset, 1
        while pools and pools[-1][0] / pools[-1][1] > total / number:
            before = pools.pop()
            total, number = total + before[0], number + before[1]
        pools.append((total, number))
    means = [total / number for total, number in pools for _ in range(number)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]


def _across(
    rows: list[list[int]], widths: Sequence[float], steps: Sequence[Edge]
) -> dict[int, float]:
    """The middle of each node; the leftmost edge is at 0."""
    near: tuple[dict[int, list[int]], dict[int, list[int]]] = ({}, {})
    for source, target in steps:
        near[0].setdefault(target, []).append(source)
        near[1].setdefault(source, []).append(target)
    gaps = [
        [
            (widths[a] + widths[b]) / 2 + (GAP if widths[a] and widths[b] else LANE)
            for a, b in pairwise(row)
        ]
        for row in rows
    ]
    place: dict[int, float] = {}
    for row, distances in zip(rows, gaps, strict=True):
        at = 0.0
        for node, distance in zip(row, [0.0, *distances], strict=True):
            at += distance
            place[node] = at
        for node in row:
            place[node] -= at / 2
    for sweep in range(_SWEEPS):
        both = sweep >= _SWEEPS - 2
        order = range(len(rows)) if sweep % 2 == 0 else range(len(rows) - 1, -1, -1)
        for number in order:
            wanted = []
            for node in rows[number]:
                ends = list(near[sweep % 2].get(node, ()))
                if both or not ends:
                    ends += near[1 - sweep % 2].get(node, ())
                wanted.append(_mean([place[each] for each in ends], place[node]))
            places = separated(wanted, gaps[number])
            place.update(zip(rows[number], places, strict=True))
    left = min(place[node] - widths[node] / 2 for node in place)
    return {node: at - left for node, at in place.items()}


def _down(
    rows: list[list[int]], sizes: Sequence[Size], wanted: Mapping[int, float]
) -> tuple[list[float], list[float]]:
    """The middle and the height of each layer."""
    heights = [
        max((sizes[node][1] for node in row if node < len(sizes)), default=0.0) for row in rows
    ]
    middles, top = [], 0.0
    for height in heights:
        middles.append(top + height / 2)
        top += height + ROW_GAP
    if not wanted:
        return middles, heights
    gaps = [(a + b) / 2 + ROW_GAP for a, b in pairwise(heights)]
    wishes: list[float] = []
    for number, row in enumerate(rows):
        near = wishes[-1] + gaps[number - 1] if wishes else min(wanted.values())
        wishes.append(_mean([wanted[node] for node in row if node in wanted], near))
    return separated(wishes, gaps), heights


def _routes(
    chains: Sequence[Sequence[int]],
    middles: Sequence[Point],
    sizes: Sequence[Size],
    layer: Sequence[int],
    heights: Sequence[float],
    width: float,
) -> tuple[list[list[Point]], float]:
    """The points of each edge, from the lower side of a box to the upper one of another."""
    routes, around = [], 0
    for chain in chains:
        first, last = chain[0], chain[-1]
        x, y = middles[first]
        points = [(x, y + sizes[first][1] / 2)]
        if len(chain) == 2 and layer[last] - layer[first] > MAX_SPAN:
            around += 1
            lane = width + LANE * (1 + around % 8)
            top, bottom = points[0][1] + ROW_GAP / 2, middles[last][1] - sizes[last][1] / 2
            points += [(lane, top + ROW_GAP), (lane, bottom - ROW_GAP)]
        for node in chain[1:-1]:
            across, down = middles[node]
            half = heights[layer[node]] / 2
            points += [(across, down - half), (across, down + half)]
        x, y = middles[last]
        routes.append([*points, (x, y - sizes[last][1] / 2)])
    return routes, width + (LANE * 9 if around else 0.0)


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
