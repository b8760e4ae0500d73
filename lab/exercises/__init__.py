"""Exercises: what a student is to bring about, predict, find, repair or explain; telling whether it is done."""
