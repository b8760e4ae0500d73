"""``--help``: every command has one, and it explains every option and argument."""

import re
import subprocess
import sys
from itertools import pairwise

import pytest

from lab.cli.program import COMMANDS, load_command
from lab.recording.log_lines import LINE_TYPES
from lab.script.parse_errors import EXPECTATIONS, TRIGGERS
from lab.script.verbs import VERBS
from lab.script.vocabulary import described_counts, described_states
from tests.cli.invocation import ROOT, Lab

OPTIONS = {
    "run": (
        "--nodes --t --tm --tp --latency --jitter --sim --live --speed --set --properties --sandbox --do --script "
        "--record --seed --headless --for --json --watch --program --lens --workload --model --clients --rate "
        "--service --role"
    ),
    "consistency": "--workload --model --states --accept-torn --out --json",
    "replay": "--compare --protocol --properties --watch",
    "tour": "",
    "export": (
        "--to --out --from --until --nodes --time --heartbeats --ascii --force --table --view --size --speed "
        "--fps --idle --protocol --json --title --caption --width --theme --zoom --scale --labels"
    ),
    "verify": "--protocol --properties --strict --junit --json",
    "show": "--node --kind --only --heartbeats --watch --blocked --view --at --protocol --json",
    "list": "--text --json",
    "attach": "--viewer",
    "ctl": "--json",
    "guide": "--plain --search --html --json",
    "branch": "--at --do --for --record --seed --headless --protocol --json",
    "branches": "--json",
    "diff": "--json",
    "convert": "--out --force --json",
    "schema": "",
    "check": (
        "--runs --seed --nodes --faults --find --strict --keep-going --minutes --workers --cluster --out --t "
        "--set --properties --sandbox --blind --corpus --systematic --record --resume --parts --part --junit "
        "--json --workload --model --clients --rate --service --program --lens --for --repetitions"
    ),
    "campaign show": "--group --out --protocol --plain --json",
    "campaign merge": "--out --json",
    "campaign table": "--to --out --force",
    "mutate": (
        "--runs --seed --nodes --faults --systematic --properties --only --files --numbers --list --show "
        "--explore --at-least --workers --t --set --json --workload --model --clients --rate --service"
    ),
    "compare": "--script --faults --runs --nodes --seed --task --t --workers --record --resume --parts --part "
    "--out --table --json",
    "explore": "--nodes --kills --restarts --cuts --pauses --timeouts --suspicions --from --states --depth --set "
    "--role --workload --model --client "
    "--properties --do --find --out --record --resume --junit --json",
    "scale": "--nodes --t --seed --record --resume --out --table --json",
    "exercise list": "--exercises --json",
    "exercise show": "--solution --student --data --json",
    "exercise start": "--student --home --exercises",
    "exercise status": "--student --home --exercises --json",
    "exercise try": "--seed --json",
    "exercise grade": "--exercise --student --every --csv --gradescope --sealed-by --data --home --exercises "
    "--json",
    "exercise check": "--junit --json",
    "exercise handout": "--to --json",
    "lecture list": "--json",
    "lecture show": "--json",
    "lecture check": "--json",
    "lecture rehearse": "--step",
    "lecture export": "--out --no-notes --force --json",
    "serve": "--port --web --listen --host --class --course --open --exercises --lecture --data --nodes "
    "--sessions --log-ins --idle --linger --recording",
    "serve invite": "--days --host --data --json",
    "serve status": "--data --json",
    "serve course": "--student --exercises --data",
    "serve comment": "--attempt --data",
    "serve remove": "--yes --data",
    "serve readmit": "--data",
    "serve archive": "--to --yes --data",
    "serve erase": "--yes --data",
    "serve export": "--csv --gradescope --grades --every --force --exercises --data",
    "scenario list": "--json",
    "scenario show": "--json",
    "scenario check": "--sim --live --runs --sandbox --workers --junit --keep --json",
    "scenario from": "--out --shrink --title --protocol --json",
}


def _help_texts(name: str, text: str) -> str:
    """Return the text of an option or argument, without its type."""
    row = re.search(rf"^│ \*? *{re.escape(name)}\s(.*)│$", text, re.MULTILINE)
    assert row is not None, f"{name} is not in the help"
    return re.sub(r"^(-h)?\s*\S+\s+", "", row[1].strip()).strip()


