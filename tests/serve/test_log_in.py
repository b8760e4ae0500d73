"""Admission: by the class file, by invitation, or for anybody; refused clients learn why."""

import asyncio
import contextlib
from pathlib import Path
from random import Random

import asyncssh
import pytest

from tests.serve.conftest import School
from tests.serve.lab_server import Client, Server, new_key
from tests.tui.terminal_screen import TerminalScreen


def test_a_student_of_the_class_logs_in_with_any_user_name(server: Server, school: School) -> None:
    """The key identifies the student."""
    for user in ("whoever", "ben", "root", ".."):
        done = Client(server, school.anna, user=user).run("status")
        assert (done.returncode, done.stdout) == (0, "anna: 0 sessions, no cluster\n"), done.stderr
    assert server.logged("log-in")["student"] == "anna"


def test_a_class_file_that_changes_is_read_again(tmp_path: Path, school: School) -> None:
    """Without a restart; if it becomes unreadable, the last valid list stays in force."""
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


def test_keys_as_ssh_keygen_writes_them_are_a_class(tmp_path: Path, school: School) -> None:
    """The comment is USER@HOST. Two students with the same user have two names, which the server prints."""
    class_file = tmp_path / "class"
    keys = {key: " ".join(key.with_suffix(".pub").read_text().split()[:2]) for key in (school.anna, school.ben)}
    class_file.write_text("".join(f"{key} student@{number}.lab\n" for number, key in enumerate(keys.values())))
    with Server(tmp_path / "data", class_file=class_file) as server:
        assert "lab: the key student@0.lab is of student student\n" in server.output()
        assert "lab: the key student@1.lab is of student student-2; if it is of student, write" in server.output()
        assert Client(server, school.ben).run("status").stdout.startswith("student-2:")
        class_file.write_text(f"{keys[school.ben]} student@1.lab\n")
        assert Client(server, school.ben).run("status").stdout.startswith("student-2:")
        assert Client(server, school.anna).run("status").returncode == 255


def test_an_invitation_registers_the_student_s_key(server: Server, tmp_path: Path) -> None:
    """Once: from then on the key is enough, and the code is used up."""
    code = server.invite_by_command("carla")
    key = new_key(tmp_path / "carla")
    assert Client(server, key, user=code.upper().replace("-", "")).run("status").stdout.startswith("carla:")
    assert Client(server, key).run("status").stdout.startswith("carla:")
    assert Client(server, key, user=code).run("status").returncode == 0, "the key is known, whatever the user name"
    thief = Client(server, new_key(tmp_path / "thief"), user=code).run("status")
    assert thief.returncode == 255
    assert "the code was already used; ask your teacher for a new one" in thief.stderr
    assert server.logged("refused", "a code: the code was already used; ask your teacher for a new one")
    assert code not in (server.data / "log").read_text().lower(), "the log holds no codes"
    enrolled = (server.data / "keys").read_text()
    assert enrolled.count(" carla\n") == 1
    assert code not in (server.data / "invites.json").read_text(), "it is kept as a hash"


def test_a_key_that_has_not_signed_is_not_registered(server: Server, tmp_path: Path) -> None:
    """The code is used up when the key has signed, not when a client asks whether the key is acceptable."""
    code = server.invite("dora")
    key = new_key(tmp_path / "dora")
    other = new_key(tmp_path / "other")
    pretended = tmp_path / "pretended"
    pretended.write_text(other.read_text())  # the private half of another key than the public one beside it
    pretended.with_suffix(".pub").write_text(key.with_suffix(".pub").read_text())
    pretended.chmod(0o600)
    Client(server, pretended, user=code).run("status")
    assert key.with_suffix(".pub").read_text().split()[1] not in (server.data / "keys").read_text()


def test_a_new_code_invalidates_the_old_one(server: Server, tmp_path: Path) -> None:
    """A student who lost a code gets another; the finder of the first one gets nothing."""
    first, second = server.invite("emil"), server.invite("emil")
    key = new_key(tmp_path / "emil")
    assert "unknown code" in Client(server, key, user=first).run("status").stderr
    assert Client(server, key, user=second).run("status").stdout.startswith("emil:")


