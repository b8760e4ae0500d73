"""Tests of scenarios: reading their files, running them, and what the report says."""
