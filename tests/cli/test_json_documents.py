"""What ``--json`` prints fits the published schema, and the guide's page explains every field."""

import json
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from lab.cli.documents import DOCUMENTS, schema_of
from lab.guide.contents import all_pages, find_page
from tests.cli.invocation import ROOT, SHIPPED, Lab
from tests.documents import fitting, names_in

PAGE = find_page("json").text
BEACON = f"{ROOT / 'tests' / 'mutation' / 'beacon.py'}:Beacon"
SERVER = f"{ROOT / 'tests' / 'roles' / 'servers.py'}:Separate"
PYTHON, PROGRAMS = shlex.quote(sys.executable), ROOT / "tests" / "programs"
PROGRAM = (
    *("check", "--program", f"{PYTHON} {PROGRAMS / 'repeater.py'}", "--nodes", "2", "--for", "3s", "--runs", "1"),
    *("--workers", "1"),
)
EXERCISE = ROOT / "lab" / "exercises" / "library" / "two-coordinators"
SKELETON = ROOT / "lab" / "exercises" / "library" / "write-the-ring" / "my_ring.py"
MUTATE = ("mutate", BEACON, "--only", "guard,unsafe,comparison", "--nodes", "3", "--runs", "4")
BANK = ("run", "3pc", "--sim", "--headless", "--for", "6s", "--record", "bank.jsonl")
BLOCKED = ("--do", "at 1s withdraw 350", "--do", "on send Vote 3->5: kill 5")
GROUPS = ("run", "invitation", "--sim", "--headless", "--for", "4s", "--record", "groups.jsonl")
FAILING = (
    'title = "It fails"\nshows = "A failure."\nprotocol = "bully"\nfor = "3s"\n---\nexpect 1 leads within 1s\n'
)
CAMPAIGN = (
    *("check", "bully", "--faults", "pause", "--nodes", "3", "--strict", "--find", "A1.1", "--runs", "20"),
    *("--record", "campaign.jsonl", "--workers", "1"),
)
EXPLORED = (
    "explore",
    "bully",
    "--nodes",
    "2",
    "--timeouts",
    "any",
    "--states",
    "2000",
    "--record",
    "explored.jsonl",
)
ONE_WORKER = ("--workers", "1")

