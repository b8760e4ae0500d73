"""The command language: commands, triggers, and the director that says when they are due."""

from lab.script.commands import (
    FASTEST,
    SLOWEST,
    VERBS,
    After,
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
    WorldCommand,
)
from lab.script.director import Director
from lab.script.parse import parse
from lab.script.resolve import coordinator_of, link_rule, partition_rule, resolve_links, resolve_nodes, rule_over

__all__ = [
    "FASTEST",
    "SLOWEST",
    "VERBS",
    "After",
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
    "WorldCommand",
    "coordinator_of",
    "link_rule",
    "parse",
    "partition_rule",
    "resolve_links",
    "resolve_nodes",
    "rule_over",
]
