"""``--junit`` of every command that checks something: cases, failures, what was not judged, and the command."""

import shutil
from xml.etree import ElementTree

import pytest

from lab import __version__
from lab.cli.junit import JUnitCase, JUnitSuite, format_junit
from tests.cli.invocation import SHIPPED, Lab

NOTHING = ("--for", "1ms")


def _suite(lab: Lab) -> ElementTree.Element:
    (suite,) = ElementTree.parse(lab.folder / "report.xml").getroot()
    return suite


def _properties(element: ElementTree.Element) -> dict[str | None, str | None]:
    return {each.get("name"): each.get("value") for each in element.findall("properties/property")}


def _failed(suite: ElementTree.Element) -> dict[str | None, str]:
    """Return the text of each failure, by the name of its case; the count of failures agrees."""
    found = {
        each.get("name"): failure.text or "" for each in suite.iter("testcase") for failure in each.iter("failure")
    }
    assert suite.get("failures") == str(len(found))
    return found


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("check", "bully", "--runs", "2", "--seed", "7", "--workers", "1"), "check"),
        (("explore", "bully", "--states", "200"), "explore"),
        (("verify", "run.jsonl"), "verify"),
        (("exercise", "check", "two-coordinators"), "exercise check"),
        (("scenario", "check", "coordinator-dies", "--sim"), "simulated"),
    ],
)
def test_a_suite_names_the_command(lab: Lab, words: tuple[str, ...], name: str) -> None:
    """The version and the whole command; every case has a name, and none failed."""
    shutil.copy(SHIPPED, lab.folder / "run.jsonl")
    assert lab(*words, "--junit", "report.xml").status == 0
    suite = _suite(lab)
    found = _properties(suite)
    assert (found["version"], found["command"]) == (__version__, f"lab {' '.join(words)} --junit report.xml")
    assert suite.get("name") == name
    assert int(suite.get("tests") or 0) == len(list(suite.iter("testcase"))) > 0
    assert _failed(suite) == {}


@pytest.mark.parametrize(
    "words",
    [
        ("check", "bully"),
        ("explore", "bully"),
        ("verify", str(SHIPPED)),
        ("exercise", "check", "two-coordinators"),
        ("scenario", "check", "coordinator-dies"),
    ],
)
def test_another_file_is_never_replaced(lab: Lab, words: tuple[str, ...]) -> None:
    """Neither a protocol nor a page that speaks of reports."""
    file = lab.folder / "mine.py"
    for text in ("print(1)\n", "<html><testsuite></html>\n"):
        file.write_text(text)
        refused = lab(*words, "--junit", "mine.py").refused()
        assert refused == "--junit mine.py exists and is not a JUnit report; name another file"
        assert file.read_text() == text


@pytest.mark.parametrize(
    "start", ["", '<?xml version="1.0"?>\n<!-- CI -->\n<testsuite>', "\ufeff<testsuites>", "<testsuites/>"]
)
def test_a_report_is_replaced(lab: Lab, start: str) -> None:
    (lab.folder / "report.xml").write_text(start, "utf-8")
    assert lab("verify", str(SHIPPED), "--junit", "report.xml").status == 0
    assert _suite(lab).get("name") == "verify"


def test_a_campaign(lab: Lab) -> None:
    """The finding is the failure of its assertion, with the command that runs it again."""
    words = ("check", "bully", "--faults", "kill,pause", "--find", "A1.1", "--runs", "30", "--seed", "5")
    done = lab(*words, "--workers", "1", "--junit", "report.xml")
    assert done.status == 1
    suite = _suite(lab)
    failed = _failed(suite)
    assert list(failed) == ["A1.1"]
    assert failed["A1.1"].startswith("excused: A1.1 under broken assumption")
    again = next(line.removeprefix("again:    ") for line in done.out.splitlines() if line.startswith("again:"))
    assert f"again: {again}" in failed["A1.1"]
    assert _properties(suite)["seed"] == "5"


def test_what_a_campaign_never_judged_fails(lab: Lab) -> None:
    """As in its exit status."""
    done = lab("check", "bully", "--runs", "1", "--nodes", "1", "--workers", "1", "--junit", "report.xml")
    assert done.status == 1
    assert _failed(_suite(lab)) == dict.fromkeys(
        ("A1.1", "A1.2"), "judged in no run, so it does not count as holding"
    )


def test_an_exploration(lab: Lab) -> None:
    """A violated assertion fails, with the recording; one that was not judged is skipped."""
    done = lab("explore", "bully", "--timeouts", "any", "--states", "3000", "--junit", "report.xml")
    assert done.status == 1
    suite = _suite(lab)
    failed = _failed(suite)
    assert failed["A1.1"].startswith("A1.1: violated in ")
    assert "\nrecorded: " in failed["A1.1"]
    assert int(suite.get("skipped") or 0) == len(list(suite.iter("skipped"))) > 0


def test_recordings(lab: Lab) -> None:
    """Each has a case for its re-execution and for each assertion; with --strict an excused violation fails."""
    shutil.copy(SHIPPED, lab.folder / "run.jsonl")
    text = SHIPPED.read_text().replace('"kind":"EnterElection"', '"kind":"EnterElections"', 1)
    (lab.folder / "edited.jsonl").write_text(text)
    words = ("run.jsonl", "edited.jsonl", "nowhere.jsonl", "--strict", "--junit", "report.xml")
    assert lab("verify", *words).status == 2
    suite = _suite(lab)
    failures = {
        (case.get("classname"), case.get("name")): failure.text or ""
        for case in suite.iter("testcase")
        for failure in case.iter("failure")
    }
    assert ("verify.run.jsonl", "re-execution") not in failures
    assert failures["verify.edited.jsonl", "re-execution"].startswith("record ")
    assert "nowhere.jsonl" in failures["verify.nowhere.jsonl", "re-execution"]
    assert failures["verify.run.jsonl", "A1.1"].startswith("excused: A1.1 under broken assumption 9")
    assert failures["verify.run.jsonl", "A1.1"].count("\n") > 3


def test_a_recording_in_which_nothing_was_judged(lab: Lab) -> None:
    """Fails, as in the exit status."""
    lab("run", "bully", "--sim", "--headless", *NOTHING, "--record", "run.jsonl")
    assert lab("verify", "run.jsonl", "--junit", "report.xml").status == 1
    failed = _failed(_suite(lab))
    assert "A1.1" in failed
    assert all(text.startswith("not judged: ") for text in failed.values())


def test_an_exercise_that_is_incorrect() -> None:
    """Fails with what is wrong with it; characters that XML cannot hold are escaped."""
    case = JUnitCase("exercises", "mine", ("the solution earns 0", "and \x1b[31mmore"))
    suite = ElementTree.fromstring(format_junit([JUnitSuite("exercise check", [case])]).encode())[0]
    (failure,) = suite.iter("failure")
    assert failure.get("message") == "the solution earns 0"
    assert failure.text == "the solution earns 0\nand \\x1b[31mmore"


@pytest.mark.parametrize(
    "words",
    [("check", "bully"), ("explore", "bully"), ("verify", "run.jsonl"), ("exercise", "check")],
    ids="-".join,
)
def test_the_file_is_checked_first(lab: Lab, words: tuple[str, ...]) -> None:
    """Before the work begins."""
    shutil.copy(SHIPPED, lab.folder / "run.jsonl")
    refused = lab.within(*words, "--junit", "nowhere/report.xml").refused()
    assert refused == f"--junit nowhere/report.xml: the folder {lab.folder}/nowhere does not exist"
