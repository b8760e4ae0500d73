"""Slides and hand-outs: what is in them, and what is left out; and the slides in a browser."""

import base64
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from lab.lectures.lecture_handout import format_handout
from lab.lectures.lecture_reader import find_lecture, read_lecture
from lab.lectures.recorded_lecture import RecordedLecture, record_lecture
from lab.lectures.slides import draw_step, format_slides
from tests.lectures.lecture_files import make_lecture
from tests.profile import sampled
from tests.serve.browser import Browser, Chromium

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> RecordedLecture:
    folder = tmp_path_factory.mktemp("lecture")
    return record_lecture(make_lecture(folder), folder)


class _Page(HTMLParser):
    """The headings, images and addresses of a page, and the texts by the element around them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open.append(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href") and value]

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        for tag in set(self._open):
            self.texts.setdefault(tag, []).append(data)


def _texts_of(svg: str) -> str:
    return " ".join("".join(each.itertext()) for each in ElementTree.fromstring(svg).iter(f"{_SVG}text"))


def test_the_picture_of_a_step_ends_where_it_stops(recorded: RecordedLecture) -> None:
    """And begins where the step before stopped; a text has none."""
    text, paused, two = recorded.lecture.steps
    assert draw_step(recorded, text) == ""
    first, second = (_texts_of(draw_step(recorded, step)) for step in (paused, two))
    assert "Nobody has noticed" in first
    assert "EnterElection" in first, "the election at the start"
    assert f"{recorded.runs[0].stops[2].at_us / 1e6:.2f}" in second
    assert ("under 4" in first, "under 4" in second) == (False, True)


def test_slides_need_nothing_else(recorded: RecordedLecture) -> None:
    """All images are in the page, and it has a slide for the title and for each step."""
    page = format_slides(recorded)
    parsed = _Page(page)
    assert page.count("<section") == 4
    assert parsed.texts["h1"] == ["A pause"]
    assert parsed.texts["h2"] == ["Only a text", "The coordinator is paused", "Two coordinators"]
    assert len(parsed.addresses) == 2
    for address in parsed.addresses:
        kind, _, data = address.partition(",")
        assert kind == "data:image/svg+xml;base64"
        ElementTree.fromstring(base64.b64decode(data).decode())
    assert "default-src 'none'" in page
    assert re.findall(r"https?://(?!www\.w3\.org)\S+", page) == []


def test_notes_are_left_out_on_demand(recorded: RecordedLecture) -> None:
    assert "A minute, at most." in format_slides(recorded)
    assert "A minute, at most." not in format_slides(recorded, with_notes=False)
    assert "A minute, at most." not in format_handout(recorded.lecture)


def test_html_in_a_lecture_is_text(tmp_path: Path) -> None:
    lecture = make_lecture(tmp_path, "Five nodes.", "<script>alert(1)</script> Five nodes.")
    page = format_slides(record_lecture(lecture, tmp_path))
    assert "&lt;script&gt;alert(1)" in page
    assert page.count("<script>") == 1


def test_a_hand_out_has_its_answers_at_the_end(recorded: RecordedLecture) -> None:
    handout = format_handout(recorded.lecture)
    texts, _, solutions = handout.partition("## Answers")
    assert "## 2. The coordinator is paused" in texts
    assert "**Question 1.** Who leads now?\n\n- A. only 5\n- B. 4 and 5" in texts
    assert "To see a run of this protocol: `lab run bully --sim`" in texts
    assert "rehearse" not in handout, "students do not have the file"
    assert "`lab lecture rehearse bully-and-its-price --step 3`" in format_handout(
        read_lecture(find_lecture("bully-and-its-price"))
    )
    assert "longer than a" not in texts
    assert solutions.strip() == "**Question 1** (step 2): A, *only 5*. The others wait longer than a *second*."


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here: apt-get install chromium")
@pytest.mark.parametrize(
    ("address", "shown"), sampled([("", "A pause"), ("#2", "The coordinator is paused"), ("#9", "Two")], 2)
)
def test_a_browser_shows_one_slide(tmp_path: Path, recorded: RecordedLecture, address: str, shown: str) -> None:
    """The content security policy lets the script run; a number beyond the last is the last."""
    assert CHROMIUM is not None
    file = tmp_path / "slides.html"
    file.write_text(format_slides(recorded), "utf-8")
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    flags = ("--headless", "--no-sandbox", "--disable-gpu", profile, "--dump-dom")
    done = subprocess.run(
        [CHROMIUM, *flags, f"file://{file}{address}"], capture_output=True, text=True, check=True
    )
    visible = [part for part in done.stdout.split("<section")[1:] if not part.partition(">")[0].count("hidden")]
    assert len(visible) == 1
    assert shown in visible[0]


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here: apt-get install chromium")
def test_a_slide_is_a_page_in_print(tmp_path: Path, recorded: RecordedLecture) -> None:
    """In landscape; one with a run, too."""
    assert CHROMIUM is not None
    file, pdf = tmp_path / "slides.html", tmp_path / "slides.pdf"
    file.write_text(format_slides(recorded), "utf-8")
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    flags = ("--headless", "--no-sandbox", "--disable-gpu", profile, f"--print-to-pdf={pdf}")
    subprocess.run([CHROMIUM, *flags, f"file://{file}"], capture_output=True, check=True)
    pages = re.findall(rb"/Type /Page\n.*?/MediaBox \[0 0 ([0-9.]+) ([0-9.]+)\]", pdf.read_bytes(), re.DOTALL)
    assert len(pages) == 4
    assert all(float(width) > float(height) for width, height in pages)


_PRINTED = "[...document.querySelectorAll('.answer, aside')].map(each => getComputedStyle(each).display).join()"


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here: apt-get install chromium")
def test_answers_and_notes_are_printed(tmp_path: Path, recorded: RecordedLecture) -> None:
    file = tmp_path / "slides.html"
    file.write_text(format_slides(recorded), "utf-8")
    with Chromium(tmp_path / "profile") as running, Browser(running) as browser:
        browser.go_to(f"file://{file}")
        assert browser.finds(_PRINTED) == "none,none"
        browser.call("Emulation.setEmulatedMedia", media="print")
        assert browser.finds(_PRINTED) == "block,block"
