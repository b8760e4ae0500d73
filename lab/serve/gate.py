"""One connection: from the first byte of a stranger to the sessions of a student.

A public key is the only way in. The user name is the code of an invitation, or nothing. Who cannot come in is
told why by a question without an answer (keyboard-interactive), which a client turns to when its keys are used up:
so nobody sees it whose third key is the right one.
"""

import asyncio
from collections.abc import Sequence

import asyncssh
from asyncssh import DISC_BY_APPLICATION, DISC_NO_MORE_AUTH_METHODS_AVAILABLE, DISC_TOO_MANY_CONNECTIONS

from lab.serve.channel import Channel
from lab.serve.house import House
from lab.serve.invites import InvitationError, is_code
from lab.serve.rates import HalfOpen
from lab.text import sanitize
from lab.units import count_of

__all__ = ["Gate"]

_Challenge = bool | tuple[str, str, str, list[tuple[str, bool]]]
_MOST_CHANNELS = 4
_MOST_REFUSED = 100


class Gate(asyncssh.SSHServer):
    """``half_open`` has those that have not logged in."""

    def __init__(self, house: House, half_open: "HalfOpen[Gate]") -> None:
        self.address = ""
        self._house = house
        self._half_open = half_open
        self._connection: asyncssh.SSHServerConnection
        self._student = ""
        self._user = ""
        self._key: asyncssh.SSHKey | None = None
        self._refused = 0
        self._told = False
        self._channels: list[Channel] = []
        self._held = False
        self._next_look: asyncio.TimerHandle | None = None
        self._was_unused = True

    # the connection

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        """Somebody knocks."""
        self._connection = conn
        self.address = str(conn.get_extra_info("peername", ("?",))[0])
        # asyncssh minds the client's window alone, which a client may say is endless
        setattr(conn, "pause_writing", lambda: self._hold(True))  # noqa: B010
        setattr(conn, "resume_writing", lambda: self._hold(False))  # noqa: B010
        self._half_open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """It has gone."""
        self._half_open.discard(self)
        if self._next_look is not None:
            self._next_look.cancel()
        if not self._student and exc is not None:
            self._log("gone", f"before the log-in: {exc}")

    def give_way(self) -> None:
        """It has kept a place for long enough that others need."""
        self._log("refused", "too many connections without a log-in: the oldest makes room")
        self._connection.abort()

    def leave(self, why: str) -> None:
        """The server ends."""
        self._connection.disconnect(DISC_BY_APPLICATION, why)

    def _hold(self, held: bool) -> None:
        self._held = held
        for channel in self._channels:
            channel.hold("connection", held)

    # who is it?

    def begin_auth(self, username: str) -> bool:
        """The client has said a user name."""
        self._user = username
        return True

    def public_key_auth_supported(self) -> bool:
        """The way in."""
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        """Whether its holder may come in; that the client is its holder is not said yet."""
        if self._house.admission.would_admit(username, key):
            self._key = key  # the last one before the log-in is the one that has signed
            return True
        self._refuse(f"user {sanitize(username, 40)}, key {key.get_fingerprint()}")
        return False

    def kbdint_auth_supported(self) -> bool:
        """For those without a key: in, where anybody may; else they are told, once, why not."""
        return not self._told

    def get_kbdint_challenge(self, username: str, lang: str, submethods: str) -> _Challenge:
        """No question, but what there is to be said."""
        self._told = True
        if self._house.admission.is_open:
            self._key = None
            return True
        return ("", f"lab: {self._advice(username)}", "", [])

    def validate_kbdint_response(self, username: str, responses: Sequence[str]) -> bool:
        """There is no right one."""
        self._refuse(f"user {sanitize(username, 40)}, no key")
        return False

    def auth_completed(self) -> None:
        """The client has proved that the key is its own."""
        self._half_open.discard(self)
        who = self._house.admission.known(self._user, self._key) or self.address
        if self._house.logins.too_often(who):
            self._log("refused", f"too many log-ins of {who}")
            self._connection.disconnect(DISC_TOO_MANY_CONNECTIONS, "too many log-ins; try again in a minute")
            return
        try:
            student = self._house.admission.admit(self._user, self._key)
        except InvitationError as error:
            self._log("refused", f"user {sanitize(self._user, 40)}: {error}")
            self._connection.disconnect(DISC_BY_APPLICATION, str(error))
            return
        except OSError as error:
            self._log("fault", f"the log-in could not be written down: {error}")
            self._connection.disconnect(
                DISC_BY_APPLICATION, "the server cannot write to its disk; tell your teacher"
            )
            return
        self._student = student
        by = "no key" if self._key is None else self._key.get_fingerprint()
        self._log("log-in", f"user {sanitize(self._user, 40)}, {by}")
        self._look_later()

    def _refuse(self, what: str) -> None:
        self._refused += 1
        self._log("refused", what)
        if self._house.refusals.too_often(self.address) or self._refused >= self._house.limits.keys_per_connection:
            keys = count_of(self._refused, "key")
            why = f"{keys} refused; name the right one: ssh -o IdentitiesOnly=yes -i FILE"
            self._connection.disconnect(DISC_NO_MORE_AUTH_METHODS_AVAILABLE, why)

    def _advice(self, user: str) -> str:
        if is_code(user) and (fault := self._house.admission.fault_of(user)):
            return fault
        if not self._refused:
            return (
                "you come with an SSH key, and this client has none; make one with ssh-keygen, then connect again"
            )
        return (
            "your key is not known here; ask your teacher for a code, "
            f"and connect once with it: ssh -p {self._house.port} CODE@HOST"
        )

    # what does he want?

    def session_requested(self) -> Channel | bool:
        """A channel, whatever it will be for."""
        if not self._student:
            return False
        if len(self._channels) >= _MOST_CHANNELS:
            return self._no("one channel more at once")
        channel = Channel(self._house, self._student, self.address, self._no, self._channels.remove)
        channel.hold("connection", self._held)
        self._channels.append(channel)
        return channel

    def _look_later(self) -> None:
        self._next_look = asyncio.get_running_loop().call_later(self._house.limits.unused_s, self._look)

    def _look(self) -> None:
        """End a connection that nobody uses; after a session there is time for its last words to arrive."""
        is_unused = not any(channel.is_in_use for channel in self._channels)
        if is_unused and self._was_unused:
            self._log("refused", "a connection without a session")
            why = "there is nothing here but the laboratory: leave out -N"
            self._connection.disconnect(DISC_BY_APPLICATION, why)
            return
        self._was_unused = is_unused
        self._look_later()

    # nothing else is to be had

    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> bool:
        """No forwarding to elsewhere (-L, -D, -W, -J)."""
        return self._no(f"forwarding to {sanitize(dest_host, 80)}:{dest_port}")

    def server_requested(self, listen_host: str, listen_port: int) -> bool:
        """No listening here (-R)."""
        return self._no(f"listening on port {listen_port}")

    def unix_connection_requested(self, dest_path: str) -> bool:
        """No forwarding to a Unix socket."""
        return self._no(f"forwarding to {sanitize(dest_path, 80)}")

    def unix_server_requested(self, listen_path: str) -> bool:
        """No listening on one."""
        return self._no(f"listening on {sanitize(listen_path, 80)}")

    def tun_requested(self, unit: int | None) -> bool:
        """No network device (-w)."""
        return self._no("a tun device")

    def tap_requested(self, unit: int | None) -> bool:
        """Nor the other kind."""
        return self._no("a tap device")

    def _no(self, what: str) -> bool:
        self._log("refused", what)
        self._refused += 1
        if self._refused >= _MOST_REFUSED:
            why = "there is nothing here but the laboratory: leave out -L, -R, -D and the like"
            self._connection.disconnect(DISC_BY_APPLICATION, why)
        return False

    def _log(self, event: str, text: str) -> None:
        self._house.log.say(event, text, student=self._student, address=self.address)
