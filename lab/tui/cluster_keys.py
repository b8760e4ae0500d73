"""Map the keys that change the cluster to commands."""

from lab.tui.widgets.pane import Pane


def cluster_command(word: str, pane: Pane | None) -> tuple[str, bool]:
    """Return (the command, whether it is complete); an incomplete one opens on the command line to be edited."""
    target = "all" if pane is None else str(pane.id)
    if word == "delay":
        return f"delay {target} 400ms", False
    if word == "lose":
        return f"lose {target} 30%", False
    if word == "heal":
        return "heal", True
    if word == "pause" and pane is not None and pane.process == "paused":
        return f"resume {target}", True
    return f"{word} {target}", True


def is_applicable(word: str, pane: Pane) -> bool:
    """Return whether the action can be applied to a node in this state."""
    alive = pane.process in ("running", "paused")
    return {"kill": alive, "pause": alive, "restart": not alive, "wipe": not alive}.get(word, True)
