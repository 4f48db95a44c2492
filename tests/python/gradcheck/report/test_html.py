import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
import samples

from fluidcore.gradcheck.report.data import ElementError, Level
from fluidcore.gradcheck.report.groups import Column, columns, grouped
from fluidcore.gradcheck.report.heat_map import heat_map
from fluidcore.gradcheck.report.html import html_text
from fluidcore.gradcheck.report.phrases import SEVERITY
from fluidcore.gradcheck.report.plots import histogram, step_plot, taylor_plot, taylor_slope, usable
from fluidcore.gradcheck.report.result import GradCheckReport
from fluidcore.gradcheck.verdict import Reason, Verdict

OPTIONAL_END = {"tr", "td", "th", "thead", "tbody", "dt", "dd"}
VOID = {"meta", "input", "br"}


class Checker(HTMLParser):
    """Collects elements, and complains of an element that is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        assert [tag for tag in self._open if tag not in OPTIONAL_END] == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open[-1] in OPTIONAL_END and self._open[-1] != tag:
            self._open.pop()
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def of_class(self, name: str) -> int:
        return sum(name in (attrs.get("class") or "").split() for _, attrs in self.found)


@pytest.fixture(scope="module")
def page() -> str:
    return html_text(samples.few())


def test_every_element_is_closed_and_ids_are_unique(page: str) -> None:
    checker = Checker(page)
    ids = [attrs["id"] for _, attrs in checker.found if "id" in attrs]
    assert len(set(ids)) == len(ids) == 12  # 11 rows and the filter
    Checker(html_text([]))


def test_the_page_loads_nothing(page: str) -> None:
    assert "default-src 'none'" in page
    for _, attrs in Checker(page).found:
        assert not {"src", "href", "action", "srcset", "style", "onclick"} & set(attrs)
    assert not re.search(r"url\(|@import|https?:", page)


def test_200_operators_in_four_dtypes_are_less_than_300_kb() -> None:
    reports = samples.many()
    assert len({report.who for report in reports}) == 200
    page = html_text(reports)
    assert len(page.encode()) < 300_000
    assert "To keep the page small, " in page
    assert page.count('<details class="tensor f"') >= 12  # the worst gradient of each operator
    Checker(page)


def test_200_wrong_operators_are_less_than_300_kb_too() -> None:
    page = html_text(samples.many(200, 200))
    assert len(page.encode()) < 300_000
    assert page.count('class="f" id="o') == 200


def test_verdicts_have_a_glyph_beside_their_colour(page: str) -> None:
    for style, glyph in (("f", "✗"), ("q", "?"), ("p", "✓")):
        assert f'<i class="{style}">{glyph}</i>' in page


def test_the_matrix_has_a_column_for_each_dtype_and_place() -> None:
    gpu = replace(samples.right(dtype="float32"), place="gpu")
    reports = [*samples.few(), samples.report("tanh", gpu)]
    assert columns(reports) == [
        Column("float64", "cpu"),
        Column("float32", "cpu"),
        Column("bfloat16", "cpu"),
        Column("float16", "cpu"),
        Column("float32", "gpu"),
    ]
    page = html_text(reports)
    row = page[page.index("<b>tanh</b>") :].split("<span>")[0]
    assert row.count('<i class="p">✓</i>') == 5


def test_reports_of_one_name_are_one_row_and_the_wrong_ones_come_first() -> None:
    groups = grouped(samples.few())
    verdicts = [group.verdict for group in groups]
    assert verdicts == sorted(verdicts, key=[*SEVERITY].index)
    assert groups[0].who == "matmul"
    assert groups[0].cell(Column("float32", "cpu")) is Verdict.FAIL
    assert groups[0].cell(Column("float16", "cpu")) is None
    assert groups[-1].who == "tanh"
    assert groups[-1].verdict is Verdict.PASS


def test_an_audit_that_failed_colours_the_columns_of_its_report() -> None:
    group = grouped([samples.failed_audit()])[0]
    assert group.cell(Column("float32", "cpu")) is Verdict.FAIL
    assert "audit <b>same bits twice</b>" in html_text([samples.failed_audit()])


def test_several_checks_of_one_input_have_several_rows() -> None:
    reports = [samples.report("matmul", samples.right()) for _ in range(40)]
    group = grouped([*reports, samples.report("matmul", samples.wrong())])[0]
    rows = group.rows()
    assert [row.name for row in rows] == ["y"] + ["x"] * 40
    assert "<tr><th>and 29 more" in html_text(reports)


def test_foreign_text_is_escaped(page: str) -> None:
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;" in page
    assert "\x00" not in page
    assert "\x1b" not in page


def test_a_wrong_gradient_is_explained(page: str) -> None:
    for part in (
        "the formula of the gradient differs from the numerical derivative",
        "A = 2 * G",
        "<td>2.680430491<td>1.340215246",
        "an error of 3e-09 would have been seen",
        '<pre class="repro">from fluidcore import gradcheck',
    ):
        assert part in page
    for title in ("Where the differences are", "Sizes of the differences", "Step size", "Taylor"):
        assert f"<b>{title}" in page


def test_the_culprit_is_shown_with_the_users_line(page: str) -> None:
    assert "<b>matmul_grad</b> is wrong (operator 17 of block 0, output Y@GRAD, gradient" in page
    assert "<pre>train.py:41: hidden = layers.fc(image, 10)</pre>" in page


def test_the_page_is_the_same_each_time() -> None:
    assert html_text(samples.few()) == html_text(samples.few())


def test_the_slope_of_the_taylor_remainder_tells_right_from_wrong() -> None:
    assert taylor_slope(usable(samples.levels())) == pytest.approx(2, abs=0.1)
    assert taylor_slope(usable(samples.levels(0.5))) == pytest.approx(1, abs=0.1)


def test_remainders_of_rounding_have_no_slope() -> None:
    levels = [Level(2.0**-k, 1.0, 1e-16, 1e-17) for k in range(9)]
    assert taylor_slope(usable(levels)) is None
    assert "All of it is rounding" in taylor_plot(levels)


def test_levels_that_are_not_finite_are_left_out() -> None:
    bad = [
        Level(1.0, math.nan, 0.0, 1.0),
        Level(0.5, 1.0, math.inf, 1.0),
        Level(0.0, 1.0, 0.0, 1.0),
    ]
    assert usable(bad) == []
    assert step_plot(bad) == taylor_plot(bad) == ""
    exact = [Level(2.0**-k, 1.0, 0.0, 0.0) for k in range(5)]
    assert "exact at every step" in step_plot(exact)
    assert taylor_plot(exact) == ""


@pytest.mark.parametrize("number", [5e-324, 1e-300, 1e300, 1.7e308])
def test_plots_hold_the_smallest_and_the_largest_numbers(number: float) -> None:
    levels = [Level(2.0**-k, number, number, number) for k in range(5)]
    errors = [ElementError(i, number, 0.0, number, Verdict.FAIL) for i in range(4)]
    for picture in (step_plot(levels), taylor_plot(levels), histogram(errors)):
        for pixel in map(int, re.findall(r"[ML](-?\d+) ", picture)):
            assert 0 <= pixel <= 340


def test_differences_of_zero_and_not_finite_ones_are_counted() -> None:
    values = (0.0, 0.0, 1e-3, math.nan, math.inf)
    errors = [ElementError(i, value, 0.0, 0.0, Verdict.PASS) for i, value in enumerate(values)]
    caption = histogram(errors)
    assert "2 elements without a difference" in caption
    assert "2 elements not finite" in caption
    assert histogram(errors[:2]) == ""


@pytest.mark.parametrize(
    ("shape", "box"),
    [((3, 5), "5 3"), ((2, 3, 5), "5 6"), ((7,), "7 1"), ((100,), "10 10"), ((100, 400), "40 20")],
)
def test_the_map_has_the_last_axis_across(shape: tuple[int, ...], box: str) -> None:
    result = replace(samples.right(shape=shape), verdict=Verdict.FAIL)
    errors = [ElementError(i, float(i), 0.0, 0.0, Verdict.FAIL) for i in range(math.prod(shape))]
    assert f'viewBox="0 0 {box}"' in heat_map(result, errors)


def test_a_cell_of_many_elements_shows_the_worst() -> None:
    result = replace(samples.right(shape=(48, 40)), verdict=Verdict.FAIL)
    right = ElementError(0, 5.0, 0.0, 9.0, Verdict.PASS)
    wrong = ElementError(40, 1.0, 0.0, 0.0, Verdict.FAIL)
    picture = heat_map(result, [right, wrong])
    assert '<path class="f h5" d="M0 0h1v1h-1z"/>' in picture
    assert 'class="p' not in picture
    assert "the worst of 2 by 1 elements" in picture


def test_there_is_no_map_of_a_number_of_directions_or_of_foreign_indices() -> None:
    number = replace(samples.wrong(shape=(1, 1)), element_errors=())
    error = ElementError(0, 1.0, 2.0, 0.0, Verdict.FAIL)
    outside = replace(error, index=10**9)
    assert heat_map(number, [error]) == ""
    assert heat_map(replace(samples.directional(), verdict=Verdict.INCONCLUSIVE), [error]) == ""
    assert heat_map(samples.wrong(), [outside, replace(error, index=-1)]) == ""


def test_a_large_tensor_is_sampled() -> None:
    errors = tuple(ElementError(i, 1.0, 0.0, 0.1, Verdict.FAIL) for i in range(300_000))
    large = replace(samples.wrong(shape=(600, 500)), element_errors=errors)
    page = html_text([samples.report("matmul", large)])
    assert len(page) < 60_000
    assert "up to 20000 elements" in page


@pytest.mark.parametrize("report", samples.few(), ids=lambda report: report.who[:12])
def test_every_report_alone_is_a_page(report: GradCheckReport) -> None:
    Checker(html_text([report]))


def test_every_reason_is_explained() -> None:
    for reason in Reason:
        page = html_text([samples.report("x", samples.undecided(reason))])
        assert f"<b>{reason.value}</b>" in page


def test_the_worst_of_several_examples_is_one_row_for_all_dtypes() -> None:
    single = replace(samples.right("x", (4, 5), "float64"), num_examples=24, num_examples_passed=24)
    half = replace(samples.wrong("x", (2, 3), "float16"), num_examples=6, num_examples_passed=4)
    text = html_text([samples.report("tanh", single, half)])
    assert "x (worst of 6 to 24 examples)" in text
    assert "<b>x</b> [2, 3] kernel (float16) cpu, worst of 6 examples" in text
    assert "2 of 6 examples not right" in text


def test_the_columns_of_formula_and_kernel_say_so() -> None:
    formula, kernel = samples.wrong("x"), samples.right("x", (5, 3), "float32")
    apart = html_text([samples.report("tanh", formula, kernel)])
    assert "<i>formula<br>float64<br>cpu</i><i>kernel<br>float32<br>cpu</i>" in apart
    assert "<th>formula (float64) cpu<th>kernel (float32) cpu" in apart
    assert "<b>x</b> [5, 3] formula (float64) cpu</summary>" in apart
    assert "<th>gradient A<th>numerical G<th>" in apart
    alone = html_text([samples.report("tanh", kernel)])
    assert "<i>float32<br>cpu</i>" in alone
    assert "<th>float32 cpu" in alone
    narrow = replace(formula, dtype="float32")
    wrong = html_text([samples.report("tanh", samples.right("x"), narrow)])
    assert "<th>gradient A<th>formula G<th>" in wrong


def test_the_table_shows_the_largest_relative_errors_first() -> None:
    errors = tuple(ElementError(i, 100.0 + i, 100.0, 0.0, Verdict.FAIL) for i in range(1, 13))
    page = html_text([samples.report("y", replace(samples.wrong(), element_errors=errors))])
    assert re.findall(r"<td>(\d+)<td>100<td>", page) == [str(112 - i) for i in range(10)]


def test_what_a_row_of_right_gradients_sees_is_told_apart_from_what_it_does_not() -> None:
    clear = samples.right(dtype="float32")
    blurred = replace(samples.right(dtype="bfloat16"), resolution=2.7, min_detectable_99=2.7)
    text = html_text([samples.report("pow", clear, blurred)])
    assert "1.2e-06 would be seen; in bfloat16 not in every element" in text
    alone = html_text([samples.report("pow", blurred)])
    assert "in bfloat16 not in every element" in alone


def test_a_hypothesis_says_how_much_it_explains() -> None:
    assert "</meter> 100% A = 2 * G" in html_text([samples.report("mul", samples.wrong())])


def test_notes_are_shown_once() -> None:
    noted = replace(samples.report("net", samples.right()), notes=("not checked: <w>",))
    text = html_text([noted, noted])
    assert text.count("note: not checked: &lt;w&gt;") == 1
