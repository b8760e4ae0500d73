"""Parts of the server in isolation: names, sizes, key lists, invitations, rate limits, and allowed runs."""

import asyncio
import os
import socket
import stat
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.structs import replace

from lab.exercises.attempts import attempt_config, recording_of
from lab.exercises.exercise_reader import drawn_for, find_exercise
from lab.recording.records import ExerciseAttempt
from lab.serve.admission import parse_keys, read_keys
from lab.serve.children import ChildEnvironment, Children, HostWork
from lab.serve.cluster_pool import refusal_reason
from lab.serve.data_folder import DataFolder, FolderError, ServerLog, read_log, read_nonce
from lab.serve.limits import HalfOpen, Limits, RateLimit, help_of
from lab.serve.student_lists import ClassNames, InvitationError, Invitations, ListError, is_code, is_name
from lab.serve.terminal_session import size_of, terminal_name
from lab.worlds.loading.config import RunConfig
from tests.serve.lab_server import ROOT

_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHmzYaqDmSvXhRkMYpMt3QxTcpYV2WRZa9cWZIVK3GvX"
_OTHER = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHmzYaqDmSvXhRkMYpMt3QxTcpYV2WRZa9cWZIVK3GvY"


@pytest.mark.parametrize("name", ["anna", "A", "a.b-c_d", "0x", "a" * 32])
def test_valid_student_names(name: str) -> None:
    """They are also names of folders."""
    assert is_name(name)


@pytest.mark.parametrize(
    "name", ["", ".", "..", ".a", "-a", "a/b", "a b", "a\n", "a\0", "ä", "a" * 33, "guest-1", "Guest-x", "../anna"]
)
def test_invalid_student_names(name: str) -> None:
    """No path leads out of the students' folder, and no student has a guest's name."""
    assert not is_name(name)


def test_a_terminal_name_is_not_a_path() -> None:
    """It names a file in the terminfo database."""
    assert terminal_name("tmux-256color") == "tmux-256color"
    for foreign in ("../../x", "", "/etc/x", "x\n", "x y", "x" * 99, "\x1b[2J", "%n"):
        assert terminal_name(foreign) == "xterm-256color"


def test_the_size_of_a_terminal_is_limited() -> None:
    """0 by 0 means unknown."""
    assert size_of(120, 40) == (120, 40)
    assert size_of(9999, 1 << 31) == (500, 200)
    assert size_of(1, 1) == (20, 5)
    assert size_of(0, 0) == (80, 24)


def test_a_list_of_keys_names_their_students() -> None:
    """A student may have several; comments and empty lines are ignored."""
    keys = parse_keys(f"# class\n\n{_KEY} anna\n{_OTHER}   anna\n{_KEY} anna\n", "class")
    assert [key.comment for key in keys] == ["anna", "anna"]


@pytest.fixture
def class_names(tmp_path: Path) -> Iterator[ClassNames]:
    folder = DataFolder(tmp_path / "data")
    log = ServerLog(folder.log)
    yield ClassNames(folder, log)
    log.close()


def _names(class_names: ClassNames, *lines: str) -> list[str]:
    return list(read_keys(class_names, "\n".join(lines), "class").values())


@pytest.mark.parametrize("comment", ["anna@laptop", "anna@192.0.2.7", "AzureAD\\anna@LAPTOP-7", "anna@[v6]:1"])
def test_the_comment_of_ssh_keygen_names_the_student(class_names: ClassNames, comment: str) -> None:
    """It is USER@HOST, on Windows DOMAIN backslash USER@HOST."""
    if "[" in comment:
        with pytest.raises(ListError, match="is not a valid student name"):
            _names(class_names, f"{_KEY} {comment}")
    else:
        assert _names(class_names, f"{_KEY} {comment}") == ["anna"]


