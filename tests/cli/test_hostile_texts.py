"""Texts of strangers, through every command that prints: no control character reaches the terminal."""

import os

import pytest

from tests.cli.invocation import ROOT, Called, Lab
from tests.hostile import PAYLOADS, controls_in, hostile_lines
from tests.profile import SOAK, amount
from tests.recording.samples import eventful_lines

RECORDINGS = sorted((ROOT / "recordings").rglob("*.jsonl"))
FORMATS = ("svg", "html", "text", "mermaid", "dot", "shiviz", "perfetto", "csv", "jsonl")


def check(done: Called, words: tuple[str, ...]) -> None:
    """Check that the output controls no terminal, and that the command has refused, not failed."""
    assert "Traceback" not in done.err, (words, done.err)
    assert controls_in(done.out) == [], words
    assert controls_in(done.err) == [], words


@pytest.mark.parametrize("seed", range(amount(quick=2, soak=500)))
def test_hostile_recordings(lab: Lab, seed: int) -> None:
    """The payloads are in some of its texts, or in all: of kinds, names, notes, settings, reasons."""
    path = RECORDINGS[seed % len(RECORDINGS)]
    lines = eventful_lines() if seed % 4 == 0 else path.read_bytes().splitlines()
    (lab.folder / "a.jsonl").write_bytes(b"\n".join(hostile_lines(lines, seed)) + b"\n")
    (lab.folder / "b.jsonl").write_bytes(b"\n".join(hostile_lines(lines, seed + 1_000)) + b"\n")
    for words in (
        ("show", "a.jsonl"),
        ("show", "a.jsonl", "--watch", "all.status"),
        ("show", "a.jsonl", "--kind", "none"),
        ("show", "a.jsonl", "--node", "none"),
        ("show", "a.jsonl", "--blocked"),
        ("show", "a.jsonl", "--view", "bank"),
        ("verify", "a.jsonl", "b.jsonl"),
        ("diff", "a.jsonl", "b.jsonl"),
        ("diff", "a.jsonl", str(path)),
        ("history", "a.jsonl"),
        ("history", "a.jsonl", "--json"),
        ("branches", "a.jsonl"),
        ("replay", "a.jsonl"),
        ("branch", "a.jsonl", "--at", "20", "--headless", "--for", "1s"),
        ("scenario", "from", "a.jsonl"),
        ("exercise", "grade", "a.jsonl", "b.jsonl", "--every"),
        *(("export", "a.jsonl", "--until", "1s", "--to", each, "-o", "-") for each in FORMATS),
    ):
        check(lab(*words), words)


_NAMES = (b"\x1b[2J", b"\x1b]0;t\x07", b"\xc2\x9b31m", b"\xff\xfe", b"a\nlab: b", b"\xe2\x80\xaeb")
NAMES = tuple(map(os.fsdecode, _NAMES if SOAK else (b"".join(_NAMES),)))


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_hostile_file_names(lab: Lab, name: str) -> None:
    """Of recordings, scenarios, scripts, protocols and folders; in reports and in errors."""
    folder = lab.folder / name
    folder.mkdir()
    recording = f"{name}/{name}.jsonl"
    (lab.folder / recording).write_bytes(RECORDINGS[0].read_bytes())
    for suffix in ("scenario", "script", "py", "class"):
        (folder / f"{name}.{suffix}").write_text("nothing that is expected")
    (folder / "exercise.toml").write_text("nothing that is expected")
    for words in (
        ("show", recording),
        ("show", f"{recording}x"),
        ("verify", recording),
        ("diff", recording, str(RECORDINGS[1])),
        ("history", recording),
        ("branches", recording),
        ("branch", recording, "--at", "20", "--headless", "--for", "1s", "--record", f"{name}/branch.jsonl"),
        ("branches", recording),
        ("replay", recording),
        ("export", recording),
        ("export", recording, "--to", "svg", "-o", f"{name}/x.svg"),
        ("export", recording, "--to", "text", "-o", "-"),
        ("scenario", "from", recording),
        ("scenario", "from", recording, "-o", f"{name}/made.scenario"),
        ("scenario", "check", f"{name}/made.scenario", "--world", "simulated"),
        ("scenario", "check", f"{name}/{name}.scenario"),
        ("scenario", "show", f"./{name}/{name}.scenario"),
        ("run", f"{name}/{name}.scenario", "--sim", "--headless"),
        ("run", f"{name}/{name}.py", "--sim", "--headless", "--for", "1s"),
        ("run", name, "--sim", "--headless", "--for", "1s"),
        ("run", "bully", "--sim", "--headless", "--for", "1s", "--script", f"{name}/{name}.script"),
        ("run", "bully", "--sim", "--headless", "--for", "1s", "--record", f"{name}/run.jsonl"),
        ("run", "bully", "--sim", "--headless", "--for", "1s", "--record", f"{name}/json.jsonl", "--json"),
        ("run", "bully", "--sim", "--headless", "--for", "1s", "--do", f"kill {name}"),
        ("check", f"{name}/{name}.py", "--runs", "1"),
        ("exercise", "grade", name),
        ("exercise", "grade", f"{name}/{name}.py", "--exercise", "mend-the-bully"),
        ("exercise", "show", f"./{name}"),
        ("exercise", "list", "--exercises", name),
        ("serve", "--class", f"{name}/{name}.class", "--data", f"{name}/data"),
        ("ctl", name, "kill 5"),
        ("guide", name),
        ("guide", "--search", name),
        (name,),
    ):
        check(lab(*words), words)


SCENARIO = """title = "A title {0}"
shows = "Shown {0}"
source = "A source {0}"
protocol = "bully"
nodes = "3"
for = "300ms"
---
at 100ms say "{0}"
expect never 1 leads
{0}
"""


@pytest.mark.parametrize("payload", [each for each in PAYLOADS if "\n" not in each], ids=ascii)
def test_hostile_scenarios(lab: Lab, payload: str) -> None:
    """Their texts, and the mistakes in them."""
    (lab.folder / "x.scenario").write_text(SCENARIO.format(payload), "utf-8")
    (lab.folder / "y.scenario").write_text(SCENARIO.replace("\n{0}", "").format(payload), "utf-8")
    for words in (
        ("scenario", "show", "./x.scenario"),
        ("scenario", "show", "./y.scenario"),
        ("scenario", "check", "x.scenario", "y.scenario"),
        ("scenario", "check", "y.scenario"),
        ("run", "y.scenario", "--sim", "--headless", "--record", "run.jsonl"),
        ("show", "run.jsonl"),
        ("run", "bully", "--sim", "--headless", "--for", "1s", "--do", f"say {payload!r}"),
        ("list", "protocols", payload.replace("\0", "")),
    ):
        check(lab(*words), words)
