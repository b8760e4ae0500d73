"""The guide as a whole: every page is listed, generated parts are current, links work, rule ids resolve.

``pytest tests/guide --rewrite`` writes the generated parts of the reference pages again.
"""

import ast
import re
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import pytest

from lab.guide.contents import SECTIONS, NoSuchPageError, Page, all_pages, find_page, search
from lab.guide.html_site import SiteError, slug, write_site
from lab.properties.assertions import BUILT_IN, RAISES
from lab.protocols import find_protocol
from tests.guide.generated import fill

ROOT = Path(__file__).parents[2]
PAGES = list(all_pages())
RULE = re.compile(r"\b(?:A\d(?:\.\d)?|(?:B|T|R|I|F|C|P|M|K)\d{1,2})\b")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_generated_parts_are_current(page: Page, request: pytest.FixtureRequest) -> None:
    text = page.path.read_text("utf-8")
    if request.config.getoption("--rewrite"):
        page.path.write_text(fill(text), "utf-8")
    assert fill(page.path.read_text("utf-8")) == page.path.read_text("utf-8"), "run pytest tests/guide --rewrite"


def test_every_page_is_listed_once() -> None:
    files = {path.relative_to(ROOT / "lab/guide").as_posix() for path in (ROOT / "lab/guide").rglob("*.md")}
    assert files == {f"{page.section}/{page.name}.md" for page in PAGES}
    assert len({page.name for page in PAGES}) == len(PAGES)
    assert len(PAGES) > 20


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_has_a_title_and_a_summary(page: Page) -> None:
    """The contents page shows both."""
    assert page.text.startswith("# ")
    assert re.match(r"[A-Z*`\[]", page.text.split("\n\n")[1])


def _anchors(text: str) -> set[str]:
    without_code = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return {slug(re.sub(r"[`*]", "", head)) for head in re.findall(r"^#+ (.*)$", without_code, re.MULTILINE)}


@pytest.mark.parametrize(
    "path",
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(page.path for page in PAGES)],
    ids=lambda path: path.stem,
)
def test_links_between_files_resolve(path: Path) -> None:
    """To files of the repository, and to headings of pages."""
    for target in LINK.findall(path.read_text("utf-8")):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        linked = (path.parent / file).resolve() if file else path
        assert linked.exists(), target
        assert not anchor or anchor in _anchors(linked.read_text("utf-8")), target


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.targets += [value for value in (found.get("href"), found.get("src")) if value]
        self.ids |= {str(found["id"])} if "id" in found else set()


def _parsed(path: Path) -> _Links:
    links = _Links()
    links.feed(path.read_text("utf-8"))
    return links


def test_links_of_the_site_resolve(tmp_path: Path) -> None:
    """Pages, anchors and pictures; a second time it replaces itself."""
    assert write_site(tmp_path / "site") == write_site(tmp_path / "site") == len(PAGES)
    pages = {path: _parsed(path) for path in sorted((tmp_path / "site").glob("*.html"))}
    assert len(pages) == len(PAGES) + 1
    checked = 0
    for path, links in pages.items():
        for target in links.targets:
            if "://" in target:
                continue
            file, _, anchor = target.partition("#")
            linked = path.parent / file if file else path
            assert linked.is_file(), f"{path.name}: {target}"
            assert not anchor or anchor in pages[linked].ids, f"{path.name}: {target}"
            checked += 1
    assert checked > len(PAGES) * len(PAGES)


def test_the_site_overwrites_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine", "utf-8")
    with pytest.raises(SiteError, match="name a new one"):
        write_site(tmp_path)
    with pytest.raises(SiteError, match="not an empty folder"):
        write_site(tmp_path / "thesis.tex")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_page_is_found_by_its_name() -> None:
    assert find_page("scenarios").title == "Scenarios"
    assert find_page("Scenarios.md").section == "build"
    with pytest.raises(NoSuchPageError, match=r"unknown page 'scenaros'.*did you mean scenarios"):
        find_page("scenaros")


def test_the_search_finds_lines_with_all_words() -> None:
    hits = list(search("Consistent CUT"))
    assert {"properties", "glossary"} <= {hit.page.name for hit in hits}
    assert all("consistent" in hit.line.lower() and "cut" in hit.line.lower() for hit in hits)
    assert not list(search("xyzzy"))


def test_every_rule_that_is_cited_is_in_the_guide() -> None:
    """Every id in code, exercises, scenarios and pages."""
    rules = set(re.findall(r"^\| (\w+(?:\.\d)?) \|", find_page("algorithms").text, re.MULTILINE))
    assert {"M1", "B8", "A3.1", "I10", "K2"} <= rules
    cited: dict[str, str] = {}
    known = rules | _NOT_RULES
    for folder, kinds in (
        ("lab", ("*.py", "*.toml", "*.md")),
        ("tests/papers", ("*.py",)),
        ("scenarios", ("*.scenario",)),
    ):
        for kind in kinds:
            for path in (ROOT / folder).rglob(kind):
                text = path.read_text("utf-8")
                found = set(RULE.findall(text))
                if not found <= known and path.suffix == ".py":
                    found = set(RULE.findall(_prose(text)))
                cited |= dict.fromkeys(found, str(path))
    assert len(cited) > 60
    assert {rule: path for rule, path in cited.items() if rule not in known} == {}


