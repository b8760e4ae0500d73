"""Tests of scenarios: reading their files, running them, and reporting on them."""
