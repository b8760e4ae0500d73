"""What the interface owes the terminal, and what that can draw."""
