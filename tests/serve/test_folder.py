"""The data folder: whose sockets are removed, who comes again, and what a full disk leaves of a code."""

import shutil
from pathlib import Path

import asyncssh
import pytest

from lab.serve.admission import Admission
from lab.serve.folder import DataFolder
from lab.serve.invites import InvitationError, Invitations
from lab.serve.server_log import ServerLog
from tests.serve.test_full_disk import room_for


def _public(key: asyncssh.SSHKey) -> asyncssh.SSHKey:
    return asyncssh.import_public_key(key.export_public_key())


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    """A new one."""
    return DataFolder(tmp_path / "data")


def test_a_server_on_a_copy_of_the_folder_leaves_the_other_alone(folder: DataFolder, tmp_path: Path) -> None:
    """The copy names the sockets of a server that runs."""
    sockets = folder.acquire()
    folder.publish(1, sockets, 0)
    shutil.copytree(folder.path, tmp_path / "copy")
    copy = DataFolder(tmp_path / "copy")
    copy.release(copy.acquire())
    assert sockets.is_dir()
    folder.release(sockets)


def test_nothing_is_removed_that_no_server_has_made(folder: DataFolder, tmp_path: Path) -> None:
    """Whatever ``server.json`` says."""
    precious = tmp_path / "precious"
    precious.mkdir()
    folder.publish(1, precious, 0)
    folder.release(folder.acquire())
    assert precious.is_dir()


def test_a_guest_is_the_same_guest_again(folder: DataFolder) -> None:
    """By the key, also after a restart; who has no key is a new one each time."""
    log = ServerLog(folder.log)
    anna, ben = (_public(asyncssh.generate_private_key("ssh-ed25519")) for _ in range(2))
    first = Admission(folder, None, True, log)
    assert [first.admit("x", anna), first.admit("x", None), first.admit("x", anna)] == [
        "guest-1",
        "guest-2",
        "guest-1",
    ]
    again = Admission(folder, None, True, log)
    assert again.identify("x", ben) is None
    assert [again.admit("x", ben), again.admit("x", anna)] == ["guest-3", "guest-1"]
    assert again.identify("x", anna) == "guest-1"
    closed = Admission(folder, None, False, log)
    assert not closed.may_admit("x", anna)
    with pytest.raises(InvitationError):
        closed.admit("x", anna)
    log.close()


def test_a_disk_that_is_full_costs_no_code(folder: DataFolder) -> None:
    """Where the key cannot be kept, the code holds still, for the same key or another."""
    log = ServerLog(folder.log)
    folder.keys.write_text("# a line of a large class\n" * 1000)
    invitations = Invitations(folder.invites)
    ((_, code),) = invitations.invite(["anna"], 14)
    admission = Admission(folder, None, False, log)
    key = _public(asyncssh.generate_private_key("ssh-ed25519"))
    with room_for(10_000), pytest.raises(OSError, match="File too large"):
        admission.admit(code, key)
    assert invitations.name_for(code) == "anna"
    assert admission.admit(code, key) == "anna"
    with pytest.raises(InvitationError, match="already used"):
        invitations.name_for(code)
    assert admission.admit("whoever", key) == "anna"
    log.close()
