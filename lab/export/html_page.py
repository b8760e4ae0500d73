"""The space-time diagram as a page: one file, for use offline.

It shows the causal past and future of a message. Its script reads the messages from a JSON element. The content
security policy of the page allows only this script, so foreign text in the page cannot run code.
"""

import base64
import hashlib
from html import escape
from importlib.resources import files
from string import Template
from typing import Any, TextIO

import msgspec
from msgspec.structs import replace

from lab.export.annotations import describe_excerpt, printable
from lab.export.excerpt import Excerpt
from lab.export.figure_themes import THEMES
from lab.export.svg_diagram import diagram_of
from lab.palette import Palette

MOST_ARROWS = 3_000

_COLOURS = ("green", "orange", "sky", "vermilion", "purple", "yellow")


def write_html(excerpt: Excerpt, out: TextIO) -> None:
    """Write the page as one file. Raises ExportError."""
    excerpt.need_at_most(MOST_ARROWS, "a page")
    figure = replace(excerpt.options.figure, zoom="events", theme="light")
    excerpt = replace(excerpt, options=replace(excerpt.options, figure=figure))
    folder = files("lab.export")
    script = (folder / "page.js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = Template((folder / "page.html").read_text("utf-8")).substitute(
        title=escape(printable(excerpt.header.protocol.title, 60)),
        description=escape(describe_excerpt(excerpt)),
        digest=digest,
        dark=_dark(),
        style=(folder / "page.css").read_text("utf-8"),
        diagram=diagram_of(excerpt, header=""),
        messages=_in_script(_messages(excerpt)),
        script=script,
    )
    out.write(page)


def _messages(excerpt: Excerpt) -> list[dict[str, Any]]:
    """Return, for each message, its nodes by position, the record of its arrival, and its sender's clock."""
    place = {node: n for n, node in enumerate(excerpt.header.nodes)}
    return [
        {
            "from": place[edge.line.source or 0],
            "to": place[edge.line.target or 0],
            "taken": edge.end.record if edge.arrived and edge.end is not None else None,
            "clock": excerpt.clocks.get(edge.line.message, ()),
        }
        for edge in excerpt.messages
    ]


def _in_script(value: Any) -> str:
    """Encode as JSON that cannot end the script element."""
    return msgspec.json.encode(value).decode().replace("<", "\\u003c")


def _dark() -> str:
    """Return the style rules that replace the diagram's colours on a dark background."""
    light, dark = THEMES["light"], THEMES["dark"]
    before, after = Palette(dark=False), Palette(dark=True)
    colours = {getattr(light, each): getattr(dark, each) for each in ("ink", "faint", "rule", "paper")}
    colours |= {before.named(each): after.named(each) for each in _COLOURS}
    return "\n".join(
        f'  svg [{paint}="{on_light}"] {{ {paint}: {on_dark}; }}'
        for on_light, on_dark in colours.items()
        for paint in ("fill", "stroke")
    )
