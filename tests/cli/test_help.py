"""``--help``: every command has one, and every option and argument in it is explained."""

import re
from itertools import pairwise

import pytest

from lab.script import VERBS
from lab.script.explaining import EXPECTATIONS, TRIGGERS
from lab.script.predicates import COUNTS, STATES
from tests.cli.calling import Lab

OPTIONS = {
    "run": (
        "--nodes --t --tm --tp --latency --jitter --sim --live --speed --set --do --script --record --seed "
        "--headless --for --json"
    ),
    "replay": "--beside",
    "tour": "",
    "export": (
        "--to --out --from --until --nodes --time --heartbeats --ascii --force --table --view --size --speed "
        "--fps --idle"
    ),
    "verify": "--protocol --strict",
    "show": "--node --kind --only --heartbeats --blocked --at",
    "list": "--json",
    "attach": "--viewer",
    "ctl": "",
    "guide": "--plain",
    "branch": "--at --do --for --record --seed --headless --protocol",
    "branches": "",
    "diff": "",
    "check": (
        "--runs --seed --nodes --faults --find --strict --keep-going --minutes --workers --cluster --out --t "
        "--set --json"
    ),
    "compare": "--script --faults --runs --nodes --seed --task --t --workers --output --json",
    "explore": "--nodes --kills --restarts --cuts --timeouts --from --states --depth --set --do --out --json",
    "scale": "--nodes --t --seed --output --json",
    "exercise list": "--exercises --json",
    "exercise show": "--solution",
    "exercise start": "--student --home --exercises",
    "exercise status": "--student --home --exercises --json",
    "exercise grade": "--exercise --student --every --csv --gradescope --exercises",
    "exercise check": "",
    "serve": "--port --web --listen --class --open --exercises --lecture --data --nodes --sessions --log-ins "
    "--idle --linger --recording",
    "serve invite": "--days --data",
    "serve status": "--data --json",
    "scenario list": "--json",
    "scenario show": "",
    "scenario check": "--sim --live --runs --workers --junit --keep",
    "scenario from": "--output --shrink --title --protocol",
}


def _said_of(name: str, text: str) -> str:
    """The words in the row of an option or argument, without its type."""
    row = re.search(rf"^│ \*? *{re.escape(name)}\s(.*)│$", text, re.MULTILINE)
    assert row is not None, f"{name} is not in the help"
    return re.sub(r"^(-h)?\s*\S+\s+", "", row[1].strip()).strip()


@pytest.mark.parametrize("command", OPTIONS)
def test_a_command_explains_itself(lab: Lab, command: str) -> None:
    """Exactly these options, each with a text, and a sentence on top."""
    done = lab(*command.split(), "--help")
    assert (done.status, done.err) == (0, "")
    assert re.search(rf"Usage: lab {command} ", done.out)
    assert set(re.findall(r"^│ \*? *(--[\w-]+)", done.out, re.MULTILINE)) == {*OPTIONS[command].split(), "--help"}
    for name in OPTIONS[command].split():
        assert len(_said_of(name, done.out)) > 10, f"{name} needs a text"
    assert re.search(r"^ (?!Usage)[A-Z][^│]{30,}[.:]", done.out, re.MULTILINE), "there is no sentence on top"


def test_prose_is_wrapped_once(lab: Lab) -> None:
    """By the terminal, and not where the lines of the source end: a narrow one breaks where it is full."""
    for command in ("verify", "history", "branch", "check", "explore", "compare"):
        said = lab(command, "--help", environment={"COLUMNS": "60"}).out.partition("╭")[0]
        for paragraph in re.split(r"\n *\n", said):
            lines = [line.strip() for line in paragraph.splitlines() if line.strip()]
            if any("  " in line for line in lines):
                continue  # a table
            for line, following in pairwise(lines):
                assert len(f"{line} {following.split()[0]}") > 58, f"{command}: {line!r} ends too soon"


def test_the_first_help(lab: Lab) -> None:
    """Without a terminal ``lab`` is ``lab --help``: all commands, how to begin, the exit statuses."""
    done = lab("--help")
    assert done.status == 0
    for command in {words.partition(" ")[0] for words in OPTIONS}:
        assert re.search(rf"^│ {command} +[A-Z]", done.out, re.MULTILINE), command
    assert "Begin with: lab run bully\n" in re.sub(" +\n", "\n", done.out)
    assert "130 Ctrl-C" in done.out
    assert lab() == lab("-h") == done


def test_all_commands_of_the_language_are_in_the_help_of_ctl(lab: Lab) -> None:
    """With their usage, from the one table."""
    said = lab("ctl", "--help").out
    for verb in VERBS.values():
        assert f"  {verb.usage} " in said


def test_triggers_predicates_and_expectations_are_in_the_help_of_ctl(lab: Lab) -> None:
    """By an example of each, and the words of predicates."""
    said = lab("ctl", "--help").out
    for example in (*TRIGGERS.values(), *EXPECTATIONS.values()):
        assert f"  {example}\n" in re.sub(" +\n", "\n", said)
    assert {*STATES, *COUNTS} <= set(said.split())


def test_the_version(lab: Lab) -> None:
    """A number and nothing else."""
    done = lab("--version")
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*\n", done.out)
    assert (done.status, done.err) == (0, "")


@pytest.mark.parametrize(
    ("words", "told", "where"),
    [
        (("frob",), "frob", "lab --help"),
        (("run",), "protocol", "lab run --help"),
        (("run", "bully", "--frob"), "--frob", "lab run --help"),
        (("run", "bully", "--nodes"), "--nodes", "lab run --help"),
        (("show",), "file", "lab show --help"),
        (("branches", "a", "extra"), "extra", "lab branches --help"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_a_wrong_call_points_to_the_help(lab: Lab, words: tuple[str, ...], told: str, where: str) -> None:
    """The wording of these is typer's, and not held here."""
    said = lab(*words).refused()
    assert told in said.lower()
    assert said.endswith(f" (see: {where})")
