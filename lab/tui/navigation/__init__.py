"""Navigation in time: bookmarks, branches, searches for a record, and predictions."""
