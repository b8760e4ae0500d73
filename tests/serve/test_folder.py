"""The data folder: removal of sockets, recognition of guests, and codes when the disk is full."""

import os
import shutil
from pathlib import Path

import asyncssh
import pytest

from lab.serve.admission import Admission
from lab.serve.data_folder import DataFolder, FolderError, RunningServer, ServerLog
from lab.serve.student_lists import InvitationError, Invitations
from tests.serve.test_full_disk import room_for


def _public(key: asyncssh.SSHKey) -> asyncssh.SSHKey:
    return asyncssh.import_public_key(key.export_public_key())


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    return DataFolder(tmp_path / "data")


def test_a_server_on_a_copied_folder_does_not_affect_the_other(folder: DataFolder, tmp_path: Path) -> None:
    """The copy names the sockets of a running server."""
    with folder.held() as sockets:
        folder.publish(RunningServer(os.getpid(), 1, str(sockets)))
        shutil.copytree(folder.path, tmp_path / "copy")
        with DataFolder(tmp_path / "copy").held():
            assert sockets.is_dir()
        assert sockets.is_dir()
    assert not sockets.exists()


def test_a_server_that_cannot_begin_leaves_no_lock(folder: DataFolder) -> None:
    """Its folder is free for the next one, in the same process, too."""
    found: list[Path] = []

    def begin() -> None:
        with folder.held() as sockets:
            found.append(sockets)
            folder.publish(RunningServer(os.getpid(), 1, str(sockets)))
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        begin()
    assert not found[0].exists()
    assert folder.running_server() is None
    with folder.held(), pytest.raises(FolderError, match="a server already runs in"), folder.held():
        pass


def test_only_folders_made_by_a_server_are_removed(folder: DataFolder, tmp_path: Path) -> None:
    """Even if ``server.json`` names another."""
    precious = tmp_path / "precious"
    precious.mkdir()
    folder.publish(RunningServer(os.getpid(), 1, str(precious)))
    with folder.held():
        pass
    assert precious.is_dir()


def test_a_guest_is_recognized(folder: DataFolder) -> None:
    """By the key, also after a restart; without a key every guest is new."""
    log = ServerLog(folder.log)
    anna, ben = (_public(asyncssh.generate_private_key("ssh-ed25519")) for _ in range(2))
    first = Admission(folder, None, True, log)
    assert [first.admit("x", key).student for key in (anna, None, anna)] == ["guest-1", "guest-2", "guest-1"]
    again = Admission(folder, None, True, log)
    assert again.identify("x", ben) is None
    assert [again.admit("x", key).student for key in (ben, anna)] == ["guest-3", "guest-1"]
    assert again.identify("x", anna) == "guest-1"
    closed = Admission(folder, None, False, log)
    assert not closed.may_admit("x", anna)
    with pytest.raises(InvitationError):
        closed.admit("x", anna)
    log.close()


def test_a_full_disk_costs_no_code(folder: DataFolder) -> None:
    """If the key cannot be stored, the code stays valid, for the same key or another."""
    log = ServerLog(folder.log)
    folder.keys.write_text("# a line of a large class\n" * 1000)
    invitations = Invitations(folder.invites)
    ((_, code),) = invitations.invite(["anna"], 14)
    admission = Admission(folder, None, False, log)
    key = _public(asyncssh.generate_private_key("ssh-ed25519"))
    with room_for(10_000), pytest.raises(OSError, match="File too large"):
        admission.admit(code, key)
    assert invitations.name_for(code) == "anna"
    assert admission.admit(code, key).student == "anna"
    with pytest.raises(InvitationError, match="already used"):
        invitations.name_for(code)
    assert admission.admit("whoever", key).student == "anna"
    log.close()
