"""The command language: commands, triggers, and the director that says when they are due."""

from lab.script.checking import check_line
from lab.script.commands import (
    FASTEST,
    SLOWEST,
    VERBS,
    Caption,
    Command,
    CommandError,
    Heal,
    Inject,
    LinkFault,
    NodeCommand,
    Partition,
    Slow,
    Tell,
    Verb,
    WorldCommand,
)
from lab.script.director import Director
from lab.script.expectations import Expect, Expectation, ExpectThroughout, ExpectViolation, Settled
from lab.script.lines import ScriptError, numbered_lines, read_script
from lab.script.parse import parse
from lab.script.resolve import (
    coordinator_of,
    coordinators_of,
    link_rule,
    nodes_told,
    partition_rule,
    resolve_links,
    resolve_nodes,
    rule_over,
)
from lab.script.telling import own_commands, told_by
from lab.script.triggers import After, At, Every, OnMessage, OnStatus, Scripted, Trigger, When

__all__ = [
    "FASTEST",
    "SLOWEST",
    "VERBS",
    "After",
    "At",
    "Caption",
    "Command",
    "CommandError",
    "Director",
    "Every",
    "Expect",
    "ExpectThroughout",
    "ExpectViolation",
    "Expectation",
    "Heal",
    "Inject",
    "LinkFault",
    "NodeCommand",
    "OnMessage",
    "OnStatus",
    "Partition",
    "ScriptError",
    "Scripted",
    "Settled",
    "Slow",
    "Tell",
    "Trigger",
    "Verb",
    "When",
    "WorldCommand",
    "check_line",
    "coordinator_of",
    "coordinators_of",
    "link_rule",
    "nodes_told",
    "numbered_lines",
    "own_commands",
    "parse",
    "partition_rule",
    "read_script",
    "resolve_links",
    "resolve_nodes",
    "rule_over",
    "told_by",
]
