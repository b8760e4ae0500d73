"""From a key to the command that it gives, or begins."""

from lab.tui.nodes.pane import Pane

__all__ = ["applies", "cluster_command"]


def cluster_command(word: str, pane: Pane | None) -> tuple[str, bool]:
    """(the command, whether it is complete); one that is not is to be changed on the command line first."""
    whom = "all" if pane is None else str(pane.id)
    if word == "delay":
        return f"delay {whom} 400ms", False
    if word == "lose":
        return f"lose {whom} 30%", False
    if word == "heal":
        return "heal", True
    if word == "pause" and pane is not None and pane.process == "paused":
        return f"resume {whom}", True
    return f"{word} {whom}", True


def applies(word: str, pane: Pane) -> bool:
    """Whether what the key does to a node can be done to this one."""
    up = pane.process in ("running", "paused")
    return {"kill": up, "pause": up, "restart": not up, "wipe": not up}.get(word, True)
