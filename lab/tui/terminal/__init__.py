"""The terminal: the parent process that restores it, and the base class of all applications."""
