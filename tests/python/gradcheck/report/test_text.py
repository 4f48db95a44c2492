import math
import re
from dataclasses import replace

import numpy as np
import pytest
import samples

from fluidcore.gradcheck.checker import GradientChecker
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.report.data import ElementError, Hypothesis
from fluidcore.gradcheck.report.phrases import PHRASES
from fluidcore.gradcheck.report.result import GradCheckReport
from fluidcore.gradcheck.report.text import report_text, reports_text, result_text
from fluidcore.gradcheck.verdict import Reason, Verdict

EVERYTHING = replace(
    samples.program_report(),
    results=tuple(
        replace(
            samples.wrong(f"w{i}", (20, 30)),
            reasons=tuple(Reason)[:4],
            hypotheses=tuple(Hypothesis(0.5, "a guess " * 80) for _ in range(9)),
            detail="much to say\n" * 50,
        )
        for i in range(40)
    ),
    audits=tuple(
        samples.Audit(f"audit {i}", Verdict.FAIL, Reason.NOT_LINEAR, "seen") for i in range(9)
    ),
    repro="\n".join(f"line_{i}()" for i in range(60)),
)


@pytest.mark.parametrize("report", [*samples.few(), EVERYTHING], ids=lambda report: report.who[:12])
def test_a_text_has_at_most_25_lines(report: GradCheckReport) -> None:
    for text in (str(report), *map(str, report.results)):
        assert len(text.splitlines()) <= 25
        assert not text.endswith("\n")


def test_the_verdict_comes_first() -> None:
    texts = [report_text(report) for report in samples.few()]
    assert texts[0].startswith("FAIL  matmul: 1 of 2 gradients wrong\n")
    assert texts[5].startswith("INCONCLUSIVE  relu: 1 of 1 gradient undecided\n")
    assert texts[-1].startswith("PASS  tanh: 1 gradient right\n")
    facts = "largest relative error 3.33e-16, an error of 3e-09 would have been seen"
    assert result_text(samples.right()) == f"PASS  x [4, 5] float64 cpu, full: {facts}"


def test_every_input_has_a_line_with_its_error_and_what_would_have_been_seen() -> None:
    lines = report_text(samples.few()[0]).splitlines()
    facts = "largest relative error 3.33e-16, an error of 3e-09 would have been seen"
    assert f"  ✓ x [4, 5] float64 cpu, full: PASS, {facts}" in lines
    facts = "largest relative error 0.5, an error of 3e-09 would have been seen"
    assert f"  ✗ y [5, 3] float64 cpu, full: FAIL, {facts}" in lines


def test_the_worst_element_is_told_by_its_multi_index_with_both_values_and_the_error_bar() -> None:
    worst = ElementError(7, 2.5, 1.25, 3e-12, Verdict.FAIL)
    result = replace(samples.wrong(), element_errors=(worst,))
    line = "[2, 1]: gradient 2.5, numerical 1.25 ± 3e-12, relative error 0.5"
    assert line in result_text(result)
    assert line in report_text(samples.report("matmul", result))


def test_formula_and_kernel_of_a_gradient_say_so_and_are_counted_once() -> None:
    formula, kernel = samples.wrong("x"), samples.right("x", (5, 3), "float32")
    lines = report_text(samples.report("tanh", formula, kernel)).splitlines()
    assert lines[0] == "FAIL  tanh: 1 of 1 gradient wrong"
    assert lines[1].startswith("  ✗ x [5, 3] formula (float64) cpu, full: FAIL, largest relative")
    right = (
        "  ✓ x [5, 3] kernel (float32) cpu, full: PASS, largest relative error beside the formula"
    )
    assert any(line.startswith(right) for line in lines)
    alone = str(samples.report("tanh", kernel, samples.right("w")))
    assert "x [5, 3] float32 cpu, full: PASS, largest relative error 1" in alone
    assert alone.startswith("PASS  tanh: 2 gradients right\n")


