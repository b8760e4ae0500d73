"""Documents of ``--json``, and their schemas: a document fits, and has no field that its schema does not name."""

import json
from typing import Any

import jsonschema

from lab.cli.documents import schema_of

__all__ = ["fitting", "names_in"]


def fitting(name: str, text: str) -> Any:
    """Return the document of this name, after it was validated. Raises jsonschema.ValidationError."""
    schema = schema_of(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    document = json.loads(text)
    jsonschema.Draft202012Validator(_closed(schema)).validate(document)
    assert next(iter(document)) == "format"
    return document


def names_in(schema: Any) -> set[str]:
    """Return the names of all fields that a schema describes."""
    if isinstance(schema, list):
        return {name for each in schema for name in names_in(each)}
    if not isinstance(schema, dict):
        return set()
    own = set(schema["properties"]) if isinstance(schema.get("properties"), dict) else set()
    return own | {name for each in schema.values() for name in names_in(each)}


def _closed(schema: Any) -> Any:
    """Return the schema with every object closed against fields that it does not name."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _closed(each) for name, each in schema.items()}
    return {**closed, "additionalProperties": False} if "properties" in closed else closed
