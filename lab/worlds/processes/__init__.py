"""Processes of the laboratory: how one forks others, and how they talk to each other."""
