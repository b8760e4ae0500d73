"""The command language: commands, triggers, and the director that says when they are due."""

from lab.script.commands import (
    VERBS,
    At,
    Command,
    CommandError,
    Heal,
    LinkFault,
    NodeCommand,
    OnMessage,
    Partition,
    Scripted,
    Trigger,
    Verb,
    WhenNormal,
)
from lab.script.director import Director
from lab.script.parse import parse
from lab.script.resolve import coordinator_of, link_rule, partition_rule, resolve_links, resolve_nodes

__all__ = [
    "VERBS",
    "At",
    "Command",
    "CommandError",
    "Director",
    "Heal",
    "LinkFault",
    "NodeCommand",
    "OnMessage",
    "Partition",
    "Scripted",
    "Trigger",
    "Verb",
    "WhenNormal",
    "coordinator_of",
    "link_rule",
    "parse",
    "partition_rule",
    "resolve_links",
    "resolve_nodes",
]
