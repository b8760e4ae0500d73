"""Hosts in general: the run's folder, the recording, the feed and its requests, the owner, and the end."""