def test_twins_have_two_names_and_the_teacher_is_informed(
    class_names: ClassNames, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Equal users may be two students; nobody gets the work of another."""
    assert _names(class_names, f"{_KEY} anna@laptop", f"{_OTHER} anna@laptop") == ["anna", "anna-2"]
    printed = capsys.readouterr().out.splitlines()
    assert printed == [
        "lab: the key anna@laptop is of student anna",
        "lab: the key anna@laptop is of student anna-2; if it is of anna, write anna as its comment",
    ]
    assert [line.event for line in read_log(tmp_path / "data" / "log")] == ["named", "named"]


def test_a_name_is_kept_when_the_list_is_edited(class_names: ClassNames) -> None:
    """Else anna-2 would become anna, and own her work, when anna's line is deleted."""
    assert _names(class_names, f"{_KEY} anna@laptop", f"{_OTHER} anna@tower") == ["anna", "anna-2"]
    assert _names(class_names, f"{_OTHER} anna@tower") == ["anna-2"]
    assert _names(class_names, f"{_OTHER} anna@tower", f"{_KEY} anna@laptop") == ["anna-2", "anna"]
    assert _names(class_names, f"{_OTHER} anna") == ["anna"], "the teacher has written who it is"


def test_a_comment_does_not_take_a_written_name(class_names: ClassNames) -> None:
    """A key with the comment anna@laptop may be of another anna than the one in the list."""
    assert _names(class_names, f"{_OTHER} anna@laptop", f"{_KEY} anna") == ["anna-2", "anna"]


def test_a_numbered_name_is_valid_and_unused(class_names: ClassNames) -> None:
    """Also of a user with the longest valid name."""
    long = "a" * 32
    names = _names(class_names, f"{_KEY} {long}@x", f"{_OTHER} {long}@x")
    assert names == [long, f"{'a' * 28}-2"]
    assert all(map(is_name, names))


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (f'command="/bin/sh" {_KEY} anna', "options are refused"),
        (f"no-pty,{_KEY} anna", "options are refused"),
        (_KEY, "the student's name is missing"),
        (f"{_KEY} ../anna", "is not a valid student name"),
        (f"{_KEY} anna maria", "is not a valid student name"),
        (f"{_KEY} @laptop", "is not a valid student name"),
        (f"{_KEY} anna@", "is not a valid student name"),
        (f"{_KEY} ../anna@laptop", "is not a valid student name"),
        (f"{_KEY} guest-1@laptop", "is not a valid student name"),
        (f"{_KEY} anna@school.org@laptop", "is not a valid student name"),
        (f"{_KEY} anna@lap top", "is not a valid student name"),
        (f"{_KEY} anna@\x1b]0;owned\x07", "is not a valid student name"),
        (f"{_KEY} \u202eanna@laptop", "is not a valid student name"),
        (f"{_KEY} {'a' * 99}@laptop", "is not a valid student name"),
        (f"{_KEY} guest-1", "is not a valid student name"),
        ("ssh-ed25519 AAAA anna", "the key of anna cannot be read"),
        (f"ssh-rsa {_KEY.split()[1][:-4]} anna", "the key of anna cannot be read"),
        ("\x1b[2J AAAA anna", "is not a kind of key"),
        (f"{_OTHER} anna\n{_OTHER} ben", "this key already belongs to anna"),
    ],
)
def test_an_invalid_line_is_reported(line: str, error: str) -> None:
    """With the file, the line number, and what is expected."""
    with pytest.raises(ListError, match=error) as raised:
        parse_keys(f"{_KEY} carla\n{line}\n", "class")
    assert str(raised.value).startswith("class:3" if "\n" in line else "class:2")
    assert "\x1b" not in str(raised.value)


