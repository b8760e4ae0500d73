"""Scenarios: files that say what is to happen in a run and what is to come of it; running them, and the report."""
