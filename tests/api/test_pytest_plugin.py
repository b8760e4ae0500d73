"""The plugin for pytest, on a user's protocol with a bug; and ``lab guide testing``.

Most of its sessions are within the process of the tests: a process of its own imports for two seconds.
"""

import os
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import lab
from lab.guide.contents import find_page

pytest_plugins = ("pytester",)

PYTHON, TEXT, YAML = (
    re.findall(rf"^```{language}\n(.*?)^```$", find_page("testing").text, re.MULTILINE | re.DOTALL)
    for language in ("python", "text", "yaml")
)
CHECKED, RUN, DRAWN = PYTHON
REPORT, SCHEDULE = TEXT
IMPORTS, TWO_LINES = CHECKED.split("\n\n\n")
RECORDING = "test_my_election.py-test_my_election_survives_crashes"


@pytest.fixture
def tests(pytester: pytest.Pytester, my_election: Path) -> pytest.Pytester:
    """A folder with ``my_election.py``."""
    my_election.rename(pytester.path / my_election.name)
    return pytester


def written(tests: pytest.Pytester, *parts: str) -> None:
    """Write the tests of the protocol."""
    (tests.path / "test_my_election.py").write_text("\n\n".join((IMPORTS, *parts)), "utf-8")


def run(tests: pytest.Pytester, *options: str) -> pytest.RunResult:
    """Run the tests in a session within this one, without what other plugins of this environment would print."""
    return tests.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:textual-snapshot", *options)


def run_apart(tests: pytest.Pytester, *options: str) -> pytest.RunResult:
    """Run the tests in a process of their own."""
    return tests.runpytest_subprocess("-p", "no:cacheprovider", *options)


