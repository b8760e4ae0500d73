"""The command language: commands, triggers, and the director that says when they are due."""

from lab.script.checking import check_by_hand, check_line, check_predicate, forged
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
from lab.script.expectations import CAUSES, Expect, Expectation, ExpectThroughout, ExpectViolation, Settled
from lab.script.lines import ScriptError, numbered_lines, predecessors, read_script
from lab.script.onset import Onset
from lab.script.parse import parse, parse_predicate
from lab.script.query import Query, query_said, read_query
from lab.script.resolve import (
    coordinator_of,
    coordinators_of,
    fault_rule,
    link_rule,
    nodes_told,
    partition_rule,
    resolve_links,
    resolve_nodes,
    rule_over,
)
from lab.script.sieve import Sieve
from lab.script.sight import Sight
from lab.script.telling import own_commands, told_by
from lab.script.triggers import After, At, Every, OnMessage, OnStatus, Scripted, Trigger, When

__all__ = [
    "CAUSES",
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
    "Onset",
    "Partition",
    "Query",
    "ScriptError",
    "Scripted",
    "Settled",
    "Sieve",
    "Sight",
    "Slow",
    "Tell",
    "Trigger",
    "Verb",
    "When",
    "WorldCommand",
    "check_by_hand",
    "check_line",
    "check_predicate",
    "coordinator_of",
    "coordinators_of",
    "fault_rule",
    "forged",
    "link_rule",
    "nodes_told",
    "numbered_lines",
    "own_commands",
    "parse",
    "parse_predicate",
    "partition_rule",
    "predecessors",
    "query_said",
    "read_query",
    "read_script",
    "resolve_links",
    "resolve_nodes",
    "rule_over",
    "told_by",
]
