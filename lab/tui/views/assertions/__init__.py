"""The assertions, their verdicts and witnesses."""