def test_a_code_with_a_letter_too_few(server: Server, tmp_path: Path) -> None:
    """It is named as what is wrong; and the log, which holds no codes, holds none that is easily guessed."""
    code, key = server.invite("gustav"), new_key(tmp_path / "gustav")
    advice = "lab: a code has four groups of four letters, and this has not: check it for a typing error"
    for mistyped in (code[:-1], f"{code}x", f"{code[:-1]}0"):
        assert advice in Client(server, key, user=mistyped).run("status").stderr
        assert mistyped not in (server.data / "log").read_text()
    server.logged("refused", "a code, 1 unknown key: SHA256:")


def test_a_stranger_learns_the_next_step(server: Server, school: School) -> None:
    """In one line, after the last key; and it is logged."""
    done = Client(server, school.stranger).run("status")
    assert done.returncode == 255
    assert (
        f"lab: your key is unknown; ask your teacher for a code, and connect once with it: "
        f"ssh -p {server.port} CODE@HOST" in done.stderr
    )
    assert done.stderr.count("lab:") == 1
    assert server.logged("refused", "user whoever, 1 unknown key: SHA256:")


def test_a_client_without_a_key_is_advised_to_create_one(server: Server) -> None:
    """Also with a code: there would be nothing to register."""
    done = Client(server, None).run("status")
    assert "create one with ssh-keygen, then try again" in done.stderr
    assert done.returncode == 255


def test_a_right_second_key_is_accepted_silently(server: Server, school: School) -> None:
    """A client offers all its keys."""
    done = Client(server, school.ben, "-i", str(school.stranger)).run("status")
    assert done.stdout.startswith("ben:")
    assert "lab:" not in done.stderr


def test_wrong_keys_in_a_row_end_the_connection(server: Server, tmp_path: Path) -> None:
    """After more keys than agents usually hold. The log has one line about it."""
    keys = [new_key(tmp_path / str(number)) for number in range(14)]
    done = Client(server, keys[0], *(word for key in keys[1:] for word in ("-i", str(key)))).run("status")
    assert done.returncode == 255
    assert "keys refused; specify the right one: ssh -o IdentitiesOnly=yes -i FILE" in done.stderr
    text = server.logged("refused", "cut after 12 requests")["text"]
    assert "unknown keys: SHA256:" in text
    assert sum("cut after 12 requests" in line.get("text", "") for line in server.log()) == 1


def test_a_right_key_after_others_admits(server: Server, school: School, tmp_path: Path) -> None:
    """An agent offers what it has, in any order."""
    others = [new_key(tmp_path / str(number)) for number in range(8)]
    done = Client(server, school.ben, *(word for key in others for word in ("-i", str(key)))).run("status")
    assert done.stdout.startswith("ben:"), done.stderr
    assert not [line for line in server.log() if ", 8 unknown keys" in line.get("text", "")], "nobody was refused"


def test_a_neighbour_s_guesses_keep_nobody_out(tmp_path: Path, school: School) -> None:
    """A class has one address behind its router. Neither a key nor a code is refused for the guesses of others."""
    with Server(tmp_path / "data", "--web", "0", class_file=school.class_file) as server:
        code = server.invite("carla")
        asyncio.run(_guess(server, 300))
        anna = Client(server, school.anna, "-i", str(school.stranger)).run("status")
        assert anna.stdout.startswith("anna:"), anna.stderr
        carla = Client(server, new_key(tmp_path / "carla"), user=code).run("status")
        assert carla.stdout.startswith("carla:"), carla.stderr
        server.end()
        first, rest = [line for line in server.log() if line["event"] == "refused"]
        assert first["text"] == "a code: unknown code; check for a typing error, or ask your teacher for a new one"
        assert rest["text"].startswith("299 more connections with wrong codes in ")
        assert first["address"] == rest["address"] == "127.0.0.1"


async def _guess(server: Server, most: int) -> None:
    """Try codes with an unknown key, on one connection after the other."""
    key = asyncssh.generate_private_key("ssh-ed25519")
    draw = Random(1)
    for _ in range(most):
        code = "-".join("".join(draw.choices("abcdefghjkmn", k=4)) for _ in range(4))
        with contextlib.suppress(asyncssh.Error, OSError):
            await asyncssh.connect(
                "127.0.0.1", server.port, username=code, client_keys=[key], known_hosts=None, config=None
            )


