"""Loading what a user names: protocols, in their own files too, settings, and the configuration of a run."""
