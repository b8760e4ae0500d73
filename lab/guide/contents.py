"""The pages of the guide: which ones exist, for which reader, in which order; and the search in them.

A page is a Markdown file in the folder of its section. Its name, the file's without ``.md``, is unique in the
guide. Links between pages are relative paths of files, so they work wherever Markdown is rendered.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from lab.text import UserError, did_you_mean

_FOLDER = Path(__file__).parent
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


class NoSuchPageError(UserError):
    """The guide has no page of that name; the text names the nearest one."""


class Page:
    """One page: ``name`` is what ``lab guide NAME`` takes, ``section`` the name of its folder."""

    def __init__(self, section: str, name: str) -> None:
        self.section = section
        self.name = name
        self.path = _FOLDER / section / f"{name}.md"

    @cached_property
    def text(self) -> str:
        """The Markdown, without comments."""
        return _COMMENT.sub("", self.path.read_text("utf-8"))

    @property
    def title(self) -> str:
        """The first heading."""
        return self.text.partition("\n")[0].removeprefix("# ")

    def for_terminal(self) -> str:
        """Return the Markdown for a terminal: a link names the command that shows its page, a picture its text."""

        def replaced(match: re.Match[str]) -> str:
            is_picture, label, target = match.groups()
            if is_picture:
                return f"*Picture: {label}*"
            path, _, _ = target.partition("#")
            if path.endswith(".md"):
                command = f"lab guide {Path(path).stem}"
                return f"`{command}`" if label in (command, f"`{command}`") else f"{label} (`{command}`)"
            return match[0] if "://" in target else label

        return _LINK.sub(replaced, self.text)


class Section:
    """The pages for one kind of reader, in reading order."""

    def __init__(self, name: str, title: str, *pages: str) -> None:
        self.name = name
        self.title = title
        self.pages = tuple(Page(name, page) for page in pages)


SECTIONS = (
    Section(
        "learn",
        "Learn: watch an algorithm work, and break it",
        *("first-steps", "screen", "faults", "properties", "synchrony"),
    ),
    Section("teach", "Teach: a class, exercises, grades", "class", "lecture", "exercises", "grading"),
    Section(
        "build",
        "Build: your own protocol, and the laboratory itself",
        *("your-own-protocol", "raft", "programs", "roles", "workloads", "histories", "scenarios", "checking"),
        *("library", "testing", "figures", "mutation", "survivors", "ci", "sandbox", "architecture"),
    ),
    Section(
        "reference",
        "Reference",
        *("glossary", "algorithms", "errata", "assertions", "keys", "commands", "predicates", "command-line"),
        *("json", "recording-format", "python-api"),
    ),
)
"""All sections. A page that is not listed here is not part of the guide; a test finds it."""


class Hit:
    """One line of a page in which all words of a search occur, and the heading above it."""

    def __init__(self, page: Page, heading: str, line: str) -> None:
        self.page = page
        self.heading = heading
        self.line = line


def all_pages() -> Iterator[Page]:
    """Yield every page, in the order of the sections."""
    for section in SECTIONS:
        yield from section.pages


def find_page(name: str) -> Page:
    """Return the page of that name. Raises NoSuchPageError if there is none."""
    for page in all_pages():
        if page.name == name.removesuffix(".md").lower():
            return page
    names = [page.name for page in all_pages()]
    hint = did_you_mean(name, names) or f" ({', '.join(names)})"
    raise NoSuchPageError(f"unknown page {name!r}{hint}")


def search(text: str) -> Iterator[Hit]:
    """Yield the lines that contain every word of ``text``, whatever its case; headings count for their lines."""
    words = text.lower().split()
    for page in all_pages():
        heading = page.title
        for line in page.text.split("\n"):
            if line.startswith("#"):
                heading = line.lstrip("# ")
            content = line.strip(" |")
            if content and all(word in content.lower() for word in words):
                yield Hit(page, heading, content)