def test_a_code_is_used_up_by_its_first_use(server: Server, tmp_path: Path) -> None:
    """Also if its student's key is registered: else who finds it later would become that student."""
    first, second = server.invite("edda"), server.invite("fritz")
    edda, finder = new_key(tmp_path / "edda"), new_key(tmp_path / "finder")
    done = Client(server, edda, user=first).run("status")
    assert "lab: your key is now registered, for edda; the code is used up: connect without it" in done.stderr
    assert done.stdout == "edda: 0 sessions, no cluster\n", "scripts read it"
    again = server.invite("edda")
    done = Client(server, edda, user=again).run("status")
    assert "lab: your key was already registered, for edda; the code is used up" in done.stderr
    refused = Client(server, finder, user=again).run("status")
    assert "the code was already used" in refused.stderr
    assert Client(server, edda, user=second).run("status").returncode == 255
    assert (server.data / "keys").read_text().count(" edda\n") == 1


def test_a_key_never_changes_its_student(server: Server, school: School, tmp_path: Path) -> None:
    """With the code of another, a student is refused, and the code stays valid for the other."""
    code = server.invite("gerda")
    done = Client(server, school.ben, user=code).run("status")
    assert done.returncode == 255
    assert "the code is for another student; you are ben: connect without a code" in done.stderr
    assert Client(server, school.ben).run("status").stdout.startswith("ben:")
    assert Client(server, new_key(tmp_path / "gerda"), user=code).run("status").stdout.startswith("gerda:")


def test_a_registered_key_is_announced(server: Server, tmp_path: Path) -> None:
    """To the student at a terminal, to the teacher where the server runs, and in the log."""
    code = server.invite("hilde")
    with Client(server, new_key(tmp_path / "hilde"), user=code).terminal() as terminal:
        terminal.shows("lab: your key is now registered, for hilde")
        screen = TerminalScreen(terminal)
        screen.sees("lab exercises", "your key is now registered, for hilde", "(Esc dismisses)")
        terminal.type("q")
        assert terminal.status() == 0
    assert "lab: hilde: registered key SHA256:" in server.output()
    assert server.logged("enrolled", "registered key SHA256:", "hilde")


@pytest.mark.parametrize("method", ["password", "keyboard-interactive", "hostbased"])
def test_only_a_key_admits(server: Server, school: School, method: str) -> None:
    """No password is requested."""
    done = Client(server, school.anna, "-o", f"PreferredAuthentications={method}").run("status")
    assert done.returncode == 255
    assert "assword" not in done.stderr.replace("(publickey,keyboard-interactive)", "")


def test_an_open_server_admits_guests(tmp_path: Path, school: School) -> None:
    """It warns about that. Students of the class keep their names; a key identifies a guest."""
    with Server(tmp_path / "data", "--open", class_file=school.class_file) as server:
        assert "OPEN: anyone" in server.output()
        assert Client(server, school.anna).run("status").stdout.startswith("anna:")
        stranger = Client(server, school.stranger)
        assert [stranger.run("status").stdout.partition(":")[0] for _ in range(2)] == ["guest-1", "guest-1"]
        nobody = Client(server, None)
        assert [nobody.run("status").stdout.partition(":")[0] for _ in range(2)] == ["guest-2", "guest-3"]


def test_the_host_key_is_created_once(tmp_path: Path, school: School) -> None:
    """The fingerprint is the same after a restart, and only the owner can read the key."""
    fingerprints = []
    for _ in range(2):
        with Server(tmp_path / "data", class_file=school.class_file) as server:
            fingerprints.append(server.output().partition("host key: ")[2].partition("\n")[0])
    assert fingerprints[0] == fingerprints[1] != ""
    assert (tmp_path / "data" / "host_key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700


def test_too_many_log_ins_in_a_minute_are_refused(tmp_path: Path, school: School) -> None:
    """The limit is per student."""
    with Server(tmp_path / "data", "--log-ins", "5", class_file=school.class_file) as server:
        anna = Client(server, school.anna)
        ended = [anna.run("help") for _ in range(7)]
        assert [each.returncode for each in ended[:5]] == [0] * 5
        assert "too many log-ins; try again in a minute" in ended[6].stderr
        assert Client(server, school.ben).run("help").returncode == 0
