"""The contents of messages: frozen structs, named as in the published listings."""

from typing import Any, Generic, TypeVar, get_args

import msgspec
from msgspec import Struct

from lab.kernel.errors import ProtocolError

__all__ = ["Payload", "Request", "answer_types"]

A = TypeVar("A", bound="Payload")


class Payload(Struct, frozen=True):
    """A message's content. Its class name is the message's kind."""


class Request(Payload, Generic[A], frozen=True):
    """A message that expects an answer of type ``A``: ``class AreYouUp(Request[AreYouUpAnswer])``.

    Answers may be of several types: ``class Read(Request[ReadOk | Error])``.
    """


def answer_types(request: type[Request[Any]]) -> tuple[type[Payload], ...]:
    """Return the classes of the answers to ``request``. Raises ProtocolError if it does not declare them."""
    for base in getattr(request, "__orig_bases__", ()):
        for argument in get_args(base):
            found = get_args(argument) or (argument,)
            if all(isinstance(each, type) and issubclass(each, Payload) for each in found):
                return found
    raise ProtocolError(
        f"{request.__name__} does not declare its answer: write class {request.__name__}(Request[ItsAnswer])"
    )


def encode(payload: Payload) -> msgspec.Raw:
    """Encode the payload as JSON, with sets sorted: equal payloads give equal bytes."""
    return msgspec.Raw(_ENCODER.encode(payload))


_ENCODER = msgspec.json.Encoder(order="deterministic")
