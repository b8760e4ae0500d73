"""Other tools' formats: a recording as a picture, a text, a trace, a table. Each is a fold over the records."""
