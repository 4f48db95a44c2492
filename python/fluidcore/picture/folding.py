"""Programs of thousands of operators as some dozens of boxes: by names, repetition, or pieces."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias

import numpy as np

from fluidcore import core
from fluidcore.picture.graph import Op

_ALMOST_ALL = 0.9  # of what the best period covers: a shorter one that covers so much is taken


class Group:
    """Operators that follow each other and are drawn as one box.

    Args:
        name: What they have in common.
        items: Operators and smaller groups.
    """

    def __init__(self, name: str, items: Sequence[Item]) -> None:
        self.name = name
        self.items = list(items)
        self.ops = [op for item in items for op in operators_of(item)]
        self.role = self.ops[0].role
        self.id = f"{self.ops[0].id}-{self.ops[-1].id}"


Item: TypeAlias = Op | Group


def operators_of(item: Item) -> list[Op]:
    """The operators of an item, in order."""
    return item.ops if isinstance(item, Group) else [item]


def folded(items: Sequence[Item], limit: int | None) -> list[Item]:
    """No more items than the limit, in the same order; all operators where these are not more.

    Neighbours with the same name scope become a group ("conv1" of "conv1.tmp_0"); then what is
    repeated, one group for each repetition; then pieces of the same length.

    Args:
        items: Operators of one block.
        limit: How many may stay; None: all.
    """
    flat = [op for item in items for op in operators_of(item)]
    if limit is None or len(flat) <= limit:
        return list[Item](flat)
    result = list(items)
    for scope in (_scope, _outer_scope):
        if len(result) > limit:
            result = _by(scope, result)
    if len(result) > limit:
        result = _by_repetition(result, limit)
    if len(result) > limit:
        length = -(-len(result) // limit)
        pieces = [result[at : at + length] for at in range(0, len(result), length)]
        result = [Group(_ends(piece), piece) if len(piece) > 1 else piece[0] for piece in pieces]
    return result


def _by(scope: Callable[[Item], str], items: Sequence[Item]) -> list[Item]:
    result: list[Item] = []
    for name, run in itertools.groupby(items, scope):
        members = list(run)
        result += [Group(name, members)] if name and len(members) > 1 else members
    return result if len(result) > 1 else list(items)


def _scope(item: Item) -> str:
    """The scope of an item: of one that writes "block1.conv.tmp_0", "block1.conv"."""
    if isinstance(item, Group):
        return item.name
    written = next(iter(item.writes), "")
    return written.partition(core.GRAD_VAR_SUFFIX)[0].rpartition(".")[0]


def _outer_scope(item: Item) -> str:
    """The first part of it: of "block1.conv", "block1"."""
    return _scope(item).partition(".")[0]


def _by_repetition(items: list[Item], limit: int) -> list[Item]:
    found = repetition([_kind(item) for item in items])
    if found is None:
        return items
    start, period, times = found
    end = start + period * times
    body = items[start:end]
    groups: list[Item] = [
        Group(f"{number + 1} of {times}", body[number * period : (number + 1) * period])
        for number in range(times)
    ]
    if period == 1 and times == len(items):
        return items  # it stands in the group of these
    if period == 1:
        groups = [Group(_kind_name(body[0]), body)]
    elif times > limit:
        groups = [Group(f"{times} repetitions", groups)]
    head, tail = items[:start], items[end:]
    if len(head) + len(groups) + len(tail) > limit:
        head, tail = (_by_repetition(part, limit) for part in (head, tail))
    return [*head, *groups, *tail]


def repetition(kinds: Sequence[Hashable]) -> tuple[int, int, int] | None:
    """Where a sequence repeats itself most: start, period, how often; None if it does not.

    Of the periods that cover almost as much as the best one, the shortest.
    """
    numbers: dict[Hashable, int] = {}
    row = np.array([numbers.setdefault(kind, len(numbers)) for kind in kinds])
    found: list[tuple[int, int, int]] = []
    for period in range(1, len(row) // 2 + 1):
        ends = np.flatnonzero(row[period:] != row[:-period])
        bounds = np.concatenate(([-1], ends, [len(row) - period]))
        lengths = np.diff(bounds) - 1
        longest = int(lengths.argmax())
        times = int(lengths[longest]) // period + 1
        if times > 1:
            found.append((int(bounds[longest]) + 1, period, times))
    if not found:
        return None
    most = max(period * times for _, period, times in found)
    return next(each for each in found if each[1] * each[2] >= _ALMOST_ALL * most)


def _kind(item: Item) -> Hashable:
    return tuple(op.type for op in operators_of(item))


def _kind_name(item: Item) -> str:
    """What each of several equal items is: the type of an operator, or the types in a group."""
    types = list(dict.fromkeys(op.type for op in operators_of(item)))
    return ", ".join(types[:3]) + (", ..." if len(types) > 3 else "")


def _ends(piece: Sequence[Item]) -> str:
    """The first and the last of a piece."""
    if isinstance(piece[0], Group) and isinstance(piece[-1], Group):
        return f"{piece[0].name} to {piece[-1].name}"
    first, last = operators_of(piece[0])[0], operators_of(piece[-1])[-1]
    return f"{first.number} {first.type} to {last.number} {last.type}"
