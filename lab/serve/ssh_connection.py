"""One SSH connection, from the client's first byte to the student's sessions.

A client logs in with a public key; if the server is open, also without one. The user name is an invitation code,
or ignored. A refused client is told why by a keyboard-interactive challenge without a question. Clients try that
method after their last key, so a client whose third key is the right one never sees it.
"""

import asyncio
from collections.abc import Sequence

import asyncssh
from asyncssh import DISC_BY_APPLICATION, DISC_NO_MORE_AUTH_METHODS_AVAILABLE, DISC_TOO_MANY_CONNECTIONS

from lab.serve.channel import Channel
from lab.serve.invites import InvitationError, is_code
from lab.serve.rates import HalfOpen
from lab.serve.server_context import ServerContext
from lab.text import sanitize
from lab.units import format_count

__all__ = ["SSHConnection"]

_Challenge = bool | tuple[str, str, str, list[tuple[str, bool]]]
_MOST_CHANNELS = 4
_MOST_REFUSED = 100


class SSHConnection(asyncssh.SSHServer):
    """A connection. ``half_open`` holds the connections that have not logged in."""

    def __init__(self, context: ServerContext, half_open: "HalfOpen[SSHConnection]") -> None:
        self.address = ""
        self._context = context
        self._half_open = half_open
        self._connection: asyncssh.SSHServerConnection
        self._student = ""
        self._user = ""
        self._key: asyncssh.SSHKey | None = None
        self._refused = 0
        self._challenge_sent = False
        self._channels: list[Channel] = []
        self._held = False
        self._unused_timer: asyncio.TimerHandle | None = None
        self._was_unused = True

    # connection

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self.address = str(conn.get_extra_info("peername", ("?",))[0])
        # asyncssh respects only the client's window, which a client may declare unlimited
        setattr(conn, "pause_writing", lambda: self._hold(True))  # noqa: B010
        setattr(conn, "resume_writing", lambda: self._hold(False))  # noqa: B010
        self._half_open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._half_open.discard(self)
        if self._unused_timer is not None:
            self._unused_timer.cancel()
        if not self._student and exc is not None:
            self._log("gone", f"before the log-in: {exc}")

    def evict(self) -> None:
        """Close the connection, because another one needs its place."""
        self._log("refused", "too many connections without a log-in: the oldest is closed")
        self._connection.abort()

    def disconnect(self, why: str) -> None:
        self._connection.disconnect(DISC_BY_APPLICATION, why)

    def _hold(self, held: bool) -> None:
        self._held = held
        for channel in self._channels:
            channel.hold("connection", held)

    # authentication

    def begin_auth(self, username: str) -> bool:
        self._user = username
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        """Return whether the key's holder may log in; the client has not yet proved that it holds the key."""
        if self._context.admission.may_admit(username, key):
            self._key = key  # the last key accepted before the log-in is the one that the client proves to hold
            return True
        self._refuse(f"user {sanitize(username, 40)}, key {key.get_fingerprint()}")
        return False

    def kbdint_auth_supported(self) -> bool:
        """Accept once: to admit a client without a key if the server is open, else to tell it the reason."""
        return not self._challenge_sent

    def get_kbdint_challenge(self, username: str, lang: str, submethods: str) -> _Challenge:
        """Admit the client if the server is open; else return the reason for the refusal, without a question."""
        self._challenge_sent = True
        if self._context.admission.is_open:
            self._key = None
            return True
        return ("", f"lab: {self._advice(username)}", "", [])

    def validate_kbdint_response(self, username: str, responses: Sequence[str]) -> bool:
        """Refuse: there is no right response."""
        self._refuse(f"user {sanitize(username, 40)}, no key")
        return False

    def auth_completed(self) -> None:
        """Admit the student, or disconnect. The client has proved that it holds its key, if it has one."""
        self._half_open.discard(self)
        who = self._context.admission.identify(self._user, self._key) or self.address
        if self._context.logins.is_exceeded(who):
            self._log("refused", f"too many log-ins of {who}")
            self._connection.disconnect(DISC_TOO_MANY_CONNECTIONS, "too many log-ins; try again in a minute")
            return
        try:
            student = self._context.admission.admit(self._user, self._key)
        except InvitationError as error:
            self._log("refused", f"user {sanitize(self._user, 40)}: {error}")
            self._connection.disconnect(DISC_BY_APPLICATION, str(error))
            return
        except OSError as error:
            self._log("fault", f"the log-in could not be stored: {error}")
            self._connection.disconnect(
                DISC_BY_APPLICATION, "the server cannot write to its disk; tell your teacher"
            )
            return
        self._student = student
        by = "no key" if self._key is None else self._key.get_fingerprint()
        self._log("log-in", f"user {sanitize(self._user, 40)}, {by}")
        self._schedule_unused_check()

    def _refuse(self, what: str) -> None:
        self._refused += 1
        self._log("refused", what)
        if (
            self._context.refusals.is_exceeded(self.address)
            or self._refused >= self._context.limits.keys_per_connection
        ):
            keys = format_count(self._refused, "key")
            why = f"{keys} refused; specify the right one: ssh -o IdentitiesOnly=yes -i FILE"
            self._connection.disconnect(DISC_NO_MORE_AUTH_METHODS_AVAILABLE, why)

    def _advice(self, user: str) -> str:
        if is_code(user) and (fault := self._context.admission.code_problem(user)):
            return fault
        if not self._refused:
            return "log-in needs an SSH key, and this client has none; create one with ssh-keygen, then try again"
        return (
            "your key is unknown; ask your teacher for a code, "
            f"and connect once with it: ssh -p {self._context.port} CODE@HOST"
        )

    # sessions

    def session_requested(self) -> Channel | bool:
        """Open a channel for any purpose, unless there are too many."""
        if not self._student:
            return False
        if len(self._channels) >= _MOST_CHANNELS:
            return self._deny("too many channels")
        channel = Channel(self._context, self._student, self.address, self._deny, self._channels.remove)
        channel.hold("connection", self._held)
        self._channels.append(channel)
        return channel

    def _schedule_unused_check(self) -> None:
        self._unused_timer = asyncio.get_running_loop().call_later(
            self._context.limits.unused_s, self._check_unused
        )

    def _check_unused(self) -> None:
        """Close an unused connection; after a session, allow time for its last output to arrive."""
        is_unused = not any(channel.is_in_use for channel in self._channels)
        if is_unused and self._was_unused:
            self._log("refused", "a connection without a session")
            why = "this server offers only the laboratory: omit -N"
            self._connection.disconnect(DISC_BY_APPLICATION, why)
            return
        self._was_unused = is_unused
        self._schedule_unused_check()

    # refused requests

    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> bool:
        """Refuse forwarding to another host (-L, -D, -W, -J)."""
        return self._deny(f"forwarding to {sanitize(dest_host, 80)}:{dest_port}")

    def server_requested(self, listen_host: str, listen_port: int) -> bool:
        """Refuse listening on a port (-R)."""
        return self._deny(f"listening on port {listen_port}")

    def unix_connection_requested(self, dest_path: str) -> bool:
        """Refuse forwarding to a Unix socket."""
        return self._deny(f"forwarding to {sanitize(dest_path, 80)}")

    def unix_server_requested(self, listen_path: str) -> bool:
        """Refuse listening on a Unix socket."""
        return self._deny(f"listening on {sanitize(listen_path, 80)}")

    def tun_requested(self, unit: int | None) -> bool:
        """Refuse a network device (-w)."""
        return self._deny("a tun device")

    def tap_requested(self, unit: int | None) -> bool:
        return self._deny("a tap device")

    def _deny(self, what: str) -> bool:
        self._log("refused", what)
        self._refused += 1
        if self._refused >= _MOST_REFUSED:
            why = "this server offers only the laboratory: omit -L, -R, -D and the like"
            self._connection.disconnect(DISC_BY_APPLICATION, why)
        return False

    def _log(self, event: str, text: str) -> None:
        self._context.log.write(event, text, student=self._student, address=self.address)
