"""Exercises in the interface: their list, and the running attempt with its cluster."""
