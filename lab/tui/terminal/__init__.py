"""The terminal: clean exit on every signal, themes, styled text, what it can draw."""
