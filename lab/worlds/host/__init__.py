"""What every host has: the run's folder, the recording, the feed and its orders, an owner, and an end."""
