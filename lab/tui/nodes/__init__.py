"""The upper half of the screen: the nodes."""
