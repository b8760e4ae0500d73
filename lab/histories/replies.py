"""Workloads in which each reply is judged by itself or against all others: echo and unique-ids."""

from collections.abc import Hashable, Mapping
from typing import Any

from lab.histories.operations import History, Operation
from lab.histories.results import CheckResult, Finding, verdict_of
from lab.histories.values import format_value, freeze
from lab.units import format_count


def check_echo(history: History) -> CheckResult:
    """Return whether each reply to ``echo`` is what was sent: the value, or an object with it in ``echo``."""
    findings = []
    answered = [each for each in history.operations if each.f == "echo" and each.outcome == "ok"]
    for each in answered:
        result: Any = each.result
        if isinstance(result, Mapping) and "echo" in result:
            result = result["echo"]
        if freeze(result) != freeze(each.value):
            text = f"{each.process} sent {format_value(each.value)}, and got {format_value(result)}"
            findings.append(Finding("wrong echo", text, (each,)))
    called = sum(each.f == "echo" for each in history.operations)
    evidence = format_count(len(answered), "answer") if answered else "nothing was answered"
    statistics = {"called": called, "answered": len(answered), "wrong": len(findings)}
    return CheckResult("echo", verdict_of(findings, len(answered)), evidence, tuple(findings), statistics)


def check_unique_ids(history: History) -> CheckResult:
    """Return whether no two ``generate`` returned the same id."""
    holders: dict[Hashable, list[Operation]] = {}
    called = answered = 0
    for each in history.operations:
        if each.f == "generate":
            called += 1
            if each.outcome == "ok":
                answered += 1
                holders.setdefault(freeze(each.result), []).append(each)
    findings = []
    for same in holders.values():
        if len(same) > 1:
            clients = " and ".join(f"{each.process} ({each.interval})" for each in same[:4])
            more = f" and {len(same) - 4} more" if len(same) > 4 else ""
            text = f"{format_value(same[0].result)} was given {len(same)} times: to {clients}{more}"
            findings.append(Finding("duplicate id", text, tuple(same)))
    statistics = {"called": called, "answered": answered, "ids": len(holders), "duplicated": len(findings)}
    evidence = format_count(answered, "id") if answered else "no id was given"
    return CheckResult("unique-ids", verdict_of(findings, answered), evidence, tuple(findings), statistics)
