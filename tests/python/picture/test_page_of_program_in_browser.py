"""The page in Chromium, where there is one."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sample_programs
from browser import CHROMIUM, Page, open_browser

import fluidcore as fluid

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no program chromium")

CLICK = "dispatchEvent(new MouseEvent('click', {bubbles: true}))"
DETAILS = "document.getElementById('details')"
FOUND = "[...document.querySelectorAll('#found button')].map((button) => button.textContent)"
CRUMBS = "[...document.querySelectorAll('#crumbs button')].map((button) => button.textContent)"
VIEW = "document.querySelector('#stage svg').getAttribute('viewBox').split(' ').map(Number)"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with open_browser(tmp_path_factory.mktemp("chromium")) as page:
        yield page


@pytest.fixture
def folder(browser: Page, tmp_path: Path) -> Iterator[Path]:
    browser.messages.clear()
    browser.requests.clear()
    yield tmp_path
    assert browser.messages == []
    assert len(browser.requests) == 1  # the page itself


def show(browser: Page, folder: Path, program: fluid.Program, **settings: int) -> None:
    size = {"width": 1200, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.call("Emulation.setDeviceMetricsOverride", **size)
    program.to_html(folder / "program.html", **settings)
    browser.open(folder / "program.html")


def type_into_search(browser: Page, text: str) -> None:
    browser.value("document.querySelector('[type=search]').focus()")
    browser.call("Input.insertText", text=text)


def test_a_click_on_an_operator_shows_its_details(browser: Page, folder: Path):
    show(browser, folder, sample_programs.perceptron())
    assert browser.value(f"{DETAILS}.hidden")
    browser.value(f"document.querySelector('[data-id=\"0.0\"]').{CLICK}")
    said = browser.value(f"{DETAILS}.innerText")
    for part in ("mul", "operator 0 of block 0, forward", "w float32 [3,4], parameter"):
        assert part in said
    assert "sample_programs.py:" in said
    assert fluid.core.op_def("mul").doc[:40] in said
    assert browser.value("document.querySelectorAll('.edge.lit').length") == 3
    browser.value(f"{DETAILS}.querySelector('.close').click()")
    assert browser.value(f"{DETAILS}.hidden")


def test_a_click_with_the_mouse_does_the_same(browser: Page, folder: Path):
    show(browser, folder, sample_programs.perceptron())
    place = browser.value(
        "(({x, y, width}) => [x + width / 2, y + 8])"
        "(document.querySelector('[data-id=\"0.0\"]').getBoundingClientRect())"
    )
    for kind in ("mousePressed", "mouseReleased"):
        point = {"x": place[0], "y": place[1], "button": "left", "clickCount": 1}
        browser.call("Input.dispatchMouseEvent", type=kind, **point)
    assert browser.value(f"{DETAILS}.querySelector('h2').textContent") == "mul"


def test_the_search_finds_operators_and_leads_to_them(browser: Page, folder: Path):
    show(browser, folder, sample_programs.tower(20), max_boxes=20)
    type_into_search(browser, "RELU tmp")
    assert len(browser.value(FOUND)) == 60
    assert "more" in browser.value("document.querySelector('#found .more').textContent")
    browser.value("document.querySelector('#found button').click()")
    assert len(browser.value(CRUMBS)) > 1
    assert browser.value("document.querySelector('.chosen .title').textContent").startswith(
        browser.value(f"{DETAILS}.querySelector('h2').textContent")
    )
    inside = browser.value(
        "(({x, y}) => [x > 0 && x < innerWidth, y > 0 && y < innerHeight])"
        "(document.querySelector('.chosen').getBoundingClientRect())"
    )
    assert inside == [True, True]


def test_a_search_without_result_says_so(browser: Page, folder: Path):
    show(browser, folder, sample_programs.perceptron())
    type_into_search(browser, "no such thing")
    assert browser.value("document.getElementById('found').textContent") == "nothing"


def test_a_group_opens_and_the_way_back_leads_out(browser: Page, folder: Path):
    show(browser, folder, sample_programs.tower(20), max_boxes=20)
    browser.value(f"document.querySelector('.group').{CLICK}")
    assert browser.value(CRUMBS)[0] == "Program"
    assert len(browser.value(CRUMBS)) == 2
    browser.value("document.querySelector('#crumbs button').click()")
    assert browser.value(CRUMBS) == ["Program"]


def test_buttons_keys_and_the_wheel_zoom(browser: Page, folder: Path):
    show(browser, folder, sample_programs.perceptron())
    _, _, width, _ = browser.value(VIEW)
    browser.value("document.querySelector('[value=\"+\"]').click()")
    assert browser.value(VIEW)[2] == pytest.approx(width / 1.25)
    browser.value("dispatchEvent(new KeyboardEvent('keydown', {key: '-'}))")
    assert browser.value(VIEW)[2] == pytest.approx(width)
    wheel = "document.getElementById('stage').dispatchEvent(new WheelEvent('wheel', {deltaY: 200}))"
    browser.value(wheel)
    assert browser.value(VIEW)[2] > width


def test_dragging_moves_the_picture_and_opens_nothing(browser: Page, folder: Path):
    show(browser, folder, sample_programs.perceptron())
    x, y, width, _ = browser.value(VIEW)
    node = browser.value(
        "(({x, y}) => [x + 9, y + 9])"
        "(document.querySelector('[data-id=\"0.0\"]').getBoundingClientRect())"
    )
    moves = [("mousePressed", 0), ("mouseMoved", 30), ("mouseMoved", 60), ("mouseReleased", 60)]
    for kind, by in moves:
        point = {"x": node[0] + by, "y": node[1] + by, "button": "left", "buttons": 1}
        browser.call("Input.dispatchMouseEvent", type=kind, clickCount=1, **point)
    moved = browser.value(VIEW)
    scale = browser.value("document.getElementById('stage').clientWidth") / width
    assert moved[0] == pytest.approx(x - 60 / scale)
    assert moved[1] == pytest.approx(y - 60 / scale)
    assert browser.value(f"{DETAILS}.hidden")


def test_an_operator_opens_with_the_keyboard(browser: Page, folder: Path):
    show(browser, folder, sample_programs.perceptron())
    browser.value(
        "document.querySelector('[data-id=\"0.1\"]').dispatchEvent("
        "new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}))"
    )
    assert browser.value(f"{DETAILS}.querySelector('h2').textContent") == "elementwise_add"
    browser.value("dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))")
    assert browser.value(f"{DETAILS}.hidden")


def test_names_of_strangers_run_nothing(browser: Page, folder: Path):
    show(browser, folder, sample_programs.hostile())
    type_into_search(browser, "script")
    assert browser.value(FOUND)
    browser.value("document.querySelector('#found button').click()")
    assert sample_programs.HOSTILE in browser.value(f"{DETAILS}.textContent")
    assert browser.value("document.images.length + document.scripts.length") == 2


def test_without_scripts_the_picture_is_shown(browser: Page, folder: Path):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        show(browser, folder, sample_programs.perceptron())
        assert browser.value("document.querySelector('#stage svg').clientHeight") > 300
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_the_picture_is_dark_where_the_screen_is(browser: Page, folder: Path):
    show(browser, folder, sample_programs.perceptron())
    colors = []
    for scheme in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        browser.call("Emulation.setEmulatedMedia", features=[feature])
        colors.append(browser.value("getComputedStyle(document.querySelector('.op > .box')).fill"))
    assert colors == ["rgb(255, 255, 255)", "rgb(16, 22, 28)"]
