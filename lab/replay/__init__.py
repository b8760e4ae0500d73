"""Replay: re-execute a recording, trace the lines a step ran, and find where two recordings diverge."""
