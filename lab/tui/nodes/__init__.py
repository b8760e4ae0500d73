"""The panes of the nodes."""
