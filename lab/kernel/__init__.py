"""The kernel: a node as a deterministic function from inputs to steps. Pure: no clock, socket or file."""

from lab.kernel.errors import DriverError, ProtocolError
from lab.kernel.log import Log, as_lists
from lab.kernel.node import Node
from lab.kernel.payload import Payload, Request, encode
from lab.kernel.protocol import Protocol, ProtocolCommand, Timing, command, on, periodic, procedure
from lab.kernel.state import Auxiliary, Displayed, Safe
from lab.kernel.step import CommandInput, Fired, Input, Message, Received, Started, Step, Wait, Waits, Wrote

__all__ = [
    "Auxiliary",
    "CommandInput",
    "Displayed",
    "DriverError",
    "Fired",
    "Input",
    "Log",
    "Message",
    "Node",
    "Payload",
    "Protocol",
    "ProtocolCommand",
    "ProtocolError",
    "Received",
    "Request",
    "Safe",
    "Started",
    "Step",
    "Timing",
    "Wait",
    "Waits",
    "Wrote",
    "as_lists",
    "command",
    "encode",
    "on",
    "periodic",
    "procedure",
]
