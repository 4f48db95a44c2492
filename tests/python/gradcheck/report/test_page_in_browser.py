"""The page in Chromium, where there is one."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import samples
from browser import CHROMIUM, Page, open_browser

from fluidcore.gradcheck.report.saving import save

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no program chromium")

SHOWN = "[...document.querySelectorAll('main > details')].filter((row) => row.offsetHeight).length"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with open_browser(tmp_path_factory.mktemp("chromium")) as page:
        yield page


@pytest.fixture
def page(browser: Page, tmp_path: Path) -> Iterator[Page]:
    path = tmp_path / "report.html"
    save(samples.few(), path)
    browser.messages.clear()
    browser.requests.clear()
    browser.open(path)
    yield browser
    assert browser.messages == []
    assert browser.requests == [path.as_uri()]


def test_the_style_and_the_script_are_allowed_and_complain_of_nothing(page: Page) -> None:
    assert page.value("getComputedStyle(document.querySelector('main')).borderRadius") == "8px"
    assert page.value("document.getElementById('filter').hidden") is False


def test_the_filter_shows_rows_with_all_words(page: Page) -> None:
    assert page.value(SHOWN) == 11
    page.value("document.querySelector('[type=search]').focus()")
    page.call("Input.insertText", text="grad-MISMATCH matmul")
    assert page.value(SHOWN) == 2  # matmul, and the program whose culprit is matmul_grad
    assert page.value("document.querySelector('output').value") == "2 of 11"


def test_the_filter_shows_chosen_verdicts(page: Page) -> None:
    page.value("document.querySelector('[value=f]').click()")
    assert page.value(SHOWN) == 5
    page.value("document.querySelector('[value=q]').click()")
    assert page.value(SHOWN) == 2


def test_a_row_opens_and_closes(page: Page) -> None:
    opened = "document.querySelectorAll('main > details[open]').length"
    assert page.value(opened) == 1
    page.value("document.querySelector('#o3 > summary').click()")
    assert page.value(opened) == 2


def test_a_program_is_copied(page: Page) -> None:
    page.value(
        "Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (text) => "
        "{ globalThis.copied = text; }}})"
    )
    page.value("document.querySelector('.copy button').click()")
    assert page.value("copied") == samples.few()[0].repro
    assert page.value("document.querySelector('.copy button').textContent") == "copied"


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_is_no_wider_than_the_window(page: Page, width: int) -> None:
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    page.call("Emulation.setDeviceMetricsOverride", **size)
    page.value("document.querySelectorAll('details').forEach((row) => (row.open = true))")
    assert page.value("document.documentElement.scrollWidth") <= width


def test_without_scripts_the_rows_open_and_no_filter_is_shown(
    browser: Page, tmp_path: Path
) -> None:
    save(samples.few(), tmp_path / "report.html")
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(tmp_path / "report.html")
        assert browser.value("document.getElementById('filter').offsetHeight") == 0
        assert browser.value("document.querySelector('#o0 table').offsetHeight") > 0
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
