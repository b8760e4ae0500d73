"""Moving in time: on, back, to a bookmark, into a branch, up to a question."""
