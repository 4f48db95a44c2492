"""Pictures as SVG."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import resources

from fluidcore.picture.boxes import LINE, PADDING, TITLE, Box, Line, Picture
from fluidcore.picture.escaping import escaped
from fluidcore.picture.layout import Point

MARGIN = 24.0
_NAMED = 12  # values in the tooltip of a line


def svg_text(picture: Picture, title: str) -> str:
    """A file of SVG, light or dark as the reader's screen is."""
    return svg_element(picture, title, style())


def svg_element(picture: Picture, title: str, css: str = "") -> str:
    """An svg element.

    Args:
        picture: What it shows.
        title: For those who cannot see it.
        css: Its style; "" where the page has it.
    """
    width, height = picture.width + 2 * MARGIN, picture.height + 2 * MARGIN
    # The tips of lines need a name that another picture in the same page may have, too.
    tip = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" markerUnits="userSpaceOnUse" orient="auto">'
        '<path class="tip" d="M0 0.5L8 4L0 7.5z"/></marker></defs>'
    )
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="program" width="{_n(width)}" '
            f'height="{_n(height)}" viewBox="0 0 {_n(width)} {_n(height)}" role="img" '
            f'aria-label="{escaped(title)}">',
            f"<style>{css}</style>" if css else "",
            tip,
            f'<rect class="ground" width="{_n(width)}" height="{_n(height)}"/>' if css else "",
            f'<g transform="translate({_n(MARGIN)} {_n(MARGIN)})">',
            *_content(picture),
            "</g></svg>\n",
        ]
    )


def style() -> str:
    """The style of pictures, as CSS."""
    return resources.files(__package__).joinpath("picture.css").read_text("utf-8")


def _content(picture: Picture) -> Iterator[str]:
    for left, head in picture.heads:
        yield f'<text class="head" x="{_n(left)}" y="12">{escaped(head)}</text>'
    for line in picture.lines:
        yield _edge(line)
    for box in picture.boxes:
        yield from _box(box)
    labelled = {line.values[0].name: line for line in reversed(picture.lines) if not line.across}
    values = Counter(line.source for line in labelled.values())
    for line in labelled.values():  # each value once; tooltips name it at all lines
        if line.label:
            yield _label(line, 0.25 if values[line.source] == 1 else 0.7)


def _box(box: Box) -> Iterator[str]:
    nest = " nest" if box.inner else ""
    yield (
        f'<g class="node {box.kind} {box.role.value}{nest}" data-id="{escaped(box.id)}" '
        f'transform="translate({_n(box.x)} {_n(box.y)})">'
    )
    if box.tooltip:
        yield f"<title>{escaped(box.tooltip)}</title>"
    size = f'width="{_n(box.width)}" height="{_n(box.height)}"'
    if box.kind == "group":
        yield f'<rect class="pile" x="4" y="4" rx="6" {size}/>'
    corner = 12 if box.kind == "input" else 6
    yield f'<rect class="box" rx="{corner}" {size}/>'
    if box.kind != "input":
        yield f'<rect class="bar" x="1" y="6" width="3" rx="1.5" height="{_n(box.height - 12)}"/>'
    left = PADDING + 4
    down = PADDING + 0.62 * TITLE
    yield f'<text class="title" x="{_n(left)}" y="{_n(down)}">{escaped(box.title)}</text>'
    for number, line in enumerate(box.lines, 1):
        yield f'<text x="{_n(left)}" y="{_n(down + 3 + LINE * number)}">{escaped(line)}</text>'
    for inner in box.inner:
        yield f'<g transform="translate({_n(inner.x)} {_n(inner.y)})">'
        yield from _content(inner)
        yield "</g>"
    yield "</g>"


def _edge(line: Line) -> str:
    said = "\n".join(f"{value.name} {value.label}".rstrip() for value in line.values[:_NAMED])
    if len(line.values) > _NAMED:
        said += f"\nand {len(line.values) - _NAMED} more"
    curve = _sideways(line.points) if line.across else _curve(line.points)
    kind = "edge across" if line.across else "edge"
    return (
        f'<path class="{kind}" d="{curve}" marker-end="url(#tip)" '
        f'data-from="{escaped(line.source.id)}" data-to="{escaped(line.target.id)}">'
        f"<title>{escaped(said)}</title></path>"
    )


def _curve(points: Sequence[Point]) -> str:
    """Leaves and reaches each point vertically."""
    (x, y), *rest = points
    path = [f"M{_n(x)} {_n(y)}"]
    for across, down in rest:
        middle = (y + down) / 2
        if across == x:
            path.append(f"V{_n(down)}")
        else:
            path.append(f"C{_n(x)} {_n(middle)} {_n(across)} {_n(middle)} {_n(across)} {_n(down)}")
        x, y = across, down
    return "".join(path)


def _sideways(points: Sequence[Point]) -> str:
    (x, y), (across, down) = points
    middle = (x + across) / 2
    return f"M{_n(x)} {_n(y)}C{_n(middle)} {_n(y)} {_n(middle)} {_n(down)} {_n(across)} {_n(down)}"


def _label(line: Line, part: float) -> str:
    """The label of a line, after this part of its first piece."""
    (x, y), (across, down) = line.points[:2]
    at, height = x + part * (across - x) + 5, y + part * (down - y) + 6
    place, text = f'x="{_n(at)}" y="{_n(height)}"', escaped(line.label)
    # Lines end at the halo; `paint-order` would do the same, but W3C's validator knows it not.
    return f'<text class="halo" {place}>{text}</text><text class="label" {place}>{text}</text>'


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
