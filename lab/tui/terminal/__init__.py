"""The terminal: clean exit, themes, what it can draw, its clipboard."""
