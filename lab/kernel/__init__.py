"""The kernel: a node as a deterministic function from inputs to steps. Pure: no clock, socket or file."""

from lab.kernel.errors import DriverError, ProtocolError
from lab.kernel.node import Node
from lab.kernel.payload import Payload, Request, encode
from lab.kernel.protocol import Protocol, Timing, command, on, periodic, procedure
from lab.kernel.state import Safe
from lab.kernel.step import Fired, Input, Message, Received, Started, Step, Told, Wait

__all__ = [
    "DriverError",
    "Fired",
    "Input",
    "Message",
    "Node",
    "Payload",
    "Protocol",
    "ProtocolError",
    "Received",
    "Request",
    "Safe",
    "Started",
    "Step",
    "Timing",
    "Told",
    "Wait",
    "command",
    "encode",
    "on",
    "periodic",
    "procedure",
]
