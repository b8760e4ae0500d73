"""``lab guide``: the project's documents, in the terminal, by search, or as a site."""

import os
from pathlib import Path
from typing import Annotated

from rich.markdown import Markdown
from typer import Argument, Option

from lab.cli.program import app
from lab.cli.terminal import EXIT_NOT_AS_EXPECTED, TerminalConsole, UsageError
from lab.guide.contents import SECTIONS, all_pages, find_page, search
from lab.guide.html_site import write_site
from lab.output import print_line, print_remark, print_text

_WIDEST = 100


def _complete_page(incomplete: str) -> list[tuple[str, str]]:
    return [(page.name, page.title) for page in all_pages() if page.name.startswith(incomplete)]


@app.command(
    epilog="""Examples:\n
    lab guide first-steps\n
    lab guide --search "consistent cut"\n
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
) -> int:
    """Read the guide: first steps, teaching a class, your own protocol, and the reference."""
    if (page is not None) + (search is not None) + (html is not None) > 1:
        raise UsageError("give one of PAGE, --search and --html")
    if html is not None:
        return _write_html(html)
    if search is not None:
        return _print_hits(search)
    return _print_contents() if page is None else _print_page(page, plain or not os.isatty(1))


def _print_contents() -> int:
    for section in SECTIONS:
        print_line(section.title)
        for page in section.pages:
            print_line(f"  lab guide {page.name:18} {page.title}")
        print_line()
    print_line("lab guide --search WORDS finds a line; --html DIR writes all pages as a small site.")
    return 0


def _print_page(name: str, plain: bool) -> int:
    page = find_page(name)
    if plain:
        print_text(page.text)
        return 0
    out = TerminalConsole()
    out.print(Markdown(page.for_terminal()), width=min(out.width, _WIDEST))
    return 0


def _print_hits(words: str) -> int:
    hits = list(search(words))
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


def _write_html(folder: Path) -> int:
    count = write_site(folder)
    print_line(f"wrote {count} pages: open {folder / 'index.html'}")
    return 0
