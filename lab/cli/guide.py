"""``lab guide``: the project's documents, in the terminal, by search, or as a site."""

import os
from pathlib import Path
from typing import Annotated

from msgspec import Struct
from rich.markdown import Markdown
from typer import Argument, Option

from lab.cli.documents import Document, Json, print_json
from lab.cli.program import app
from lab.cli.terminal import EXIT_NOT_AS_EXPECTED, TerminalConsole, UsageError
from lab.guide.contents import SECTIONS, all_pages, find_page, search
from lab.guide.html_site import write_site
from lab.output import print_line, print_remark, print_text

_WIDEST = 100


class PageSummary(Struct, frozen=True):
    """A page: its ``name``, as ``lab guide NAME`` takes it, and its title."""

    name: str
    title: str


class SectionSummary(Struct, frozen=True):
    """A section of the guide, and its pages in reading order."""

    section: str
    title: str
    pages: tuple[PageSummary, ...]


class GuideDocument(Document, frozen=True):
    """The contents of the guide."""

    sections: tuple[SectionSummary, ...]


class GuidePageDocument(Document, frozen=True):
    """A page of the guide; ``text`` is its Markdown."""

    name: str
    title: str
    section: str
    text: str


class FoundLine(Struct, frozen=True):
    """A line of a page, and the heading above it."""

    page: str
    heading: str
    line: str


class GuideSearchDocument(Document, frozen=True):
    """The lines of the guide that contain all the words."""

    words: str
    lines: tuple[FoundLine, ...]


class GuideSiteDocument(Document, frozen=True):
    """The site that was written: its folder, its first page, and the number of pages."""

    folder: str
    index: str
    pages: int


def _complete_page(incomplete: str) -> list[tuple[str, str]]:
    return [(page.name, page.title) for page in all_pages() if page.name.startswith(incomplete)]


@app.command(
    epilog="""Examples:\n
    lab guide first-steps\n
    lab guide --search "consistent cut"\n
    lab guide --search "consistent cut" --json\n
    lab guide --html site"""
)
def guide(
    page: Annotated[
        str | None,
        Argument(
            metavar="[PAGE]", help="The page to show. Default: list the pages.", autocompletion=_complete_page
        ),
    ] = None,
    search: Annotated[
        str | None, Option("--search", metavar="WORDS", help="List the lines that contain all these words.")
    ] = None,
    html: Annotated[
        Path | None, Option("--html", metavar="DIR", help="Write all pages as a small site into DIR.")
    ] = None,
    plain: Annotated[
        bool, Option("--plain", help="Print the Markdown source (default when not on a terminal).")
    ] = False,
    json: Json = False,
) -> int:
    """Read the guide: first steps, teaching a class, your own protocol, and the reference."""
    if (page is not None) + (search is not None) + (html is not None) > 1:
        raise UsageError("give one of PAGE, --search and --html")
    if html is not None:
        return _write_html(html, json)
    if search is not None:
        return _print_hits(search, json)
    if page is None:
        return _print_contents(json)
    return _print_page(page, plain or not os.isatty(1), json)


def _print_contents(as_json: bool) -> int:
    if as_json:
        sections = (
            SectionSummary(
                section.name, section.title, tuple(PageSummary(page.name, page.title) for page in section.pages)
            )
            for section in SECTIONS
        )
        print_json(GuideDocument(tuple(sections)))
        return 0
    for section in SECTIONS:
        print_line(section.title)
        for page in section.pages:
            print_line(f"  lab guide {page.name:18} {page.title}")
        print_line()
    print_line("lab guide --search WORDS finds a line; --html DIR writes all pages as a small site.")
    return 0


def _print_page(name: str, plain: bool, as_json: bool) -> int:
    page = find_page(name)
    if as_json:
        print_json(GuidePageDocument(page.name, page.title, page.section, page.text))
        return 0
    if plain:
        print_text(page.text)
        return 0
    out = TerminalConsole()
    out.print(Markdown(page.for_terminal()), width=min(out.width, _WIDEST))
    return 0


def _print_hits(words: str, as_json: bool) -> int:
    hits = list(search(words))
    if as_json:
        lines = (FoundLine(hit.page.name, hit.heading, hit.line) for hit in hits)
        print_json(GuideSearchDocument(words, tuple(lines)))
        return 0 if hits else EXIT_NOT_AS_EXPECTED
    place = None
    for hit in hits:
        if place != (hit.page.name, hit.heading):
            place = (hit.page.name, hit.heading)
            print_line(f"lab guide {hit.page.name}: {hit.heading}")
        if not hit.line.startswith("#"):
            print_line(f"    {hit.line}")
    if not hits:
        print_remark(f"no line of the guide contains {words!r}; try fewer words, or lab guide for the pages")
    return 0 if hits else EXIT_NOT_AS_EXPECTED


def _write_html(folder: Path, as_json: bool) -> int:
    count = write_site(folder)
    index = folder / "index.html"
    if as_json:
        print_json(GuideSiteDocument(str(folder), str(index), count))
    else:
        print_line(f"wrote {count} pages: open {index}")
    return 0
