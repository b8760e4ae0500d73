"""The guide as a small static site: an HTML page for each Markdown page, a contents page, a style sheet, pictures.

It needs no network and no script. Links between pages and to headings work; a picture is copied beside the pages.
"""

import re
import shutil
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from lab.guide.contents import SECTIONS, Page, all_pages
from lab.text import UserError

_HEAD = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="style.css">
</head>
<body>
"""

_STYLE = """\
:root {
  --ink: #1f2328; --dim: #59636e; --line: #d1d9e0; --ground: #ffffff; --soft: #f6f8fa; --link: #0b5cad;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e6edf3; --dim: #9198a1; --line: #3d444d; --ground: #0d1117; --soft: #151b23; --link: #6cb6ff;
  }
  img { background: #ffffff; border-radius: 4px; }
}
* { box-sizing: border-box; }
body {
  margin: 0; display: flex; color: var(--ink); background: var(--ground); font: 16px/1.55 system-ui, sans-serif;
}
nav {
  flex: 0 0 16rem; min-height: 100vh; padding: 1.5rem 1rem; border-right: 1px solid var(--line); font-size: 0.9rem;
}
nav h2 { font-size: 0.8rem; margin: 1.4rem 0 0.3rem; color: var(--dim); }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li { margin: 0.15rem 0; }
nav .here { font-weight: 600; }
main { flex: 1 1 auto; min-width: 0; max-width: 60rem; padding: 1.5rem 2.5rem 4rem; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
h1, h2, h3 { line-height: 1.25; margin: 2rem 0 0.7rem; }
h1 { margin-top: 0; }
code { font: 0.875em ui-monospace, monospace; background: var(--soft); padding: 0.1em 0.3em; border-radius: 3px; }
pre { background: var(--soft); padding: 0.8rem 1rem; overflow-x: auto; border-radius: 6px; }
pre code { padding: 0; background: none; }
table { border-collapse: collapse; display: block; overflow-x: auto; margin: 1rem 0; }
th, td { border: 1px solid var(--line); padding: 0.35rem 0.7rem; text-align: left; vertical-align: top; }
th { background: var(--soft); }
img { max-width: 100%; height: auto; }
blockquote { margin: 1rem 0; padding: 0.1rem 1rem; border-left: 4px solid var(--line); color: var(--dim); }
.next { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line); }
@media (max-width: 50rem) {
  body { display: block; }
  nav { border-right: 0; min-height: 0; }
  main { padding: 1rem; }
}
"""


class SiteError(UserError):
    """The site cannot be written there; the text says why."""


def slug(heading: str) -> str:
    """Return the anchor of a heading, by the rule that GitHub uses for Markdown files."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def write_site(folder: Path) -> int:
    """Write the whole guide into ``folder``, made if need be. Return the number of pages.

    Raises SiteError if the folder holds something else already, or cannot be written.
    """
    if folder.exists() and (
        not folder.is_dir() or (any(folder.iterdir()) and not (folder / "style.css").exists())
    ):
        raise SiteError(f"{folder} is not an empty folder, nor an earlier copy of the guide; name a new one")
    pages = list(all_pages())
    try:
        (folder / "pictures").mkdir(parents=True, exist_ok=True)
        (folder / "style.css").write_text(_STYLE, "utf-8")
        (folder / "index.html").write_text(_contents(), "utf-8")
        for page, following in zip(pages, [*pages[1:], None], strict=True):
            (folder / f"{page.name}.html").write_text(_page(page, following), "utf-8")
            for picture in _pictures_of(page):
                shutil.copyfile(picture, folder / "pictures" / picture.name)
    except OSError as error:
        raise SiteError(f"cannot write {folder}: {error.strerror or error}") from None
    return len(pages)


def _contents() -> str:
    sections = "".join(
        f"<h2>{escape(section.title)}</h2>\n<ul>\n"
        + "".join(
            f'<li><a href="{page.name}.html">{escape(page.title)}</a><br>{escape(_summary(page))}</li>\n'
            for page in section.pages
        )
        + "</ul>\n"
        for section in SECTIONS
    )
    return _document("The guide to lab", "", f"<h1>The guide to lab</h1>\n{sections}")


def _page(page: Page, following: Page | None) -> str:
    after = (
        f'<p class="next">Next: <a href="{following.name}.html">{escape(following.title)}</a></p>\n'
        if following
        else ""
    )
    return _document(page.title, page.name, f"{_html(page)}{after}")


def _document(title: str, here: str, body: str) -> str:
    return f"{_HEAD.format(title=escape(title))}{_navigation(here)}<main>\n{body}</main></body></html>\n"


def _navigation(here: str) -> str:
    parts = ['<nav>\n<a href="index.html">The guide to lab</a>\n']
    for section in SECTIONS:
        parts.append(f"<h2>{escape(section.title.partition(':')[0])}</h2>\n<ul>\n")
        for page in section.pages:
            mark = ' class="here"' if page.name == here else ""
            parts.append(f'<li{mark}><a href="{page.name}.html">{escape(page.title)}</a></li>\n')
        parts.append("</ul>\n")
    return "".join([*parts, "</nav>\n"])


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.add_render_rule("heading_open", _heading)
    parser.add_render_rule("link_open", _link)
    parser.add_render_rule("image", _image)
    return parser


def _html(page: Page) -> str:
    html: str = _parser().render(page.text)
    return html


def _heading(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    tokens[index].attrSet("id", slug(re.sub(r"[`*]", "", tokens[index + 1].content)))
    return self.renderToken(tokens, index, options, env)


def _link(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    path, hash_, anchor = str(tokens[index].attrGet("href")).partition("#")
    if path.endswith(".md"):
        tokens[index].attrSet("href", f"{Path(path).stem}.html{hash_}{anchor}")
    return self.renderToken(tokens, index, options, env)


def _image(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    tokens[index].attrSet("src", f"pictures/{Path(str(tokens[index].attrGet('src'))).name}")
    return self.image(tokens, index, options, env)


def _pictures_of(page: Page) -> list[Path]:
    """Return the pictures that a page shows. In a wheel they lie in the package, beside the shipped recordings."""
    names = re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", page.text)
    relative = [page.path.parent / name for name in names]
    package = Path(__file__).parents[1]
    return [path if path.exists() else package.joinpath(*path.parts[-3:]) for path in relative]


def _summary(page: Page) -> str:
    """Return the first sentence below the title, as plain text."""
    paragraph = next(
        (part for part in page.text.split("\n\n")[1:] if not part.startswith(("#", "!", "|", "```"))), ""
    )
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"[`*]", "", paragraph.replace("\n", " ")))
    return plain.partition(". ")[0].rstrip(".:") + "."