def test_a_wrong_kernel_is_shown_beside_the_formula() -> None:
    kernel = replace(samples.wrong("x"), dtype="float32", reasons=(Reason.KERNEL,))
    text = report_text(samples.report("tanh", samples.right("x", (5, 3)), kernel))
    assert "FAIL, largest relative error beside the formula 0.5" in text
    assert re.search(r"\]: gradient \S+, formula \S+ ± ", text)
    assert ", numerical " not in text


def test_the_elements_with_the_largest_relative_errors_come_first() -> None:
    fail, right, open_ = Verdict.FAIL, Verdict.PASS, Verdict.INCONCLUSIVE
    errors = (
        ElementError(0, 5.0, 5.0, 0.0, right),
        ElementError(1, 8.0, 4.0, 0.0, open_),
        ElementError(2, 11.0, 10.0, 0.0, fail),
        ElementError(3, 0.0, 1.0, 0.0, fail),
        ElementError(4, 0.0, 7.0, 0.0, fail),
        ElementError(5, 3.0, 4.0, 0.0, fail),
        ElementError(6, math.nan, 4.0, 0.0, fail),
    )
    text = str(replace(samples.wrong("x", (7,)), element_errors=errors))
    assert re.findall(r"^ +\[(\d)\]: ", text, re.MULTILINE) == list("6435210")


def test_a_reason_is_told_in_words_with_its_cure() -> None:
    for reason in Reason:
        text = result_text(samples.undecided(reason))
        assert f"{reason.value}: {PHRASES[reason].meaning}; {PHRASES[reason].cure}" in text


def test_inconclusive_without_a_reason_is_explained_too() -> None:
    result = replace(samples.undecided(), reasons=(), detail="")
    assert "this could be neither proven nor refuted" in result_text(result)


def test_an_error_that_is_all_of_the_gradient_is_nothing_to_have_seen() -> None:
    blind = replace(samples.right(), resolution=2.7, min_detectable_99=2.7)
    assert "no error would have been seen" in result_text(blind)
    part = replace(blind, num_passed=18)
    assert "only 18 of 20 could be judged" in result_text(part)
    single = replace(samples.right(), mode="directional", min_detectable_99=3.0)
    assert "would have been seen, in a single element nothing" in result_text(single)


def test_hypotheses_are_told() -> None:
    assert "perhaps A = 2 * G (100%)" in str(samples.wrong())


def test_the_culprit_is_told_with_the_users_line() -> None:
    text = str(samples.program_report())
    assert "culprit: matmul_grad (operator 17 of block 0, output Y@GRAD, gradient" in text
    assert "your line: train.py:41: hidden = layers.fc(image, 10)" in text


def test_a_missing_operator_is_a_culprit() -> None:
    report = samples.program_report()
    assert report.culprit is not None
    culprit = report.culprit._replace(op=-1, op_type="sum", slot="", reason=Reason.FANOUT_SUM)
    text = str(replace(report, culprit=culprit))
    assert "culprit: sum (missing in block 0, gradient fc_1.w@GRAD): fanout-sum" in text


def test_an_audit_that_failed_is_told() -> None:
    text = str(samples.failed_audit())
    assert "scatter_add: 1 audit failed" in text
    line = "audit failed [not-repeatable]: same bits twice: 3 of 20 elements differ by 1 ulp"
    assert line in text


def test_an_open_audit_is_told_as_one() -> None:
    report = samples.failed_audit()
    audits = [
        audit if audit.verdict is Verdict.PASS else audit._replace(verdict=Verdict.INCONCLUSIVE)
        for audit in report.audits
    ]
    text = str(replace(report, audits=tuple(audits)))
    assert "scatter_add: 1 audit undecided" in text
    assert "audit undecided [not-repeatable]: same bits twice" in text


def test_what_repeats_the_check_is_there() -> None:
    report = samples.few()[0]
    assert all(f"    {line}" in str(report) for line in report.repro.splitlines())
    assert "gradient code: csrc/fluidcore/ops/matmul.cc:41" in str(report)
    assert "seed 7" in str(replace(report, repro="", seed=7))


