"""Names of strangers in DOT, SVG, HTML and JSON that stands in a page."""

from __future__ import annotations

import html
import json
import re

# What XML cannot hold: control characters and halves of pairs.
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def escaped(text: str) -> str:
    """Text for an element or an attribute of SVG or HTML."""
    return html.escape(_NOT_IN_XML.sub("�", text))


def quoted(text: str) -> str:
    """A string of DOT; its backslashes and quotes mean themselves."""
    plain = _NOT_IN_XML.sub("�", text).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + plain.replace("\r", "").replace("\n", "\\n") + '"'


def script_json(data: object) -> str:
    """JSON that cannot end the script element that it stands in."""
    text = json.dumps(data, separators=(",", ":"))  # ASCII
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
