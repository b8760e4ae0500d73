"""Check assertions over records: verdicts, violations, and explanations of them."""
