"""The views of a run, below the nodes: the message log and those that take its place or stand beside it."""