CALLS: dict[str, tuple[tuple[str, ...], ...]] = {
    "branches": (("branches", "run.jsonl"),),
    "campaign-group": (
        ("campaign", "show", "campaign.jsonl", "--group", "1"),
        ("campaign", "show", "campaign.jsonl", "--group", "1", "--out", "found.jsonl"),
        ("campaign", "show", "explored.jsonl", "--group", "1"),
        ("campaign", "show", "explored.jsonl", "--group", "1", "--out", "found.jsonl"),
    ),
    "campaign-merge": (("campaign", "merge", "campaign.jsonl", "--out", "merged.jsonl"),),
    "campaign-show": (("campaign", "show", "campaign.jsonl"),),
    "check": (
        ("check", "bully", "--faults", "kill,pause", "--find", "A1.1", "--runs", "30", *ONE_WORKER),
        ("check", "2pc", "--faults", "kill", "--runs", "4", *ONE_WORKER),
        ("check", SERVER, "--workload", "lin-kv", "--faults", "kill", "--nodes", "3", "--runs", "1", *ONE_WORKER),
    ),
    "check-program": (
        (*PROGRAM, "--workload", "unique-ids", "--repetitions", "1"),
        (*PROGRAM, "--workload", "echo"),
    ),
    "compare": (
        ("compare", "bully", "ring", "--runs", "1", *ONE_WORKER),
        ("compare", "bully", "ring", "--runs", "1", "--task", "none", *ONE_WORKER),
        ("compare", "2pc", "3pc", "--runs", "1", *ONE_WORKER),
    ),
    "consistency": (
        ("consistency", "history.edn", "--workload", "register"),
        ("consistency", "transactions.edn", "--workload", "txn-list-append"),
    ),
    "convert": (("convert", "run.jsonl"),),
    "diff": (("diff", "run.jsonl", "branch.jsonl"), ("diff", "run.jsonl", "run.jsonl")),
    "exercise-check": (("exercise", "check", "two-coordinators"),),
    "exercise-grade": (("exercise", "grade", "run.jsonl"),),
    "exercise-handout": (("exercise", "handout", str(EXERCISE), "--to", "handout"),),
    "exercise-list": (("exercise", "list"),),
    "exercise-show": (
        ("exercise", "show", "two-coordinators", "--solution"),
        ("exercise", "show", "two-coordinators"),
    ),
    "exercise-status": (("exercise", "status", "--student", "anna", "--home", "anna"),),
    "exercise-try": (("exercise", "try", "write-the-ring", str(SKELETON)),),
    "explore": (("explore", "bully", "--timeouts", "any", "--states", "3000"),),
    "explore-set-ups": (
        ("explore", "bully", "--nodes", "2-3", "--timeouts", "any", "--states", "2000"),
        ("campaign", "show", "explored.jsonl"),
    ),
    "export": (("export", "bank.jsonl"), ("export", "run.jsonl", "--table", "faults")),
    "guide": (("guide",),),
    "guide-page": (("guide", "first-steps"),),
    "guide-search": (("guide", "--search", "consistent cut"), ("guide", "--search", "no such words")),
    "guide-site": (("guide", "--html", "site"),),
    "history": (("history", "groups.jsonl"),),
    "lecture-check": (("lecture", "check", "bully-and-its-price"),),
    "lecture-export": (("lecture", "export", "bully-and-its-price", "--out", "bully.md"),),
    "lecture-list": (("lecture", "list"),),
    "lecture-show": (("lecture", "show", "bully-and-its-price"),),
    "list": (("list",),),
    "list-protocols": (("list", "protocols"), ("list", "protocols", "2pc")),
    "mutate": ((*MUTATE, "--faults", "kill", *ONE_WORKER),),
    "mutate-list": ((*MUTATE, "--list"), (*MUTATE, "--show", "1")),
    "run": (
        (*BANK[:-1], "again.jsonl", *BLOCKED),
        ("run", "bully", "--sim", "--headless", "--for", "2s"),
        ("run", "fails.scenario", "--sim", "--headless"),
        ("branch", "run.jsonl", "--at", "2s", "--headless", "--for", "1s", "--record", "other.jsonl"),
    ),
    "scale": (("scale", "bully", "ring", "--nodes", "3,5"),),
    "scenario-check": (("scenario", "check", "fails.scenario", "--sim"),),
    "scenario-from": (
        ("scenario", "from", "groups.jsonl"),
        ("scenario", "from", "groups.jsonl", "--out", "made.scenario"),
    ),
    "scenario-list": (("scenario", "list"),),
    "scenario-show": (("scenario", "show", "figure-3-12"), ("scenario", "show", "2pc-all-must-wait")),
    "serve-invite": (
        ("serve", "invite", "anna", "ben", "--host", "lab.example.org", "--data", "class"),
        ("serve", "invite", "--data", "class"),
    ),
    "show": (("show", "run.jsonl", "--watch", "all.status"), ("show", "damaged.jsonl")),
    "show-state": (("show", "bank.jsonl", "--blocked"), ("show", "bank.jsonl", "--view", "bank", "--at", "9s")),
    "verify": (("verify", "run.jsonl", "damaged.jsonl", "fails.scenario", "--strict"),),
}
"""Calls whose output has every part of the document; those with a server or an active run are elsewhere."""
ELSEWHERE = {"ctl", "serve-status"}


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with recordings: live, a branch, damaged, of a bank, of groups, of a campaign."""
    lab = Lab(tmp_path_factory.mktemp("recordings"), tmp_path_factory.mktemp("h"))
    shutil.copy(SHIPPED, lab.folder / "run.jsonl")
    lines = SHIPPED.read_bytes().splitlines(keepends=True)
    (lab.folder / "damaged.jsonl").write_bytes(b"".join([*lines[:90], b'{"record":\n', *lines[91:]])[:-9])
    (lab.folder / "fails.scenario").write_text(FAILING)
    histories = re.findall(r"^```edn\n(.*?)^```$", find_page("histories").text, re.MULTILINE | re.DOTALL)
    for name, text in zip(("history.edn", "transactions.edn"), histories, strict=True):
        (lab.folder / name).write_text(text)
    assert lab(*GROUPS).status == 0
    assert lab(*BANK, *BLOCKED).status == 0
    assert lab(*CAMPAIGN).status == 1
    assert lab(*EXPLORED).status == 1
    branch = ("--at", "2s", "--headless", "--for", "1s", "--record", "branch.jsonl")
    assert lab("branch", "run.jsonl", *branch).status == 0
    return lab.folder


@pytest.fixture
def folder(lab: Lab, recordings: Path) -> Lab:
    """Return a folder with copies of the recordings."""
    shutil.copytree(recordings, lab.folder, dirs_exist_ok=True)
    return lab


def test_every_document_is_printed_here() -> None:
    assert {*CALLS, *ELSEWHERE} == set(DOCUMENTS)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.live if name == "check-program" else ()) for name in CALLS]
)
def test_documents_fit_their_schemas(folder: Lab, name: str) -> None:
    """Every field that is printed is in the schema, with its type; and the output is this document alone."""
    for call in CALLS[name]:
        done = folder(*call, "--json")
        assert done.status in (0, 1, 2), done
        assert done.out.count("\n") == 1, done
        assert fitting(name, done.out)["format"] == 1


@pytest.mark.parametrize("name", DOCUMENTS)
def test_lab_schema_prints_it(lab: Lab, name: str) -> None:
    done = lab("schema", name)
    assert json.loads(done.out) == json.loads(json.dumps(schema_of(name)))
    assert json.loads(done.out)["$id"] == f"urn:lab:{name}:1"


def test_lab_schema_lists_the_documents(lab: Lab) -> None:
    """Each with the command that prints it."""
    rows = lab("schema").out.splitlines()[1:]
    assert [row.split()[0] for row in rows[: len(DOCUMENTS)]] == list(DOCUMENTS)
    assert lab.within("schema", "chekc").refused() == (
        "no document is called 'chekc'; did you mean check?; list them: lab schema"
    )


def test_a_schema_refuses_another_document(lab: Lab) -> None:
    """One with a field too many, too few, or of another type."""
    done = lab("scenario", "list", "--json")
    for change in (_without_title, _with_number, _with_more):
        document = json.loads(done.out)
        change(document["scenarios"][0])
        with pytest.raises(Exception, match=r"title|worlds|more"):
            fitting("scenario-list", json.dumps(document))


def _without_title(row: dict[str, Any]) -> None:
    del row["title"]


def _with_number(row: dict[str, Any]) -> None:
    row["worlds"] = 2


def _with_more(row: dict[str, Any]) -> None:
    row["more"] = ""


# the page


def _section(name: str) -> str:
    (found,) = [part for part in PAGE.split("\n## ") if part.startswith(f"{name}\n")]
    return found


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_page_explains_every_field(name: str) -> None:
    """In the section of the document, which names the command; and explains no field that does not exist."""
    section, fields = _section(name), names_in(schema_of(name))
    assert DOCUMENTS[name].command in section
    named = set(re.findall(r"`(\w+)`", section))
    shared = set(re.findall(r"`(\w+)`", PAGE.partition("\n## ")[0]))
    assert fields - named - shared == set()
    assert set(re.findall(r"^\| `(\w+)`", section, re.MULTILINE)) - fields == set()


# what the documents say


def _document(lab: Lab, name: str, *words: str) -> Any:
    return fitting(name, lab(*words, "--json").out)


def test_a_run_of_a_bank_has_figures(folder: Lab) -> None:
    figures = _document(folder, "run", *BANK[:-1], "again.jsonl", *BLOCKED)["figures"]
    assert figures["transactions"]["committed"] == 0
    assert [each["transaction"] for each in figures["open"]] == ["5.1"]
    bully = _document(folder, "run", "run", "bully", "--sim", "--headless", "--for", "2s")
    assert bully["figures"] is None


def test_verify_lists_what_holds_and_what_was_refused(folder: Lab) -> None:
    """A violation has the events that led to it; a file that is no recording is refused, with status 2."""
    done = folder("verify", "run.jsonl", "fails.scenario", "--json")
    assert done.status == 2
    document = fitting("verify", done.out)
    ((run,), (refused,)) = document["recordings"], document["refused"]
    assert run["holds"]
    assert [each["failed"] for each in run["verdicts"]] == [False] * len(run["verdicts"])
    assert run["verdicts"][0]["events"]
    assert refused["file"] == "fails.scenario"
    strict = fitting("verify", folder("verify", "run.jsonl", "--strict", "--json").out)
    assert not strict["recordings"][0]["holds"]


def test_a_log_is_as_its_text(folder: Lab) -> None:
    """The same lines pass the filters, and damage is in both."""
    words = ("show", "run.jsonl", "--node", "4", "--kind", "EnterElection")
    lines = _document(folder, "show", *words)["lines"]
    text = [line for line in folder(*words).out.splitlines() if not line.startswith("#")]
    assert len(lines) == len(text) > 0
    assert {each["kind"] for each in lines} == {"EnterElection", "EnterElectionAnswer"}
    assert _document(folder, "show", "show", "damaged.jsonl")["recording"]["unreadable"][0]["line"] == 91


def test_a_difference_names_the_records(folder: Lab) -> None:
    same = _document(folder, "diff", "diff", "run.jsonl", "run.jsonl")
    assert (same["diverges"], same["a_next"], same["b_next"]) == (False, None, None)
    other = _document(folder, "diff", "diff", "run.jsonl", "branch.jsonl")
    assert other["diverges"]
    assert other["a_next"]["record"] >= other["same"]
    assert [each["field"] for each in other["header"]] == ["world"]


def test_branches_are_a_tree(folder: Lab) -> None:
    tree = _document(folder, "branches", "branches", "run.jsonl")["recordings"]
    (run,) = [each for each in tree if each["file"].endswith("/run.jsonl")]
    assert [each["file"].rpartition("/")[2] for each in run["branches"]] == ["branch.jsonl"]


def test_an_export_names_the_file(folder: Lab) -> None:
    """Without a format, what there is: the tables of this run, with their columns."""
    written = _document(folder, "export", "export", "run.jsonl", "--table", "faults")["written"]
    size = (folder.folder / "run.faults.csv").stat().st_size
    assert written == {"file": "run.faults.csv", "as": "csv", "table": "faults", "bytes": size}
    listed = _document(folder, "export", "export", "bank.jsonl")
    assert listed["written"] is None
    assert "transactions" in [table["name"] for table in listed["tables"]]


def test_a_failing_scenario_is_counted(folder: Lab) -> None:
    document = _document(folder, "scenario-check", "scenario", "check", "fails.scenario", "--sim")
    assert (document["failed"], document["planned"]) == (1, 1)
    assert document["runs"][0]["findings"]


def test_the_guide_as_documents(folder: Lab) -> None:
    """The contents name every page; a page is its Markdown; a line that is found is on its page."""
    sections = _document(folder, "guide", "guide")["sections"]
    names = [page["name"] for section in sections for page in section["pages"]]
    assert names == [page.name for page in all_pages()]
    assert _document(folder, "guide-page", "guide", "json")["text"] == PAGE
    found = _document(folder, "guide-search", "guide", "--search", "schema draft")["lines"]
    assert ("json", "JSON documents") in [(line["page"], line["heading"]) for line in found]
    assert folder("guide", "--search", "no such words", "--json").status == 1
    site = _document(folder, "guide-site", "guide", "--html", "site")
    assert site["pages"] == len(names)
    assert (folder.folder / site["index"]).is_file()


def test_a_scenario_as_a_document(folder: Lab) -> None:
    """Its script has the lines of the file, at their numbers; one made from a recording can be run."""
    shown = _document(folder, "scenario-show", "scenario", "show", "figure-3-12")
    text = Path(shown["file"]).read_text().splitlines()
    assert shown["script"]
    assert all(text[each["line"] - 1] == each["text"] for each in shown["script"])
    made = _document(folder, "scenario-from", "scenario", "from", "groups.jsonl", "-o", "made.scenario")
    assert made["reproduces"]
    assert (folder.folder / made["file"]).read_text() == made["text"]
    assert folder("scenario", "check", "made.scenario", "--sim").status == 0


def test_an_exercise_as_a_document(folder: Lab) -> None:
    """The solution is there if asked for, and in no students' edition."""
    words = ("exercise", "show", "two-coordinators")
    shown = _document(folder, "exercise-show", *words)
    assert shown["solution"] is None
    assert [len(each["choices"]) for each in shown["tasks"]] == [4, 0, 0]
    assert shown["tasks"][0]["asks"].endswith("?")
    assert sum(each["points"] for each in shown["tasks"] if each["way"] != "explain") == shown["points"]
    solved = _document(folder, "exercise-show", *words, "--solution")
    assert solved["solution"] == (EXERCISE / "solution.script").read_text()
    made = _document(folder, "exercise-handout", "exercise", "handout", str(EXERCISE), "--to", "handout")
    (written,) = made["exercises"]
    assert (folder.folder / written["folder"] / "exercise.toml").is_file()
    assert not list((folder.folder / written["folder"]).glob("solution*"))


def test_codes_are_shown_once(folder: Lab) -> None:
    """When they are created, with the command to connect; later only that they are unused."""
    words = ("serve", "invite", "--data", "class")
    (made,) = _document(folder, "serve-invite", *words, "anna", "--host", "lab.example.org")["students"]
    assert made["ssh"].endswith(f" {made['code']}@lab.example.org")
    (listed,) = _document(folder, "serve-invite", *words)["students"]
    assert listed == {**made, "code": None, "ssh": None}


@pytest.mark.parametrize(
    "words",
    [
        ("run", "bully", "--json"),
        ("branch", "run.jsonl", "--at", "1s", "--json"),
    ],
)
def test_json_needs_a_headless_run(folder: Lab, words: tuple[str, ...]) -> None:
    assert folder.within(*words).refused() == "--json requires --headless"


def test_one_document_at_a_time(folder: Lab) -> None:
    refused = folder.within("export", "run.jsonl", "--to", "csv", "--out", "-", "--json").refused()
    assert refused == "--json and --out - both write to standard output; leave one of them out"