def test_even_the_longest_text_shows_a_reason_an_element_and_the_culprit() -> None:
    text = str(EVERYTHING)
    for part in ("grad-mismatch:", "gradient ", "± ", "culprit: matmul_grad", "line_0()"):
        assert part in text
    assert "... and 35 gradients more, 35 of them not right" in text
    assert "# 56 more lines: print(report.repro), or save r.json: fluidcore gradcheck" in text
    assert max(map(len, text.splitlines())) < 1000


def test_a_program_that_is_too_long_for_a_terminal_is_named_only() -> None:
    report = replace(samples.few()[0], repro="x = " + "1 + " * 1000 + "1")
    assert "to repeat (seed 0): print(report.repro), or save r.json: fluidcore" in str(report)


def test_directions_have_numbers_unless_a_search_has_found_elements() -> None:
    failed = samples.directional()
    assert "[0, 2]: gradient -3.25" in str(failed)
    undecided = replace(failed, verdict=Verdict.INCONCLUSIVE)
    assert "direction 2: gradient -3.25" in str(undecided)
    assert "in a single element 4e-05" in str(samples.report("embedding", failed))


def test_an_index_outside_the_shape_is_shown_as_a_number() -> None:
    error = ElementError(99, 1.0, 2.0, 0.0, Verdict.FAIL)
    assert "element 99: gradient 1, numerical 2, relative" in str(
        replace(samples.wrong(), element_errors=(error,))
    )


@pytest.mark.parametrize(
    ("resolution", "words"),
    [
        (math.inf, "no error"),
        (math.nan, "no error"),
        (1e250, "no error"),
        (0.0, "any error"),
        (0.5, "an error of 0.5"),
    ],
)
def test_what_would_have_been_seen_is_told_in_words(resolution: float, words: str) -> None:
    result = replace(samples.right(), resolution=resolution)
    assert f"{words} would have been seen" in str(samples.report("matmul", result))


def test_a_warning_is_told() -> None:
    report = samples.few()[8]
    assert str(report).startswith("PASS  sum: 1 gradient right, with 1 warning")
    assert "precision-loss: the gradient is right, but" in str(report)


def test_names_command_no_terminal_and_start_no_line() -> None:
    report = samples.report("a\nb\x1b[2J", samples.right("x\r\ny\x9b"))
    text = str(replace(report, repro="print('\x1b]0;')"))
    assert text.startswith("PASS  a b\ufffd[2J: ")
    assert "✓ x y\ufffd [4, 5]" in text
    assert "\x1b" not in text


def test_all_reports_end_with_the_counts() -> None:
    text = reports_text(samples.few())
    assert text.endswith("\n\n15 reports: 7 FAIL, 3 INCONCLUSIVE, 5 PASS\n")
    assert reports_text([]) == "0 reports: nothing was checked\n"


def test_a_pass_says_how_many_elements_it_is_not_about() -> None:
    x = np.array([0.0, 1.0, 2.0, 3.0])

    def vjp(x, v):
        return np.where(x > 0, v / 2 / np.sqrt(np.where(x > 0, x, 1)), 0)

    def report_of(x):
        return GradientChecker(GradCheckConfig(allow_open=0.1)).check_callable(np.sqrt, x, vjp=vjp)

    report = report_of(x)
    (result,) = report.results
    assert result.verdict is Verdict.PASS
    assert (result.num_open, result.num_passed, result.num_elements) == (1, 3, 4)
    assert "1 gradient right, 1 of 4 elements open" in str(report)
    assert "only 3 of 4 could be judged" in str(report)
    assert "1 of 4 cannot be judged: domain" in str(report)
    clean = report_of(x + 1)
    assert clean.results[0].num_open == 0
    assert "open" not in str(clean)
    assert "judged" not in str(clean)
    seen = replace(result, resolution=0.01, min_detectable_99=0.01)
    assert "an error of 0.01 would have been seen, only 3 of 4 could be judged" in str(seen)
    assert replace(result, verdict=Verdict.FAIL).num_open == 0