@pytest.mark.parametrize("command", OPTIONS)
def test_a_command_explains_itself(lab: Lab, command: str) -> None:
    """Exactly these options, each with a text, and a sentence on top."""
    done = lab.within(*command.split(), "--help")
    assert (done.status, done.err) == (0, "")
    assert re.search(rf"Usage: lab {command} ", done.out)
    assert set(re.findall(r"^│ \*? *(--[\w-]+)", done.out, re.MULTILINE)) == {*OPTIONS[command].split(), "--help"}
    for name in OPTIONS[command].split():
        assert len(_help_texts(name, done.out)) > 10, f"{name} needs a text"
    assert re.search(r"^ (?!Usage)[A-Z][^│]{30,}[.:]", done.out, re.MULTILINE), "there is no sentence on top"


def test_prose_is_wrapped_once(lab: Lab) -> None:
    """At the terminal's width, and not at the line ends of the source."""
    for command in ("verify", "history", "branch", "check", "mutate", "explore", "compare"):
        output = lab(command, "--help", environment={"COLUMNS": "60"}).out.partition("╭")[0]
        for paragraph in re.split(r"\n *\n", output):
            lines = [line.strip() for line in paragraph.splitlines() if line.strip()]
            if any("  " in line for line in lines):
                continue  # a table
            for line, following in pairwise(lines):
                assert len(f"{line} {following.split()[0]}") > 58, f"{command}: {line!r} ends too soon"


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_lab_has_the_first_sentence_of_each_command(command: str) -> None:
    """It is written in a table too, so that the list needs no command's module."""
    assert load_command(command).help.split("\n\n")[0] == COMMANDS[command][0]


def test_the_program_imports_no_command() -> None:
    """Before it is called; so ``lab --help`` loads no protocol, no world and no interface."""
    code = "import sys, lab.cli.program; print(*sorted(name for name in sys.modules if name.startswith('lab.')))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [
        "lab.cli",
        "lab.cli.program",
        "lab.cli.terminal",
        "lab.glyphs",
        "lab.output",
        "lab.text",
    ]


def test_the_help_of_lab(lab: Lab) -> None:
    """Without a terminal, ``lab`` is ``lab --help``: all commands, a start, the exit statuses."""
    done = lab("--help")
    assert done.status == 0
    for command in {words.partition(" ")[0] for words in OPTIONS}:
        assert re.search(rf"^│ {command} +[A-Z]", done.out, re.MULTILINE), command
    assert "Begin with: lab run bully\n" in re.sub(" +\n", "\n", done.out)
    assert "130 Ctrl-C" in done.out
    assert lab() == lab("-h") == done


def test_all_commands_of_the_language_are_in_the_help_of_ctl(lab: Lab) -> None:
    """With their usage."""
    output = lab("ctl", "--help").out
    for verb in VERBS.values():
        assert f"  {verb.usage} " in output


def test_triggers_predicates_and_expectations_are_in_the_help_of_ctl(lab: Lab) -> None:
    """With an example of each, and the words of predicates."""
    output = lab("ctl", "--help").out
    for example in (*TRIGGERS.values(), *EXPECTATIONS.values()):
        assert f"  {example}\n" in re.sub(" +\n", "\n", output)
    assert {*described_states(), *described_counts()} <= set(output.split())


def test_the_help_of_show_has_every_type_of_line(lab: Lab) -> None:
    shown = " ".join(re.sub("[│╭╮╰╯─]", " ", lab("show", "--help").out).split())
    assert f"Show only lines of this type: {', '.join(LINE_TYPES[:-1])} or {LINE_TYPES[-1]}." in shown


def test_the_version(lab: Lab) -> None:
    """A number, and nothing else."""
    done = lab("--version")
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*\n", done.out)
    assert (done.status, done.err) == (0, "")


@pytest.mark.parametrize(
    ("words", "result", "where"),
    [
        (("frob",), "frob", "lab --help"),
        (("run", "bully", "--frob"), "--frob", "lab run --help"),
        (("run", "bully", "--nodes"), "--nodes", "lab run --help"),
        (("show",), "file", "lab show --help"),
        (("branches", "a", "extra"), "extra", "lab branches --help"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_usage_errors_point_to_the_help(lab: Lab, words: tuple[str, ...], result: str, where: str) -> None:
    """The wording is typer's, and not tested here."""
    output = lab.within(*words).refused()
    assert result in output.lower()
    assert output.endswith(f" (see: {where})")
