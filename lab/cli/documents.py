"""The documents that ``--json`` prints: what they have in common, their names, and their schemas.

A document is a struct in the module of its command, so what is printed and what its schema says cannot differ. The
structs whose fields depend on the kind of protocol are generic; their modules return them with the built-in kinds.
"""

import sys
from importlib import import_module
from inspect import cleandoc
from typing import Annotated, Any

import msgspec
from msgspec import Struct
from typer import Option

from lab.output import write_line
from lab.text import UserError, did_you_mean, sanitize_json

_DIALECT = "https://json-schema.org/draft/2020-12/schema"

Json = Annotated[bool, Option("--json", help="Print one JSON object and nothing else.")]


class Document(Struct, frozen=True, tag_field="format", tag=1):
    """One JSON object: all that a command prints on standard output.

    ``format``, its first field, is the version of all documents. A field never changes its meaning; new ones come.
    """


class DocumentPlace(Struct, frozen=True):
    """The place of a document's struct, or of a function that returns it, and the command that prints it."""

    place: str
    command: str


DOCUMENTS = {
    "branches": DocumentPlace("branch:BranchesDocument", "lab branches --json"),
    "campaign-group": DocumentPlace("campaign:CampaignGroupDocument", "lab campaign show FILE --group N --json"),
    "campaign-merge": DocumentPlace("campaign:MergeDocument", "lab campaign merge FILE… --json"),
    "campaign-show": DocumentPlace("campaign:CampaignDocument", "lab campaign show FILE --json"),
    "check": DocumentPlace("campaign_report:CheckDocument", "lab check PROTOCOL --json"),
    "check-program": DocumentPlace("check_programs:CheckProgramDocument", "lab check --program COMMAND --json"),
    "compare": DocumentPlace("compare:document_type", "lab compare PROTOCOL… --json"),
    "consistency": DocumentPlace("consistency:ConsistencyDocument", "lab consistency FILE --json"),
    "convert": DocumentPlace("convert:ConvertDocument", "lab convert FILE --json"),
    "ctl": DocumentPlace("attach:CtlDocument", "lab ctl COMMAND… --json"),
    "diff": DocumentPlace("branch:DiffDocument", "lab diff A B --json"),
    "exercise-check": DocumentPlace("exercise:ExerciseCheckDocument", "lab exercise check --json"),
    "exercise-grade": DocumentPlace("exercise:GradeDocument", "lab exercise grade FILE… --json"),
    "exercise-handout": DocumentPlace("exercise:HandoutDocument", "lab exercise handout DIR --json"),
    "exercise-list": DocumentPlace("exercise:ExerciseListDocument", "lab exercise list --json"),
    "exercise-show": DocumentPlace("exercise:ExerciseShowDocument", "lab exercise show NAME --json"),
    "exercise-status": DocumentPlace("exercise:StatusDocument", "lab exercise status --json"),
    "exercise-try": DocumentPlace("exercise:ExerciseTryDocument", "lab exercise try NAME FILE.py --json"),
    "explore": DocumentPlace("explore:ExploreDocument", "lab explore PROTOCOL --json"),
    "explore-set-ups": DocumentPlace(
        "explore_set_ups:ExploreSetUpsDocument", "lab explore PROTOCOL --nodes 2-3 --json"
    ),
    "export": DocumentPlace("export:ExportDocument", "lab export FILE --json"),
    "guide": DocumentPlace("guide:GuideDocument", "lab guide --json"),
    "guide-page": DocumentPlace("guide:GuidePageDocument", "lab guide PAGE --json"),
    "guide-search": DocumentPlace("guide:GuideSearchDocument", "lab guide --search WORDS --json"),
    "guide-site": DocumentPlace("guide:GuideSiteDocument", "lab guide --html DIR --json"),
    "history": DocumentPlace("history:HistoryDocument", "lab history FILE --json"),
    "lecture-check": DocumentPlace("lecture:LectureCheckDocument", "lab lecture check --json"),
    "lecture-export": DocumentPlace("lecture:LectureExportDocument", "lab lecture export NAME --json"),
    "lecture-list": DocumentPlace("lecture:LectureListDocument", "lab lecture list --json"),
    "lecture-show": DocumentPlace("lecture:LectureShowDocument", "lab lecture show NAME --json"),
    "list": DocumentPlace("list:RunsDocument", "lab list --json"),
    "list-protocols": DocumentPlace("list:ProtocolsDocument", "lab list protocols --json"),
    "mutate": DocumentPlace("mutate:MutateDocument", "lab mutate PROTOCOL --json"),
    "mutate-list": DocumentPlace("mutate:MutantsDocument", "lab mutate PROTOCOL --list --json"),
    "run": DocumentPlace("run_report:document_type", "lab run --headless --json, lab branch --headless --json"),
    "scale": DocumentPlace("scale:ScaleDocument", "lab scale PROTOCOL… --json"),
    "scenario-check": DocumentPlace("scenario_check:ScenarioCheckDocument", "lab scenario check --json"),
    "scenario-from": DocumentPlace("scenario:ScenarioFromDocument", "lab scenario from RECORDING --json"),
    "scenario-list": DocumentPlace("scenario:ScenarioListDocument", "lab scenario list --json"),
    "scenario-show": DocumentPlace("scenario:ScenarioShowDocument", "lab scenario show NAME --json"),
    "serve-invite": DocumentPlace("serve:InviteDocument", "lab serve invite NAME… --json"),
    "serve-status": DocumentPlace("serve_class:ClassDocument", "lab serve status --json"),
    "show": DocumentPlace("show:ShowDocument", "lab show FILE --json"),
    "show-state": DocumentPlace("show:ShowStateDocument", "lab show FILE --blocked --json, --view WORD --json"),
    "verify": DocumentPlace("recordings:VerifyDocument", "lab verify FILE… --json"),
}


def print_json(document: Document) -> None:
    """Print the document as a JSON object, in one line."""
    write_line(sanitize_json(msgspec.json.encode(document)), sys.stdout)


def schema_of(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a document. Raises UserError if there is none of that name."""
    if name not in DOCUMENTS:
        hint = did_you_mean(name, tuple(DOCUMENTS)) or f" ({', '.join(DOCUMENTS)})"
        raise UserError(f"no document is called {name!r}{hint}; list them: lab schema")
    module, _, attribute = DOCUMENTS[name].place.partition(":")
    found = getattr(import_module(f"lab.cli.{module}"), attribute)
    kind = found if isinstance(found, type) else found()
    return {"$schema": _DIALECT, "$id": f"urn:lab:{name}:1", **_with_plain_descriptions(msgspec.json.schema(kind))}


def _with_plain_descriptions(schema: Any) -> Any:
    """Return the schema with docstrings as plain text in its descriptions."""
    if isinstance(schema, list | tuple):
        return [_with_plain_descriptions(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {name: _with_plain_descriptions(each) for name, each in schema.items()}
    if isinstance(described := schema.get("description"), str):
        plain["description"] = cleandoc(described).replace("``", "`")
    return plain