def recordings(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*.jsonl"))


def test_the_plugin_is_installed() -> None:
    """An environment from before has no such entry point: ``pip install -e .`` again."""
    (entry,) = {each.value for each in entry_points(group="pytest11", name="lab")}
    assert entry == "lab.api.pytest_plugin"


def test_two_lines_report_the_schedule_the_witness_and_the_commands(tests: pytest.Pytester) -> None:
    """As the page shows it; the commands do what they say."""
    assert len(TWO_LINES.splitlines()) == 2
    written(tests, TWO_LINES)
    result = run_apart(tests)
    result.assert_outcomes(failed=1)
    shown = result.stdout.str().replace(f"{tests.path}/", "")
    assert REPORT in shown
    kept = tests.path / ".lab"
    assert recordings(kept) == [f"{RECORDING}.jsonl"]
    assert (kept / ".gitignore").read_text("utf-8") == "*\n"
    found = lab.load(kept / f"{RECORDING}.jsonl", f"{tests.path}/my_election.py:MyElection")
    assert {verdict.assertion: verdict.word for verdict in found.verdicts}["A1.1"] == "fails"

    def command(name: str) -> list[str]:
        (line,) = re.findall(rf"^E +{name}: +(?:lab|pytest) (.*)$", result.stdout.str(), re.MULTILINE)
        return shlex.split(line)

    again = [sys.executable, "-m", "lab", *command("again"), "--record", str(tests.path / "again.jsonl")]
    done = subprocess.run(again, cwd=tests.path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "A1.1 fails with all assumptions intact" in done.stdout
    run(tests, *command("test")).assert_outcomes(failed=1)


def test_a_protocol_that_holds_leaves_nothing(tests: pytest.Pytester) -> None:
    written(tests, 'def test_it(lab_check):\n    print(lab_check("bully", faults="kill", runs=5).runs, "runs")\n')
    result = run(tests, "-s")
    result.assert_outcomes(passed=1)
    assert "5 runs" in result.stdout.str()
    assert not (tests.path / ".lab").exists()


def test_the_options_count_more_than_the_arguments(tests: pytest.Pytester) -> None:
    written(
        tests,
        "def test_it(lab_check, lab_run):\n"
        '    print(lab_check("bully", runs=500, seed=1, nodes=3, faults="kill").runs, "runs,",\n'
        '          lab_run("bully", 3, seed=9).header.seed, "is the seed")\n'
        "    assert False\n",
    )
    result = run(tests, "--lab-runs", "3", "--lab-seed", "7", "--lab-recordings", "reports/lab")
    result.assert_outcomes(failed=1)
    shown = result.stdout.str()
    assert "3 runs, 7 is the seed" in shown
    assert "test:     pytest test_my_election.py::test_it --lab-runs 3 --lab-seed 7" in shown
    assert recordings(tests.path / "reports" / "lab") == ["test_my_election.py-test_it.jsonl"]
    assert not (tests.path / "reports" / "lab" / ".gitignore").exists()


def test_a_test_that_expects_a_failure_leaves_nothing(tests: pytest.Pytester) -> None:
    written(
        tests,
        "import pytest\n\n"
        "def test_it(lab_check):\n"
        '    with pytest.raises(AssertionError, match="A1.1 fails"):\n'
        '        lab_check(MyElection, faults="kill")\n',
    )
    run(tests).assert_outcomes(passed=1)
    assert not (tests.path / ".lab").exists()


def test_what_was_judged_in_no_run_fails(tests: pytest.Pytester) -> None:
    written(tests, "def test_it(lab_check):\n    lab_check(MyElection, nodes=1, runs=2)\n")
    result = run(tests)
    result.assert_outcomes(failed=1)
    assert "A1.1 was judged in none of 2 runs" in result.stdout.str()


def test_one_run(tests: pytest.Pytester) -> None:
    """That of the page passes, and leaves nothing; one that fails is in the report, and its recording is kept."""
    written(tests, RUN, RUN.replace("takes_over", "leads_at_once").replace("[3, 2]", "[2]"))
    result = run(tests)
    result.assert_outcomes(passed=1, failed=1)
    shown = result.stdout.str()
    assert "at 2s kill 3" in shown
    assert "<Run of my-election, 3 nodes, 10 s: A1.1 holds, A2 holds>, seed 1" in shown
    assert recordings(tests.path / ".lab") == ["test_my_election.py-test_the_second_leads_at_once.jsonl"]


def test_a_run_that_fails_is_explained(tests: pytest.Pytester) -> None:
    script = ["at 2s kill 2", "at 3s restart 2"]
    written(tests, f"def test_it(lab_run):\n    assert lab_run(MyElection, 2, script={script}).holds\n")
    shown = run(tests).stdout.str()
    assert re.search(r"^A1\.1 fails with all assumptions intact: node \d is Normal under", shown, re.MULTILINE)
    assert re.search(
        r"^ +3\.000000  2 starts for the second time and becomes Normal under 2$", shown, re.MULTILINE
    )


def test_the_reports_of_parallel_workers(tests: pytest.Pytester) -> None:
    """The report for the build server has the recordings and the commands as properties."""
    written(tests, TWO_LINES, TWO_LINES.replace("crashes", "more_crashes"))
    result = run(tests, "-n", "2", "--junit-xml", "report.xml")
    result.assert_outcomes(failed=2)
    assert len(recordings(tests.path / ".lab")) == 2
    for case in ET.parse(tests.path / "report.xml").iter("testcase"):
        given = {each.get("name"): each.get("value") or "" for each in case.iter("property")}
        assert (tests.path / given["lab_recording"]).exists()
        assert given["lab_again"].startswith("lab run ")


def test_hypothesis_draws_the_faults(tests: pytest.Pytester) -> None:
    """The test of the page, always with the same values: what it finds is an argument, with its recording."""
    quick = "max_examples=100, derandomize=True, phases=[Phase.generate, Phase.shrink]"
    written(tests, DRAWN.replace("max_examples=100", quick).replace("import given", "import Phase, given"))
    result = run(tests)
    result.assert_outcomes(failed=1)
    shown = result.stdout.str()
    drawn = re.search(r"schedule=(\{'nodes': .*?\})", shown, re.DOTALL)
    assert drawn is not None, shown
    schedule = eval(re.sub(r"^E? *", "", drawn[1], flags=re.MULTILINE))
    assert list(schedule) == re.findall(r"'(\w+)':", SCHEDULE)
    assert len(schedule["script"]) <= 3
    assert lab.simulate(f"{tests.path}/my_election.py:MyElection", **schedule).failures == ("A1.1",)
    assert len(recordings(tests.path / ".lab")) == 1


def test_a_test_that_goes_elsewhere(tests: pytest.Pytester) -> None:
    """The recordings are where they are wanted all the same, named as seen from where pytest was started."""
    two_lines = TWO_LINES.replace("lab_check)", "lab_check, monkeypatch, tmp_path)")
    written(tests, two_lines.replace("    lab_check", "    monkeypatch.chdir(tmp_path)\n    lab_check"))
    shown = run(tests, "--lab-recordings", "kept").stdout.str()
    assert f"recorded: kept/{RECORDING}.jsonl" in shown
    assert recordings(tests.path / "kept") == [f"{RECORDING}.jsonl"]


def test_a_mistake_is_shown_where_the_test_makes_it(tests: pytest.Pytester) -> None:
    written(
        tests,
        'def test_name(lab_check):\n    lab_check("bulli")\n',
        'def test_script(lab_run):\n    lab_run(MyElection, script="at 2s kil 3")\n',
    )
    result = run(tests)
    result.assert_outcomes(failed=2)
    shown = result.stdout.str()
    assert "did you mean bully?" in shown
    assert "did you mean 'kill'?" in shown
    assert "lab/api" not in shown


def test_a_folder_that_cannot_be_written(tests: pytest.Pytester) -> None:
    written(tests, TWO_LINES)
    result = run(tests, "--lab-recordings", "my_election.py/x")
    result.assert_outcomes(failed=1)
    assert "the recording cannot be written to my_election.py/x/" in result.stdout.str()


@pytest.mark.parametrize("option", [("--lab-runs", "0"), ("--lab-runs", "many"), ("--lab-seed", "-1")])
def test_wrong_options(tests: pytest.Pytester, option: tuple[str, str]) -> None:
    result = run(tests, "=".join(option))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "write a whole number from" in result.stderr.str()


def test_other_tests_load_nothing(tests: pytest.Pytester) -> None:
    """Only the plugin itself, in which no hook is called for a test."""
    tests.makepyfile(
        "import sys\n\n"
        "def test_it():\n"
        "    assert [name for name in sys.modules if name.split('.')[0] == 'lab'] == "
        "['lab', 'lab.api', 'lab.api.pytest_plugin']\n"
    )
    run_apart(tests).assert_outcomes(passed=1)


# the page


def test_the_commands_of_the_workflow(tests: pytest.Pytester) -> None:
    """Both pytest lines of the workflow find the bug, and leave what the last step keeps."""
    (workflow,) = YAML
    lines = re.findall(r"^ +run: pytest (.*)$", workflow, re.MULTILINE)
    assert len(lines) == 2
    kept = re.search(r"^ +path: (.*)/$", workflow, re.MULTILINE)
    assert kept is not None
    written(tests, TWO_LINES)
    for number, line in enumerate(lines):
        assert line.startswith("-n auto ")
        options = shlex.split(line.replace("auto", "0").replace("${{ github.run_number }}", "41"))  # for one test
        assert ("--lab-seed" in options) == bool(number)
        run(tests, *options).assert_outcomes(failed=1)
        folder = tests.path / kept[1]
        assert (folder / "junit.xml").exists()
        assert recordings(folder) == [f"{RECORDING}.jsonl"]
        os.rename(folder, tests.path / f"night-{number}")
