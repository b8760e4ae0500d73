"""Exercises: their text, their tasks, and the check of whether each task is done.

Tasks ask a student to bring something about, predict it, find it, repair a protocol, write one, or explain.
"""
