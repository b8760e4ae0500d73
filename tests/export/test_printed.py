"""PDF and PNG: as large as the picture, text as text, and a clear error without the library."""

import importlib
import io
import re
import struct
import zlib
from contextlib import closing
from typing import Any

import pytest

from lab.export.excerpt import Excerpt, ExportError, ExportOptions, read_excerpt
from lab.export.figure_options import FigureOptions, parse_length
from lab.export.svg_diagram import write_pdf, write_png
from lab.recording.reader import open_recording
from tests.export.windows import RECORDINGS

_WIDTH = parse_length("16cm")


def _has_cairo() -> bool:
    """Return whether CairoSVG can be loaded, with the library of the system."""
    try:
        importlib.import_module("cairosvg")
    except (ImportError, OSError):
        return False
    return True


needs_cairo = pytest.mark.skipif(not _has_cairo(), reason="cairo is not installed")


@pytest.fixture
def excerpt() -> Any:
    with closing(open_recording(RECORDINGS / "scenarios" / "token-lost-on-its-way.jsonl")) as store:
        yield read_excerpt(
            store, ExportOptions(figure=FigureOptions(theme="paper", width=_WIDTH, title="A token"))
        )


def _printed(write: Any, excerpt: Excerpt) -> bytes:
    out = io.TextIOWrapper(io.BytesIO())
    write(excerpt, out)
    return out.buffer.getvalue()


@needs_cairo
def test_a_pdf_is_as_wide_as_asked_for_and_has_text(excerpt: Excerpt) -> None:
    """The fonts are embedded, and a stream shows text."""
    pdf = _printed(write_pdf, excerpt)
    assert pdf.startswith(b"%PDF-")
    box = re.search(rb"/MediaBox \[\s*0 0 ([\d.]+) ([\d.]+)\s*\]", pdf)
    if box is None:  # in a compressed object
        unpacked = b"".join(_streams(pdf))
        box = re.search(rb"/MediaBox \[\s*0 0 ([\d.]+) ([\d.]+)\s*\]", unpacked)
    assert box is not None
    assert float(box[1]) == pytest.approx(_WIDTH * 0.75, abs=1)
    everything = pdf + b"".join(_streams(pdf))
    assert b"/FontFile" in everything
    assert re.search(rb"\bT[jJ]\b", everything)


@needs_cairo
def test_a_png_has_two_pixels_for_one(excerpt: Excerpt) -> None:
    png = _printed(write_png, excerpt)
    assert png.startswith(b"\x89PNG")
    assert struct.unpack(">I", png[16:20])[0] == pytest.approx(2 * _WIDTH, abs=2)


@pytest.mark.parametrize(("error", "advice"), [(ImportError, "pip install"), (OSError, "apt install libcairo2")])
def test_without_the_library_the_error_has_the_next_step(
    excerpt: Excerpt, monkeypatch: pytest.MonkeyPatch, error: type[Exception], advice: str
) -> None:
    def refuse(name: str) -> None:
        raise error(name)

    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(ExportError, match=advice):
        _printed(write_pdf, excerpt)


def _streams(pdf: bytes) -> list[bytes]:
    found = []
    for each in re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL):
        try:
            found.append(zlib.decompressobj().decompress(each))
        except zlib.error:
            continue
    return found
