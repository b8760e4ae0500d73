"""The bank: accounts, transactions, and why a transaction is open."""
