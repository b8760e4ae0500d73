"""The simulated world: the same nodes in virtual time."""
