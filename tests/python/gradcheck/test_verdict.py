"""What a check can say."""

import pytest

from fluidcore.gradcheck.verdict import Verdict

PASS, FAIL, OPEN = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


def test_only_a_pass_is_true() -> None:
    assert [bool(verdict) for verdict in (PASS, FAIL, OPEN)] == [True, False, False]


@pytest.mark.parametrize(
    ("verdicts", "together"),
    [
        ([], OPEN),
        ([PASS], PASS),
        ([PASS, PASS], PASS),
        ([PASS, OPEN], OPEN),
        ([OPEN, OPEN], OPEN),
        ([PASS, FAIL], FAIL),
        ([OPEN, FAIL, PASS], FAIL),
    ],
)
def test_the_worst_verdict_is_that_of_all(verdicts: list[Verdict], together: Verdict) -> None:
    assert Verdict.together(verdicts) is together
    assert Verdict.together(iter(verdicts)) is together
