import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import sample_programs
from test_readme import ROOT, run_page

import fluidcore as fluid
from fluidcore import layers
from fluidcore.picture.arrange import arranged
from fluidcore.picture.escaping import escaped
from fluidcore.picture.graph import read_graph

SVG = "{http://www.w3.org/2000/svg}"


def boxes(text: str, kind: str) -> list[str]:
    """The titles of boxes of a kind."""
    found = [g for g in ElementTree.fromstring(text).iter(f"{SVG}g") if kind in _classes(g)]
    return [g.find(f"{SVG}text").text for g in found]


def _classes(element: ElementTree.Element) -> list[str]:
    return element.get("class", "").split()


def test_every_operator_is_a_box_and_what_is_fed_too():
    program = sample_programs.perceptron()
    text = program.to_svg()
    assert sorted(boxes(text, "op")) == sorted(op.type for op in program.global_block().ops)
    assert boxes(text, "input") == ["x"]


def test_forward_backward_and_updates_are_beside_each_other():
    picture = arranged(read_graph(sample_programs.perceptron().desc))
    assert [head for _, head in picture.heads] == ["forward", "backward", "optimizer"]
    ends = {}
    for box in picture.boxes:
        left, right = ends.get(box.role, (box.x, 0.0))
        ends[box.role] = min(left, box.x), max(right, box.x + box.width)
    (_, a), (b, c), (d, _) = ends.values()
    assert a < b < c < d


def test_forward_runs_downwards_and_backward_upwards():
    picture = arranged(read_graph(sample_programs.perceptron().desc))
    for line in picture.lines:
        if not line.across:
            down = line.target.y - line.source.y
            assert (down < 0) == (line.source.role == "backward")


@pytest.mark.parametrize(
    "program", [sample_programs.perceptron, sample_programs.loop, lambda: sample_programs.tower(4)]
)
def test_boxes_do_not_overlap_and_stay_in_the_picture(program):
    waiting = [arranged(read_graph(program().desc))]
    while waiting:
        picture = waiting.pop()
        for number, a in enumerate(picture.boxes):
            assert min(a.x, a.y) > -1e-6
            assert a.x + a.width <= picture.width + 1e-6
            assert a.y + a.height <= picture.height + 1e-6
            for b in picture.boxes[:number]:
                apart_across = a.x + a.width <= b.x or b.x + b.width <= a.x
                assert apart_across or a.y + a.height <= b.y or b.y + b.height <= a.y
            for inner in a.inner:
                assert inner.x + inner.width <= a.width
                assert inner.y + inner.height <= a.height
                waiting.append(inner)


def test_lines_are_labelled_with_dtype_and_shape():
    text = sample_programs.perceptron().to_svg()
    labels = [e.text for e in ElementTree.fromstring(text).iter() if _classes(e) == ["label"]]
    assert "float32 [?,3]" in labels
    assert "fc_0.tmp_0 float32 [?,4]" in text  # a tooltip


def test_operators_of_a_block_are_inside_the_operator_that_runs_it():
    root = ElementTree.fromstring(sample_programs.loop().to_svg())
    outer = next(g for g in root.iter(f"{SVG}g") if "nest" in _classes(g))
    assert outer.find(f"{SVG}text").text == "while"
    assert any("op" in _classes(g) for g in outer.iter(f"{SVG}g") if g is not outer)


def test_a_program_of_many_operators_has_few_boxes():
    program = sample_programs.tower(30)
    text = program.to_svg(max_boxes=20)
    assert len(boxes(text, "node")) <= 3 * 20 + 10
    everything = program.to_svg(max_boxes=None)
    assert len(boxes(everything, "op")) == len(program.global_block().ops) > 900


def test_the_picture_in_the_docs_is_what_their_page_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    run_page(ROOT / "docs" / "pictures.md")
    drawn = (tmp_path / "digits.svg").read_text(encoding="utf-8")
    assert drawn == (ROOT / "docs" / "pictures" / "digits.svg").read_text(encoding="utf-8")


def test_an_empty_program_is_an_empty_picture():
    assert boxes(fluid.Program().to_svg(), "node") == []


def test_a_startup_program_is_a_pile_that_is_not_too_high():
    for _ in range(120):
        layers.fc(layers.data("x", [3]), 3)
    picture = arranged(read_graph(fluid.default_startup_program().desc))
    assert picture.height < 1300
    assert len(picture.boxes) == 240


def test_names_of_strangers_are_text():
    text = sample_programs.hostile().to_svg()
    assert sum(e.tag == f"{SVG}script" for e in ElementTree.fromstring(text).iter()) == 0
    assert "<script" not in text
    assert "<img" not in text


def test_what_xml_cannot_hold_is_replaced():
    assert escaped("a\x00\x1b\ud800<b>") == "a\ufffd\ufffd\ufffd&lt;b&gt;"


def test_long_names_are_cut_in_the_middle():
    name = "a" * 100 + "_the_end"
    layers.tanh(layers.data(name, [3]))
    text = fluid.default_main_program().to_svg()
    (title,) = boxes(text, "input")
    assert f"<title>{name}</title>" in text
    assert len(title) < 40
    assert title.startswith("aaa")
    assert title.endswith("_the_end")
