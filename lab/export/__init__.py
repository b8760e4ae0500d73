"""Export recordings to other formats: pictures, text, traces and tables.

Each format is a fold over the records.
"""
