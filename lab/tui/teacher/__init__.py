"""The teacher's screens, and the student's application on a server."""
