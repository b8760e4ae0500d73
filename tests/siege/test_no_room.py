"""A full disk and a read-only folder: a clear error and a status, for everything that writes.

Both are made in a mount namespace of the command's own, since the tests may run as root, whom no permission stops.
"""

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from lab.exercises.exercise_reader import SHIPPED as LIBRARY
from tests.cli.invocation import SHIPPED, Lab
from tests.profile import sampled

MOUNTS = {
    "read-only": 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0"',
    "full": 'mount -t tmpfs -o size=64k none "$0" && cp -a "$0.before/." "$0" && ! cat /dev/zero > "$0/filler"',
}
REASONS = {"read-only": "Read-only file system", "full": "No space left on device"}
COMMANDS = (
    "run bully --headless --sim --for 2s",
    "run bully --headless --for 300ms --record D/run.jsonl",
    "branch S --at 1s --do heal --for 1s --headless --record D/branch.jsonl",
    "export S --to svg --out D/picture.svg",
    "export S --to csv --out D/table.csv",
    "history I --dot D/history.dot",
    "check P --runs 100 --workers 1 --out D/finding.jsonl",
    "check bully --runs 3 --workers 1 --corpus D/corpus",
    "compare bully ring --runs 1 --workers 1 --out D/chart.svg",
    "scenario check coordinator-dies --junit D/junit.xml",
    "scenario check coordinator-dies --keep D/kept",
    "scenario from S --out D/made.scenario",
    "exercise grade S --csv D/grades.csv",
    "exercise grade S --gradescope D/results.json",
    "serve --listen 127.0.0.1 --port 0 --data D/class",
    "serve invite anna --data D/class",
)
"""``D`` is the folder, and lab's data folder; ``S`` and ``I`` are recordings, ``P`` is a faulty protocol."""
IN_TURN = [(kind, each) for n, each in enumerate(COMMANDS) for kind in (MOUNTS if n % 2 else reversed(MOUNTS))]
"""Each command with both kinds of folder; the profile ``quick`` tries one of them, in turn."""
BOOKMARK = """
import sys
from contextlib import closing
from pathlib import Path
from lab.analysis.bookmarks import Bookmarks
from lab.recording.reader import open_recording
path = Path(sys.argv[1])
with closing(open_recording(path)) as store:
    marks = Bookmarks(store.header, path)
marks.put(3, 1_000, "a note")
print(marks.trouble, [each.note for each in marks.all])
"""


@cache
def _can_mount() -> bool:
    probe = "mount -t tmpfs none /mnt"
    return subprocess.run(["unshare", "-m", "sh", "-c", probe], capture_output=True, check=False).returncode == 0


@pytest.fixture
def mounted(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path, tuple[str, ...]]:
    """Return the kind of folder, its path, and the command that makes it such a folder."""
    if sys.platform != "linux" or not _can_mount():
        pytest.skip("no mount namespace can be made here")
    folder = tmp_path / "data"
    folder.mkdir()
    before = tmp_path / "data.before"
    before.mkdir()
    return request.param, folder, ("sh", "-c", f"{{ {MOUNTS[request.param]}; }} 2>/dev/null", str(folder))


@pytest.mark.live
@pytest.mark.parametrize(("mounted", "command"), sampled(IN_TURN, 2), indirect=["mounted"])
def test_nothing_can_be_written(
    mounted: tuple[str, Path, tuple[str, ...]], command: str, tmp_path: Path, home: Path
) -> None:
    """The status is not 0, and the reason is given, in a line or two."""
    kind, folder, mount = mounted
    lab = Lab(tmp_path, home, mount=mount)
    invitation = SHIPPED.parent / "holes" / "invitation-two-threads.jsonl"
    given = {"S": str(SHIPPED), "I": str(invitation), "P": str(LIBRARY / "mend-the-bully" / "my_bully.py")}
    words = [given.get(word, word.replace("D/", f"{folder}/")) for word in command.split()]
    done = lab(*words, environment={"XDG_DATA_HOME": str(folder)})
    assert done.status in (1, 2), done
    assert "Traceback" not in done.err + done.out
    assert REASONS[kind] in done.err + done.out, done
    assert done.err.count("\n") <= 2, done
    assert lab.left() == []


@pytest.mark.parametrize("mounted", ["full"], indirect=True)
def test_a_finding_that_cannot_be_written(
    mounted: tuple[str, Path, tuple[str, ...]], tmp_path: Path, home: Path
) -> None:
    """It is reported all the same, and the error names the file."""
    kind, folder, mount = mounted
    lab, path = Lab(tmp_path, home, mount=mount), folder / "finding.jsonl"
    protocol = LIBRARY / "mend-the-bully" / "my_bully.py"
    words = ["check", str(protocol), "--runs", "100", "--workers", "1", "--out", str(path)]
    done = lab(*words)
    assert done.status == 1
    assert re.search(r"^seed \d+: .+\nshrunk in (.+\n)+?    at .+\n(.+\n)*events that led to it", done.out, re.M)
    assert "recorded:" not in done.out
    assert done.line() == (
        f"{path} cannot be written: {REASONS[kind]}; make room, or name a file elsewhere with --out, and check "
        "again"
    )
    document = lab(*words, "--json")
    assert document.line() == done.line()
    others = ("--junit", str(folder / "junit.xml"), "--corpus", str(folder / "corpus"))
    elsewhere = lab(*words[:-1], str(tmp_path / "finding.jsonl"), *others)
    assert elsewhere.status == 1
    assert elsewhere.err.splitlines() == [
        f"lab: {option} {path} cannot be written: {REASONS[kind]}"
        for option, path in (("--corpus", folder / "corpus"), ("--junit", folder / "junit.xml"))
    ]
    assert f"recorded: {tmp_path / 'finding.jsonl'}" in elsewhere.out
    finding = json.loads(document.out)["finding"]
    assert (finding["recording"], finding["script"], finding["rerun"]) == ("", "", "")
    assert finding["commands"]


@pytest.mark.parametrize("mounted", ["read-only"], indirect=True)
def test_a_check_in_a_folder_that_cannot_be_written(
    mounted: tuple[str, Path, tuple[str, ...]], home: Path
) -> None:
    """The error names no file that nobody has named, and says what to do; before the first run."""
    kind, folder, mount = mounted
    error = (
        f"what is found is recorded in this folder, which cannot be written ({REASONS[kind]}); name a file "
        "elsewhere: --out FILE.jsonl"
    )
    (folder / "cc").mkdir()
    here = Lab(folder, home, mount=(*mount[:2], f'{mount[2]}; cd "$0"', *mount[3:]))
    assert here("check", "bully", "--runs", "1", "--corpus", "cc").refused() == error


@pytest.mark.parametrize("mounted", MOUNTS, indirect=True)
def test_bookmarks_that_cannot_be_saved(mounted: tuple[str, Path, tuple[str, ...]]) -> None:
    """They last as long as the interface, which says why."""
    kind, folder, mount = mounted
    for each in (folder, folder.with_name("data.before")):
        (each / "run.jsonl").write_bytes(SHIPPED.read_bytes()[:20_000].rpartition(b"\n")[0] + b"\n")
    *shell, script, place = mount
    words = [*shell, f'{script}; exec "$@"', place, sys.executable, "-c", BOOKMARK, str(folder / "run.jsonl")]
    done = subprocess.run(["unshare", "-m", *words], capture_output=True, text=True, check=True)
    assert done.stdout == f"run.jsonl.bookmarks cannot be written: {REASONS[kind]} ['a note']\n"