def test_every_rule_has_its_assertion() -> None:
    """The table has all rules of the algorithms page, in order; what it names exists; no assertion is missing."""
    listed = re.findall(r"^\| ([A-Z]\d+(?:\.\d)?) \|", find_page("algorithms").text, re.MULTILINE)
    section = find_page("assertions").text.partition("## Which assertion judges which rule\n")[2]
    rows = re.findall(r"^\| ([A-Z]\d+(?:\.\d)?) \| (.*) \| ?(.*) ?\|$", section, re.MULTILINE)
    assert [rule for rule, _, _ in rows] == listed
    named = {name for _, assertions, _ in rows for name in re.findall(r"`([^`]+)`", assertions)}
    assert named == {each.id for each in BUILT_IN} - {RAISES.id}
    for rule, assertions, otherwise in rows:
        assert assertions != "–" or otherwise, rule
        for name in re.findall(r"`([^`]+)`", otherwise):
            path = name if name.endswith(".py") else f"scenarios/{name}.scenario"
            assert (ROOT / path).is_file(), f"{rule}: {name}"


_NOT_RULES = {"C1", "A1", "A3", "F11", "T0"}
"""Control characters (C1), a key (F11), a transaction (T0), short forms of assertions (A1 for A1.1)."""


def _prose(source: str) -> str:
    """Return the docstrings and comments, in which a rule may be cited."""
    docstrings = [
        ast.get_docstring(node) or ""
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return "\n".join([*docstrings, *re.findall(r"#.*", source)])


def test_the_architecture_names_what_exists() -> None:
    """Its files, and its classes and methods."""
    text = find_page("architecture").text
    paths = set(re.findall(r"`(lab/[\w/.]+)`", text))
    assert len(paths) > 25
    assert [path for path in paths if not (ROOT / path).exists()] == []
    source = "\n".join(path.read_text("utf-8") for path in (ROOT / "lab").rglob("*.py"))
    for owner, method in re.findall(r"`([A-Z]\w+)\.(\w+)`", text):
        assert re.search(rf"^class {owner}\b", source, re.MULTILINE), owner
        assert re.search(rf"def {method}\(", source), method


def test_doors_are_the_folders() -> None:
    folders = {
        path.name for path in (ROOT / "lab/guide").iterdir() if path.is_dir() and path.name != "__pycache__"
    }
    assert {section.name for section in SECTIONS} == folders


def test_the_guarantees_in_the_readme_are_promised() -> None:
    """They are the main ones; where all of them are is said below the table."""
    text = (ROOT / "README.md").read_text("utf-8")
    ((head, table),) = re.findall(r"^(\| `lab run` .+)\n\|[-|]+\n((?:\|.+\n)+)\n", text, re.MULTILINE)
    assert " main guarantees " in head
    assert "All: `lab list protocols`" in text
    for row in table.splitlines():
        _, name, _, guarantees, *_ = (cell.strip() for cell in row.split("|"))
        promised = find_protocol(name.strip("`")).promises
        for each in re.findall(r"\b[A-Z]\d+(?:\.\d)?\b|(?<=`)[a-z]+(?=`)", guarantees):
            assert each in promised, (name, each)


def test_the_readme_is_a_front_page() -> None:
    """At most ten kilobytes; and it has the words by which people look for such a program."""
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(text.encode()) <= 10_240
    for word in ("leader election", "safety", "liveness", "invariant", "model checking", "atomic commit"):
        assert word in text.lower(), word


def test_every_import_is_declared() -> None:
    """Each import from elsewhere stands in pyproject.toml, not only in another package's requirements."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *(each for extra in project["optional-dependencies"].values() for each in extra),
    ]
    declared = {
        re.split(r"[<>=\[ ]", each)[0].replace("-", "_").replace("markdown_it_py", "markdown_it")
        for each in wanted
    }
    known = {*sys.stdlib_module_names, "lab", *declared}
    imported = set[str]()
    for path in (ROOT / "lab").rglob("*.py"):
        text = path.read_text("utf-8")
        found = {word for line in _IMPORT.findall(text) for word in re.findall(r"[\w.]+", line)}
        if not {name.partition(".")[0] for name in found} <= known:  # it may be prose
            found = {name for node in ast.walk(ast.parse(text)) for name in _imported(node)}
        imported |= {name.partition(".")[0] for name in found}
    assert imported <= known
    assert {"rich", "markdown_it"} <= imported


_IMPORT = re.compile(r"(?:^ *|[:;] *)(?:from (?=\w)|import )([^#\n]*?)(?: import .*| *#.*)?$", re.MULTILINE)


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
