"""What a page says about single gradients, chosen so that the page stays small."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fluidcore.gradcheck.report.data import ReportData, ResultData
from fluidcore.gradcheck.report.groups import Group
from fluidcore.gradcheck.report.phrases import SEVERITY, count
from fluidcore.gradcheck.report.tensor_details import plots, tensor_details

_Pair = tuple[ReportData, ResultData]


class Extras(NamedTuple):
    """Details of gradients.

    Attributes:
        of: id of a result -> its details as HTML.
        left_out: What there was no room for.
    """

    of: dict[int, str]
    left_out: list[str]


def extras_within(room: int, groups: Sequence[Group]) -> Extras:
    """As much as fits: the worst of each group first; of what is right, everything or nothing.

    Args:
        room: In bytes.
        groups: The worst first.
    """
    pairs = [[(r, result) for r in g.reports for result in r.results] for g in groups]
    notable = [sorted(filter(_is_notable, group), key=_severity) for group in pairs]
    ordinary = [pair for group in pairs for pair in group if not _is_notable(pair)]
    firsts = [pair for group in notable for pair in group[:1]]
    others = [pair for group in notable for pair in group[1:]]
    chosen = _Chosen(room)
    for wrong in (firsts, others):
        chosen.add(wrong, "the details", drawn=False)
        chosen.add(wrong, "the plots", drawn=True)
    chosen.add_all(ordinary, "the details", drawn=False)
    chosen.add_all(ordinary, "the plots", drawn=True)
    return Extras(chosen.details, chosen.left_out)


def _is_notable(pair: _Pair) -> bool:
    return not pair[1] or bool(pair[1].reasons)


def _severity(pair: _Pair) -> int:
    return SEVERITY[pair[1].verdict]


class _Chosen:
    """Details that were chosen so far, and the room that is left."""

    def __init__(self, room: int) -> None:
        self.details: dict[int, str] = {}
        self.left_out: list[str] = []
        self._room = room
        self._first: int | None = None  # id of the result whose details are open

    def add(self, pairs: Sequence[_Pair], what: str, drawn: bool) -> None:
        """Adds to the details of as many as fit, in their order."""
        missing = sum(not self._add(pair, drawn) for pair in pairs)
        self._note(what, missing, "gradient")

    def add_all(self, pairs: Sequence[_Pair], what: str, drawn: bool) -> None:
        """Adds to the details of all of them, or of none."""
        details, room = dict(self.details), self._room
        if not all(self._add(pair, drawn) for pair in pairs):
            self.details, self._room = details, room
            self._note(what, len(pairs), "right gradient")

    def _add(self, pair: _Pair, drawn: bool) -> bool:
        report, result = pair
        pictures = plots(result) if drawn else ""
        if drawn and not pictures:
            return True
        if drawn and id(result) not in self.details:
            return False
        if self._first is None and not result:
            self._first = id(result)
        text = tensor_details(report, result, pictures, is_open=id(result) == self._first)
        growth = len(text.encode()) - len(self.details.get(id(result), "").encode())
        if growth > self._room:
            return False
        self.details[id(result)] = text
        self._room -= growth
        return True

    def _note(self, what: str, missing: int, noun: str) -> None:
        if missing:
            self.left_out.append(f"{what} of {count(missing, noun)}")
