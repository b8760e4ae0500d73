"""What drives nodes. Import the modules themselves: a host forks before it loads more than it needs."""