def test_a_code_works_once(tmp_path: Path) -> None:
    """In upper or lower case, with or without dashes."""
    invitations = Invitations(tmp_path / "invites.json")
    ((name, code),) = invitations.invite(["anna"], 14)
    assert name == "anna"
    assert is_code(code)
    assert invitations.name_for(code.upper().replace("-", "")) == "anna"
    with invitations.used(code, "SHA256:x") as name:
        assert name == "anna"
    with pytest.raises(InvitationError, match="already used"), invitations.used(code, "SHA256:y"):
        pass
    with pytest.raises(InvitationError, match="unknown code"):
        invitations.name_for("aaaa-aaaa-aaaa-aaaa")
    assert (tmp_path / "invites.json").stat().st_mode & 0o777 == 0o600


def test_a_code_expires(tmp_path: Path) -> None:
    invitations = Invitations(tmp_path / "invites.json")
    ((_, code),) = invitations.invite(["anna"], -1)
    with pytest.raises(InvitationError, match="has expired"):
        invitations.name_for(code)


@pytest.mark.parametrize(
    "text", ["", "anna", "abcd-efgh", "iiii-llll-oooo-0000", "abcd-efgh-jkmn-pqrs\n", "a" * 17]
)
def test_a_user_name_is_seldom_a_code(text: str) -> None:
    """And codes have no letters that look alike."""
    assert not is_code(text)


def test_a_rate_limit_counts_the_last_minute() -> None:
    """For each client separately."""
    now_s = 0.0
    rate = RateLimit(2, lambda: now_s)
    assert [rate.is_exceeded("a") for _ in range(3)] == [False, False, True]
    assert not rate.is_exceeded("b")
    now_s = 59.0
    assert rate.is_exceeded("a")
    now_s = 121.0
    assert not rate.is_exceeded("a")


class _Stranger(Struct, eq=False):
    address: str
    there: bool = True

    def evict(self) -> None:
        self.there = False


def test_the_oldest_of_the_busiest_address_is_evicted() -> None:
    """A client that opens many connections loses some; others lose none."""
    half_open = HalfOpen[_Stranger](5, 4)
    quiet = [_Stranger("quiet") for _ in range(2)]
    busy = [_Stranger("busy") for _ in range(6)]
    for each in (*quiet, *busy):
        half_open.add(each)
    assert [each.there for each in quiet] == [True, True]
    assert [each.there for each in busy] == [False, False, False, True, True, True]
    half_open.discard(busy[-1])
    half_open.discard(busy[-1])
    assert len(half_open.all()) == 4


def test_who_has_begun_to_log_in_outlasts_a_storm() -> None:
    """Also at the same address, and though others hold connections that have begun to."""
    half_open = HalfOpen[_Stranger](10, 8)
    holding = [_Stranger("class") for _ in range(4)]
    student = _Stranger("class")
    for each in (*holding, student):
        half_open.add(each)
        half_open.begin_log_in(each)
    storm = [_Stranger("class") for _ in range(100)]
    for each in storm:
        half_open.add(each)
    assert student.there
    assert sum(each.there for each in storm) == 4


_NAMES = ("two-coordinators", "all-tests-passed", "mend-the-ring")
_EXERCISES = {name: drawn_for(find_exercise(name), "anna") for name in _NAMES}


