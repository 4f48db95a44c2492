"""How many bugs a checker finds, and how many right gradients it accuses."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fluidcore.gradcheck.adapters.program import ProgramTarget
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.localise.culprit import find_culprit
from fluidcore.gradcheck.target.target import Target
from fluidcore.gradcheck.verdict import Verdict
from tests.power.left_out import LeftOut
from tests.power.peers import Checker


class Planted(NamedTuple):
    """A bug in its place.

    Attributes:
        severity: The relative size of the error.
        target: With the bug.
        place: Of a wrong operator of a program: (block, index).
    """

    severity: float
    target: Target
    place: tuple[int, int] | None = None


@dataclass(frozen=True)
class Case:
    """A right target, and the same with bugs.

    Attributes:
        right: Without a bug.
        bugs: With one bug each.
        left_out: What was not drawn, or drawn and not planted.
    """

    right: Target
    bugs: Sequence[Planted]
    left_out: Mapping[LeftOut, int] = field(default_factory=dict)


@dataclass
class Share:
    """So many of so many."""

    found: int = 0
    total: int = 0

    def count(self, found: bool) -> None:
        """One more."""
        self.found += found
        self.total += 1

    @property
    def rate(self) -> float:
        """Between 0 and 1; NaN of none."""
        return self.found / self.total if self.total else math.nan

    def interval(self, z: float = 1.96) -> tuple[float, float]:
        """The 95 % interval (Wilson, J. Am. Stat. Assoc. 22 (1927) 209) of the rate."""
        if not self.total:
            return 0.0, 1.0
        n, p = self.total, self.rate
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return max(0.0, middle - half), min(1.0, middle + half)


@dataclass
class Power:
    """What one checker did.

    Attributes:
        accused: Right gradients that it called wrong.
        undecided: Right gradients that it could not judge.
        useful: Bugs that it found while it accepted the right gradient at the same point.
        by_severity: The same, by the size of the bug.
        located: Of the wrong operators of programs: those that were named exactly.
        missed: What was not found: "target" texts.
        wrongly_accused: The texts of the right targets.
        left_open: Those of the right targets that it could not judge.
        left_out: Of the cases.
    """

    accused: Share = field(default_factory=Share)
    undecided: Share = field(default_factory=Share)
    useful: Share = field(default_factory=Share)
    by_severity: dict[float, Share] = field(default_factory=dict)
    located: Share = field(default_factory=Share)
    missed: list[str] = field(default_factory=list)
    wrongly_accused: list[str] = field(default_factory=list)
    left_open: list[str] = field(default_factory=list)
    left_out: Counter[LeftOut] = field(default_factory=Counter)


def measure(cases: Iterable[Case], checkers: Mapping[str, Checker], seed: int) -> dict[str, Power]:
    """Runs every checker on every case.

    Args:
        cases: Right targets with their bugs.
        checkers: By name; each takes a target and a seed.
        seed: For the checkers.
    """
    powers = {name: Power() for name in checkers}
    for number, case in enumerate(cases):
        for name, check in checkers.items():
            _measure_one(powers[name], case, check, seed + number)
    return powers


def _measure_one(power: Power, case: Case, check: Checker, seed: int) -> None:
    power.left_out.update(case.left_out)
    verdict = check(case.right, seed)
    power.accused.count(verdict is Verdict.FAIL)
    power.undecided.count(verdict is Verdict.INCONCLUSIVE)
    if verdict is Verdict.FAIL:
        power.wrongly_accused.append(_text(case.right))
    if verdict is Verdict.INCONCLUSIVE:
        power.left_open.append(_text(case.right))
    for severity, buggy, place in case.bugs:
        found = verdict is Verdict.PASS and check(buggy, seed) is Verdict.FAIL
        power.useful.count(found)
        power.by_severity.setdefault(severity, Share()).count(found)
        if not found:
            power.missed.append(_text(buggy))
        elif place is not None and isinstance(buggy, ProgramTarget):
            culprit = find_culprit(buggy, GradCheckConfig(seed=seed))
            power.located.count(culprit is not None and (culprit.block, culprit.op) == place)


def _text(target: Target) -> str:
    shapes = ", ".join(f"{x.name}{list(x.value.shape)}" for x in target.inputs)
    return f"{target.who} {target.dtype} ({shapes})"


def merge(parts: Iterable[Mapping[str, Power]]) -> dict[str, Power]:
    """The sum of several measurements."""
    total: dict[str, Power] = {}
    for part in parts:
        for name, power in part.items():
            into = total.setdefault(name, Power())
            pairs = [(into.accused, power.accused), (into.undecided, power.undecided)]
            pairs += [(into.useful, power.useful), (into.located, power.located)]
            for severity, share in power.by_severity.items():
                pairs.append((into.by_severity.setdefault(severity, Share()), share))
            for a, b in pairs:
                a.found += b.found
                a.total += b.total
            into.missed += power.missed
            into.wrongly_accused += power.wrongly_accused
            into.left_open += power.left_open
            into.left_out.update(power.left_out)
    return total
