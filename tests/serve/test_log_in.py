"""Who may come in: by the class's file, by invitation, anybody where it is open; and what the others are told."""

from pathlib import Path

import pytest

from tests.serve.conftest import School
from tests.serve.lab_server import Client, Server, new_key


def test_a_student_of_the_class_comes_in_under_any_user_name(server: Server, school: School) -> None:
    """The key says who it is; the user name says nothing."""
    for user in ("whoever", "ben", "root", ".."):
        done = Client(server, school.anna, user=user).run("status")
        assert (done.returncode, done.stdout) == (0, "anna: 0 sessions, no cluster\n"), done.stderr
    assert server.logged("log-in")["student"] == "anna"


def test_a_class_file_that_changes_is_read_again(tmp_path: Path, school: School) -> None:
    """Without a restart; where it has become unreadable, who was in it stays in."""
    class_file = tmp_path / "class"
    class_file.write_text("")
    key = school.anna.with_suffix(".pub").read_text().split()
    with Server(tmp_path / "data", class_file=class_file) as server:
        anna = Client(server, school.anna, "-o", "BatchMode=yes")
        assert anna.run("help").returncode == 255
        class_file.write_text(f"{key[0]} {key[1]} anna\n")
        assert anna.run("help").returncode == 0
        class_file.write_text(f"{key[0]} {key[1]} ../anna\n")
        assert anna.run("help").returncode == 0
        assert "class:1: '../anna' is not a valid student name" in server.logged("unreadable")["text"]


def test_an_invitation_registers_the_key_that_the_student_connects_with(server: Server, tmp_path: Path) -> None:
    """Once: from then on the key is enough, and the code is used up for everybody else."""
    code = server.invite("carla")
    key = new_key(tmp_path / "carla")
    assert Client(server, key, user=code.upper().replace("-", "")).run("status").stdout.startswith("carla:")
    assert Client(server, key).run("status").stdout.startswith("carla:")
    assert Client(server, key, user=code).run("status").returncode == 0, "the key is known, whatever the user name"
    thief = Client(server, new_key(tmp_path / "thief"), user=code).run("status")
    assert thief.returncode == 255
    assert "the code was already used; ask your teacher for a new one" in thief.stderr
    assert code in server.logged("refused", "no key")["text"]
    enrolled = (server.data / "keys").read_text()
    assert enrolled.count(" carla\n") == 1
    assert code not in (server.data / "invites.json").read_text(), "it is kept as a hash"


def test_a_key_that_only_asks_is_not_registered(server: Server, tmp_path: Path) -> None:
    """The code is used up when the key has signed, not when a client asks whether the key would do."""
    code = server.invite("dora")
    key = new_key(tmp_path / "dora")
    other = new_key(tmp_path / "other")
    pretended = tmp_path / "pretended"
    pretended.write_text(other.read_text())  # the private half of another key than the public one beside it
    pretended.with_suffix(".pub").write_text(key.with_suffix(".pub").read_text())
    pretended.chmod(0o600)
    Client(server, pretended, user=code).run("status")
    assert key.with_suffix(".pub").read_text().split()[1] not in (server.data / "keys").read_text()


def test_a_code_that_was_made_anew_leaves_the_old_one_void(server: Server, tmp_path: Path) -> None:
    """Who lost a code asks for another, and the finder of the first gets nothing."""
    first, second = server.invite("emil"), server.invite("emil")
    key = new_key(tmp_path / "emil")
    assert "unknown code" in Client(server, key, user=first).run("status").stderr
    assert Client(server, key, user=second).run("status").stdout.startswith("emil:")


def test_a_stranger_is_told_the_next_step(server: Server, school: School) -> None:
    """In one line, after the last of the keys, and it is logged."""
    done = Client(server, school.stranger).run("status")
    assert done.returncode == 255
    assert (
        f"lab: your key is unknown; ask your teacher for a code, and connect once with it: "
        f"ssh -p {server.port} CODE@HOST" in done.stderr
    )
    assert done.stderr.count("lab:") == 1
    assert "SHA256:" in server.logged("refused", "user whoever, key")["text"]


def test_who_has_no_key_is_told_to_make_one(server: Server) -> None:
    """Also with a code: there would be nothing to register."""
    done = Client(server, None).run("status")
    assert "create one with ssh-keygen, then try again" in done.stderr
    assert done.returncode == 255


def test_whose_second_key_is_right_sees_nothing_of_the_first(server: Server, school: School) -> None:
    """A client offers all that it has."""
    done = Client(server, school.stranger, "-i", str(school.ben)).run("status")
    assert done.stdout.startswith("ben:")
    assert "lab:" not in done.stderr


def test_wrong_keys_in_a_row_end_the_connection(server: Server, tmp_path: Path) -> None:
    """There is no guessing on one connection."""
    keys = [new_key(tmp_path / str(number)) for number in range(10)]
    done = Client(server, keys[0], *(word for key in keys[1:] for word in ("-i", str(key)))).run("status")
    assert done.returncode == 255
    assert "8 keys refused; specify the right one" in done.stderr
    refused = [line for line in server.log() if "key" in line.get("text", "") and line["event"] == "refused"]
    fingerprints = {line["text"].rpartition(" ")[2] for line in refused}
    assert len(fingerprints) >= 8


@pytest.mark.parametrize("method", ["password", "keyboard-interactive", "hostbased"])
def test_nothing_but_a_key_is_a_way_in(server: Server, school: School, method: str) -> None:
    """No password is asked for."""
    done = Client(server, school.anna, "-o", f"PreferredAuthentications={method}").run("status")
    assert done.returncode == 255
    assert "assword" not in done.stderr.replace("(publickey,keyboard-interactive)", "")


def test_an_open_server_lets_anybody_in_as_a_guest(tmp_path: Path, school: School) -> None:
    """It says so loudly. Those of the class are themselves; a key has the same guest again, no key a new one."""
    with Server(tmp_path / "data", "--open", class_file=school.class_file) as server:
        assert "OPEN: anyone" in server.said()
        assert Client(server, school.anna).run("status").stdout.startswith("anna:")
        stranger = Client(server, school.stranger)
        assert [stranger.run("status").stdout.partition(":")[0] for _ in range(2)] == ["guest-1", "guest-1"]
        nobody = Client(server, None)
        assert [nobody.run("status").stdout.partition(":")[0] for _ in range(2)] == ["guest-2", "guest-3"]


def test_the_host_key_is_made_once(tmp_path: Path, school: School) -> None:
    """The fingerprint is the same after a restart, and only the owner can read the key."""
    said = []
    for _ in range(2):
        with Server(tmp_path / "data", class_file=school.class_file) as server:
            said.append(server.said().partition("host key: ")[2].partition("\n")[0])
    assert said[0] == said[1] != ""
    assert (tmp_path / "data" / "host_key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700


def test_too_many_log_ins_in_a_minute_are_refused(tmp_path: Path, school: School) -> None:
    """Of one student; another one comes in all the same."""
    with Server(tmp_path / "data", class_file=school.class_file) as server:
        anna = Client(server, school.anna)
        ended = [anna.run("help") for _ in range(22)]
        assert [each.returncode for each in ended[:20]] == [0] * 20
        assert "too many log-ins; try again in a minute" in ended[21].stderr
        assert Client(server, school.ben).run("help").returncode == 0
