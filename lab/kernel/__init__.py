"""The kernel: a node as a deterministic function from inputs to steps. Pure: no clock, socket or file."""

from lab.kernel.errors import DriverError, ProtocolError
from lab.kernel.log import Log, as_lists
from lab.kernel.node import Node
from lab.kernel.own_command import OwnCommand, command
from lab.kernel.payload import Payload, Request, encode
from lab.kernel.protocol import Protocol, Timing, on, periodic, procedure
from lab.kernel.state import Safe, Shown
from lab.kernel.step import Fired, Input, Message, Received, Started, Step, Told, Wait

__all__ = [
    "DriverError",
    "Fired",
    "Input",
    "Log",
    "Message",
    "Node",
    "OwnCommand",
    "Payload",
    "Protocol",
    "ProtocolError",
    "Received",
    "Request",
    "Safe",
    "Shown",
    "Started",
    "Step",
    "Timing",
    "Told",
    "Wait",
    "as_lists",
    "command",
    "encode",
    "on",
    "periodic",
    "procedure",
]
