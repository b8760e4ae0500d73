"""The recording format: record types, writer and reader, and the state of the cluster after any record."""