def _config(home: Path, name: str = "two-coordinators", student: str = "anna", attempt: int = 1) -> RunConfig:
    return attempt_config(_EXERCISES[name], student, attempt, recording_of(home, name, attempt))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"protocol": "/tmp/x.py"}, "not a valid attempt of yours"),
        ({"protocol": "invitation"}, "not a valid attempt of yours"),
        ({"exercise": None}, "only the exercises in the list"),
        ({"exercise": ExerciseAttempt("../x", "anna", 1)}, "only the exercises in the list"),
        ({"exercise": ExerciseAttempt("mend-the-ring", "anna", 1)}, "only the exercises in the list"),
        ({"exercise": ExerciseAttempt("two-coordinators", "ben", 1)}, "not a valid attempt of yours"),
        ({"exercise": ExerciseAttempt("two-coordinators", "anna", 2)}, "not a valid attempt of yours"),
        ({"exercise": ExerciseAttempt("two-coordinators", "anna", 0)}, "9999 attempts"),
        ({"exercise": ExerciseAttempt("two-coordinators", "anna", 10_000)}, "9999 attempts"),
        ({"nodes": tuple(range(10))}, "10 nodes"),
        ({"nodes": (1, 2)}, "not a valid attempt of yours"),
        ({"may": ("kill",)}, "not a valid attempt of yours"),
        ({"may": None}, "not a valid attempt of yours"),
        ({"script": ""}, "not a valid attempt of yours"),
        ({"commands": ("at 1s kill 5",)}, "not a valid attempt of yours"),
        ({"end_us": None}, "not a valid attempt of yours"),
        ({"run": "../x"}, "not a valid attempt of yours"),
        ({"run": ""}, "not a valid attempt of yours"),
        ({"run": "a" * 99}, "not a valid attempt of yours"),
        ({"recording": "/etc/x.jsonl"}, "not a valid attempt of yours"),
        ({"recording": "{home}/../x.jsonl"}, "not a valid attempt of yours"),
        ({"recording": "{home}/attempts/two-coordinators-002.jsonl"}, "not a valid attempt of yours"),
        ({"parent": "{home}/../ben/attempts/x.jsonl"}, "not a valid attempt of yours"),
    ],
)
def test_other_runs_are_refused(tmp_path: Path, change: dict[str, object], error: str) -> None:
    """Only a student's own attempt at an unchanged exercise is allowed, with its proper recording."""
    home = tmp_path / "anna"
    found = {
        key: value.replace("{home}", str(home)) if isinstance(value, str) else value
        for key, value in change.items()
    }
    assert _fault(_config(home), home) == ""
    assert error in _fault(replace(_config(home), **found), home)


def test_a_teacher_s_protocol_file_is_allowed(tmp_path: Path) -> None:
    """It is in the folder of the exercises, where no student can write."""
    config = _config(tmp_path, "all-tests-passed")
    assert config.protocol.endswith("their_bully.py:TheirBully")
    assert _fault(config, tmp_path) == ""


def test_each_student_gets_what_is_drawn_for_them(tmp_path: Path) -> None:
    """With the nonce of the course, which is made once and readable to the teacher alone."""
    folder = DataFolder(tmp_path / "data")
    nonce, name = folder.nonce(), "the-highest-comes-back"
    assert nonce == folder.nonce() == read_nonce(tmp_path / "data") != DataFolder(tmp_path / "other").nonce()
    assert stat.S_IMODE((tmp_path / "data" / "nonce").stat().st_mode) == 0o600
    exercises, home = {name: find_exercise(name)}, tmp_path / "anna"
    for student, used, error in (
        ("anna", nonce, ""),
        ("ben", nonce, f"not a valid attempt of yours at {name}"),
        ("anna", b"", f"not a valid attempt of yours at {name}"),
    ):
        drawn = drawn_for(exercises[name], student, used)
        config = attempt_config(drawn, "anna", 1, recording_of(home, name, 1))
        assert refusal_reason(config, "anna", home, exercises, Limits(), nonce) == error


def test_no_recording_is_overwritten(tmp_path: Path) -> None:
    config = _config(tmp_path)
    Path(config.recording).parent.mkdir()
    Path(config.recording).write_text("")
    assert _fault(config, tmp_path) == "attempt 1 at two-coordinators already exists"


def _fault(config: RunConfig, home: Path) -> str:
    return refusal_reason(config, "anna", home, _EXERCISES, Limits())


def test_every_limit_has_a_help_text() -> None:
    for name in Limits.__struct_fields__:
        assert help_of(name).endswith(".")


