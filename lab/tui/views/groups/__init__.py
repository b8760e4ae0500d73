"""The history of groups."""
