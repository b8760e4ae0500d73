"""The HTML page: one self-contained file, in which only its own script can run."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from lab.export.html_page import write_html
from lab.recording.reader import open_recording
from tests.export.windows import RECORDINGS, evil_recording, excerpt_in, written
from tests.waiting import WAIT_S

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
in_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")


class _Elements(HTMLParser):
    """Collects all elements with their attributes, and the text of the scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self._in_script = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._in_script = tag == "script"
        if self._in_script:
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._in_script = self._in_script and tag != "script"

    def handle_data(self, data: str) -> None:
        if self._in_script:
            self.scripts[-1] += data


def _page(path: Path) -> str:
    return written(write_html, excerpt_in(open_recording(path)))


def _opened(page: str, folder: Path) -> str:
    """Return the page after a browser has run its script."""
    file = folder / "page.html"
    file.write_text(page, "utf-8")
    assert CHROMIUM is not None
    words = (CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}")
    done = subprocess.run(
        [*words, "--dump-dom", file.as_uri()], capture_output=True, text=True, timeout=WAIT_S, check=True
    )
    return done.stdout


def test_it_loads_nothing() -> None:
    """It has no links, images or addresses except XML names, and its policy forbids all else."""
    page = _page(RECORDINGS / "two-coordinators.jsonl")
    elements = _Elements(page)
    assert {tag for tag, _ in elements.found}.isdisjoint({"link", "img", "iframe", "object", "base"})
    assert not any({"src", "href", "action"} & attributes.keys() for _, attributes in elements.found)
    assert set(re.findall(r"https?://[^\"]*", page)) == {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert "default-src 'none'" in page


def test_the_messages_are_those_of_the_diagram() -> None:
    """One entry for each arrow, in the same order."""
    excerpt = excerpt_in(open_recording(RECORDINGS / "two-coordinators.jsonl"))
    page = written(write_html, excerpt)
    data, _ = _Elements(page).scripts
    messages = json.loads(data)["run"]["messages"]
    assert len(messages) == len(excerpt.messages)
    assert re.findall(r'id="(m\d+)"', page) == [f"m{number}" for number in range(len(messages))]
    for message, edge in zip(messages, excerpt.messages, strict=True):
        assert excerpt.header.nodes[message["source"]] == edge.line.source
        assert excerpt.header.nodes[message["target"]] == edge.line.target
        assert message["taken"] == (edge.end.record if edge.arrived and edge.end is not None else None)
        assert tuple(message["clock"]) == excerpt.clocks[edge.line.message]


def test_every_colour_has_a_dark_variant() -> None:
    """So that nothing is drawn dark on dark."""
    page = _page(RECORDINGS / "scenarios" / "3pc-a-partition-breaks-it.jsonl")
    dark = set(re.findall(r'svg \[(?:fill|stroke)="(#[0-9a-f]{6})"\]', page))
    pictures = map(ElementTree.fromstring, re.findall("<svg.*?</svg>", page, re.DOTALL))
    elements = [element for picture in pictures for element in picture.iter()]
    drawn = {element.get(paint) for element in elements for paint in ("fill", "stroke")} - {None, "none"}
    assert len(drawn) > 5
    assert drawn <= dark


def test_foreign_text_adds_no_elements(tmp_path: Path) -> None:
    """A hostile recording adds no script and no attribute, and does not end the data."""
    page = _page(evil_recording(tmp_path))
    elements = _Elements(page)
    assert [tag for tag, _ in elements.found].count("script") == 2
    assert len(json.loads(elements.scripts[0])["run"]["messages"]) > 50
    assert "document.title" not in elements.scripts[1]
    for _, attributes in elements.found:
        assert not any(name.startswith("on") for name in attributes)


@in_browser
def test_its_script_runs_in_a_browser(tmp_path: Path) -> None:
    """The policy allows the script, which has counted the messages."""
    excerpt = excerpt_in(open_recording(RECORDINGS / "two-coordinators.jsonl"))
    opened = _opened(written(write_html, excerpt), tmp_path)
    assert f'for="query">{len(excerpt.messages)} messages</output>' in opened


@in_browser
def test_nothing_of_a_hostile_recording_runs_in_a_browser(tmp_path: Path) -> None:
    """The hostile script would change the title."""
    opened = _opened(_page(evil_recording(tmp_path)), tmp_path)
    assert " messages</output>" in opened
    title = opened[opened.index("<title>") : opened.index("</title>")]
    assert title != "<title>taken"
    assert "document.title='taken'" in title  # it is there, as text


@in_browser
def test_causal_past_and_future_follow_the_clocks(tmp_path: Path) -> None:
    """The script marks them by the vector clocks, for every message."""
    excerpt = excerpt_in(open_recording(RECORDINGS / "scenarios" / "figure-3-12.jsonl"))
    place = {node: n for n, node in enumerate(excerpt.header.nodes)}
    asked = """
      const all = messages.map((_, number) => { pin(number); const marked = name =>
        arrows.flatMap((each, other) => each.classList.contains(name) ? [other] : []);
        const found = [marked("is-past"), marked("is-future")]; pin(number); return found; });
      document.title = JSON.stringify(all);
    """
    page = written(write_html, excerpt).replace("</body>", f"<script>{asked}</script></body>")
    page = re.sub(r"script-src '[^']*'", "script-src 'unsafe-inline'", page)
    opened = _opened(page, tmp_path)
    marked = json.loads(opened[opened.index("<title>") + len("<title>") : opened.index("</title>")])

    def leads(before: int, after: int) -> bool:
        edge = excerpt.messages[before]
        if not edge.arrived or edge.end is None or edge.line.target is None:
            return False
        return excerpt.clocks[excerpt.messages[after].line.message][place[edge.line.target]] >= edge.end.record

    every = range(len(excerpt.messages))
    for it, (past, future) in enumerate(marked):
        assert past == [other for other in every if other != it and leads(other, it)]
        assert future == [other for other in every if other != it and leads(it, other)]
    assert sum(len(past) for past, _ in marked) > 100
