"""Scenarios: files with the script of a run and its expected outcome; running them, and reporting on the runs."""
