"""One node as a whole."""
