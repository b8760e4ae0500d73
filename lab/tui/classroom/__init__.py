"""Exercises in the interface: the list of them, and the one that is worked on, beside its cluster."""
