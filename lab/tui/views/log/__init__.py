"""The message log."""
