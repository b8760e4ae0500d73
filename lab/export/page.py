"""The space-time diagram as a page: one file, without network, that shows what led to a message and what followed.

The diagram is that of ``diagram``. The script is beside this file, and knows the messages from data that are no
part of it; the page allows that one script and no other, so foreign text in it can do nothing.
"""

import base64
import hashlib
from html import escape
from importlib.resources import files
from string import Template
from typing import Any, TextIO

import msgspec

from lab.export.diagram import diagram_of
from lab.export.excerpt import Excerpt
from lab.export.paper import FAINT, INK, PAPER, RULE
from lab.export.words import head_said, safe
from lab.palette import Palette

__all__ = ["write_html"]

_COLOURS = ("green", "orange", "sky", "vermilion", "purple", "yellow")
_ON_DARK = {INK: "#e6e6e6", FAINT: "#9a9a9a", RULE: "#2e2e2e", PAPER: "#16181c"}


def write_html(excerpt: Excerpt, out: TextIO) -> None:
    """One file. ExportError."""
    folder = files("lab.export")
    script = (folder / "page.js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = Template((folder / "page.html").read_text("utf-8")).substitute(
        title=escape(safe(excerpt.header.protocol.title, 60)),
        about=escape(head_said(excerpt)),
        digest=digest,
        dark=_dark(),
        style=(folder / "page.css").read_text("utf-8"),
        diagram=diagram_of(excerpt, header=""),
        messages=_in_script(_messages(excerpt)),
        script=script,
    )
    out.write(page)


def _messages(excerpt: Excerpt) -> list[dict[str, Any]]:
    """Of each arrow: between which places of nodes, sent and taken with which records, and its sender's clock."""
    place = {node: n for n, node in enumerate(excerpt.header.nodes)}
    return [
        {
            "from": place[arrow.line.source or 0],
            "to": place[arrow.line.target or 0],
            "taken": arrow.end.record if arrow.arrived and arrow.end is not None else None,
            "clock": excerpt.clocks.get(arrow.line.message, ()),
        }
        for arrow in excerpt.arrows
    ]


def _in_script(value: Any) -> str:
    """As JSON that cannot end the element that it is in."""
    return msgspec.json.encode(value).decode().replace("<", "\\u003c")


def _dark() -> str:
    """Each colour of the diagram as it is on a dark ground."""
    light, dark = Palette(dark=False), Palette(dark=True)
    colours = {**_ON_DARK, **{light.named(each): dark.named(each) for each in _COLOURS}}
    return "\n".join(
        f'  svg [{paint}="{before}"] {{ {paint}: {after}; }}'
        for before, after in colours.items()
        for paint in ("fill", "stroke")
    )
