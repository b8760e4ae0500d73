"""The texts of the built-in protocols, line by line; the processes of nodes never load them."""

from collections.abc import Iterator

from lab.protocols.algorithm import Algorithm
from lab.protocols.bully_tanenbaum_text import BULLY_TANENBAUM
from lab.protocols.bully_text import BULLY
from lab.protocols.invitation_text import INVITATION
from lab.protocols.ring_text import RING
from lab.protocols.transcription import Transcription

__all__ = ["TRANSCRIPTIONS", "transcriptions_of"]

TRANSCRIPTIONS: tuple[Transcription, ...] = (BULLY, BULLY_TANENBAUM, RING, INVITATION)


def transcriptions_of(protocol: type[Algorithm]) -> Iterator[Transcription]:
    """Yield the transcriptions of which the protocol, or the task above it, is made."""
    for layer in (protocol.upper_protocol, protocol):
        yield from (each for each in TRANSCRIPTIONS if layer is not None and issubclass(layer, each.protocol))
