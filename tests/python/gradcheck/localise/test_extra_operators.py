"""Operators that do not belong into a backward program, in some of their runs."""

from typing import Any

import numpy as np
import pytest

from fluidcore import core
from fluidcore.gradcheck.localise.alignment import Aligned
from fluidcore.gradcheck.localise.blame import Blame
from fluidcore.gradcheck.localise.reference import Pair
from fluidcore.gradcheck.localise.search import Search


class Seen:
    """Two operators that ran several times; the second changes a gradient in some runs."""

    def __init__(self, runs: int, changed: tuple[int, ...]) -> None:
        self.desc = core.ProgramDesc()
        for i, name in enumerate(("forward", "twin", "extra")):
            op = self.desc.block(0).append_op()
            op.copy_from(core.OpDesc("scale", {"X": ["h@GRAD"]}, {"Out": ["h@GRAD"]}, {}))
            op.set_call_site(name)
            assert self.desc.block(0).op(i).call_site() == name
        self.ops = {op.call_site(): op for op in self.desc.block(0).ops()}
        self.where = dict.fromkeys(self.ops, (0, 0))
        self.count, self.changed = runs, changed
        self.looked_at: list[tuple[str, int]] = []

    def runs(self, name: str) -> int:
        return self.count

    def at(self, name: str, variable: str, run: int, after: bool = False) -> Any:
        if after:
            self.looked_at.append((name, run))
        return np.full(2, 2.0 if after and run in self.changed else 1.0)


def search(seen: Seen, written: str = "h@GRAD") -> Search:
    twin = seen.ops["twin"]
    aligned = Aligned({"twin": twin}, written={0: {written}})
    pair = Pair(seen.desc, None, frozenset({"forward"}), {})
    return Search(seen, aligned, pair, 0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("runs", "looked_at"),
    [
        (0, []),
        (1, [0]),
        (7, [0, 1, 2, 3, 4, 5, 6]),
        (8, [0, 1, 2, 3, 4, 5, 6, 7]),
        (9, [0, 1, 2, 3, 5, 6, 7, 8]),
        (20, [0, 3, 5, 8, 11, 14, 16, 19]),
        (1000, [0, 143, 285, 428, 571, 714, 856, 999]),
    ],
)
def test_eight_runs_are_looked_at_the_first_and_the_last_among_them(runs, looked_at) -> None:
    seen = Seen(runs, ())
    assert search(seen).first_change() is None
    assert seen.looked_at == [("extra", run) for run in looked_at]


@pytest.mark.parametrize(("changed", "is_found"), [((0,), True), ((19,), True), ((1,), False)])
def test_a_change_in_any_of_them_is_blamed_on_the_operator(changed, is_found: bool) -> None:
    for judge in ("first_change", "first_wrong"):
        seen = Seen(20, changed)
        if judge == "first_wrong":
            del seen.ops["twin"]
            seen.desc.block(0).remove_op(0, 2)
            seen.ops["twin"] = seen.ops["extra"]
        found = getattr(search(seen), judge)()
        assert (found is not None) is is_found
        if found is not None:
            assert isinstance(found, Blame)
            assert (found.op, found.op_type, found.variable) == ("extra", "scale", "h@GRAD")


def test_what_no_gradient_operator_writes_may_change() -> None:
    assert search(Seen(3, (0, 1, 2)), "g@GRAD").first_change() is None


def test_what_had_no_value_before_has_not_changed() -> None:
    seen = Seen(3, (0, 1, 2))
    values = {True: np.ones(2), False: None}
    seen.at = lambda name, variable, run, after=False: values[after]  # type: ignore[method-assign]
    assert search(seen).first_change() is None
