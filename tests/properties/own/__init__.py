"""Files of a user: a protocol, and properties for it in a file beside it."""