def test_a_large_log_is_rotated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flood of refusals fills no disk."""
    monkeypatch.setattr("lab.serve.data_folder._LARGEST", 1000)
    log = ServerLog(tmp_path / "log")
    for _ in range(100):
        log.write("fault", "x" * 1000, address="127.0.0.1")
    log.close()
    assert sum(each.stat().st_size for each in tmp_path.iterdir()) < 3000
    assert {each.name for each in tmp_path.iterdir()} == {"log", "log.1"}


def test_a_flood_of_refusals_is_limited_in_the_log(tmp_path: Path) -> None:
    """Per student or address; other events are all logged."""
    log = ServerLog(tmp_path / "log")
    for number in range(1000):
        log.write("refused", f"forwarding {number}", student="anna", address="192.0.2.1")
        log.write("sealed", f"{number}", student="anna")
    log.write("refused", "forwarding", student="ben", address="192.0.2.1")
    log.close()
    lines = list(read_log(tmp_path / "log"))
    assert sum(line.event == "sealed" for line in lines) == 1000
    *of_anna, of_ben, rest = [line for line in lines if line.event == "refused"]
    assert [line.text for line in of_anna] == [f"forwarding {number}" for number in range(20)]
    assert of_ben.student == "ben"
    assert rest.student == "anna"
    assert rest.text.startswith("980 more requests in ")


def test_equal_refusals_are_logged_once_with_their_count(tmp_path: Path) -> None:
    """Not with a line for each attempt."""
    log = ServerLog(tmp_path / "log")
    for _ in range(37):
        log.write("refused", "unknown code", address="192.0.2.1", kind="codes")
    log.close()
    first, rest = read_log(tmp_path / "log")
    assert (first.text, first.address, rest.address) == ("unknown code", "192.0.2.1", "192.0.2.1")
    assert rest.text.startswith("36 more codes in ")


def test_a_flood_from_many_addresses_costs_little_memory(tmp_path: Path) -> None:
    """The counts in the log and the rate limits are bounded."""
    log = ServerLog(tmp_path / "log")
    rate = RateLimit(120, lambda: 0.0)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for number in range(20_000):
        assert not rate.is_exceeded(f"2001:db8::{number:x}")
        log.write("refused", "unknown code", address=f"2001:db8::{number:x}", kind="codes")
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    log.close()
    assert after - before < 8 << 20
    lines = list(read_log(tmp_path / "log"))
    assert lines[-1].text.startswith("18999 more codes in ")
    assert len(lines) < 1100


def test_the_data_folder_is_private(tmp_path: Path) -> None:
    """A folder readable by others is closed to them; a file in its place is an error."""
    (tmp_path / "data").mkdir(mode=0o755)
    folder = DataFolder(tmp_path / "data")
    assert folder.path.stat().st_mode & 0o777 == 0o700
    assert [folder.add_student("guest-") for _ in range(2)] == ["guest-1", "guest-2"]
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderError, match="--data"):
        DataFolder(tmp_path / "file")


def test_a_failed_fork_is_reported() -> None:
    """And later forks may succeed."""
    code = """
import os, socket, lab.serve.child as fork_server
def full():
    os.fork = fork
    raise BlockingIOError(11, "no more processes")
fork, os.fork = os.fork, full
fork_server.all_exercises = lambda folder: []
raise SystemExit(fork_server.main())
"""

    def begin(stdin: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", code, "."], stdin=stdin, cwd=ROOT)

    async def ask() -> None:
        ours, its = socket.socketpair()
        with its:
            process = begin(its.fileno())
        children = Children(ours, process, lambda: None)
        room = ChildEnvironment({}, "/", 1 << 30, 1 << 20, 0)
        nowhere = os.open(os.devnull, os.O_RDWR)
        with pytest.raises(OSError, match="no more processes"):
            await children.fork(room, (nowhere, nowhere, nowhere), HostWork())
        child = await children.fork(room, (nowhere, nowhere, nowhere), HostWork())
        assert await child.ended == 2, "a host without a configuration"
        os.close(nowhere)
        await children.close()
        assert process.returncode == 0

    asyncio.run(ask())
