"""Random commands for live runs: faults of nodes and links, at random times or messages."""

from random import Random

from lab.protocols import Algorithm

__all__ = ["random_commands"]


def random_commands(chance: Random, protocol: type[Algorithm], many: int, within_ms: int) -> tuple[str, ...]:
    """Return this many lines for nodes 1 to 5, with messages and commands of this protocol."""
    kinds = sorted(name for name, kind in protocol.payloads.items() if kind not in protocol.heartbeats)
    own = [f"tell all {each.example if each.words else each.name}" for each in protocol.commands.values()]
    commands = []
    for _ in range(many):
        node, other = chance.sample(range(1, 6), 2)
        some = " ".join(str(n) for n in sorted(chance.sample(range(1, 6), chance.randrange(1, 4))))
        kind = chance.choice(kinds)
        command = chance.choice(
            [
                f"kill {node}",
                f"kill {some}",
                "kill coordinator",
                f"restart {node}",
                "restart all",
                f"pause {node}",
                "pause coordinator",
                "resume all",
                f"wipe {some}",
                f"unwrite {some} last {chance.randrange(1, 5)}",
                f"tear {some}",
                f"flip {node}",
                f"slow-disk {some} {chance.randrange(30)}ms",
                f"partition {some}",
                f"delay {node}->{other} {chance.randrange(80)}ms ±{chance.randrange(1, 20)}ms",
                f"lose {node} {chance.randrange(100)}%",
                f"cut {node}->{other}",
                f"duplicate all {chance.randrange(60)}%",
                f"duplicate all {chance.randrange(60)}% {chance.randrange(500)}ms",
                f"reorder all {chance.randrange(60)}% {chance.randrange(1, 30)}ms",
                f"slow {some} {chance.randrange(60)}ms ±{chance.randrange(1, 9)}ms",
                f"lose {node}<->{other} {kind} {chance.randrange(100)}%",
                f"hold {node}->{other}",
                f"hold all {kind}",
                "release",
                f"release {node}",
                f"join {node}<->{other}",
                f"inject {node}->{other} {kind}",
                "heal",
                f"heal {node}<->{other}",
                *own,
            ]
        )
        moment = chance.choice(["on send", "on deliver", "on drop", "before send", "before deliver"])
        trigger = chance.choice(
            [
                f"at {chance.randrange(within_ms)}ms",
                f"{moment} {chance.choice(kinds)}",
                f"on store any #{chance.randrange(1, 20)}",
                "when all normal",
            ]
        )
        commands.append(f"{trigger}: {command}")
    return tuple(commands)
