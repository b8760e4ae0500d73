"""Lectures: Markdown files with steps, runs that stop where there is something to see, and questions with keys."""
