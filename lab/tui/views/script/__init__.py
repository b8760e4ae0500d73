"""The script of a run."""
