"""The space-time diagram as PDF and PNG, converted from SVG by CairoSVG (extra ``figures``).

Text in the PDF is text, in an embedded font. A pixel is 1/96 inch, so that a picture of 16 cm is printed as wide.
"""

import importlib
import re
from typing import Any, TextIO

from lab.export.excerpt import Excerpt, ExportError
from lab.export.svg_diagram import diagram_of

_CREATED, _NO_DATE = re.compile(rb"(/CreationDate \(D:)(\d+)"), b"20000101000000"
"""The date of a PDF, and what replaces it, so that the same recording gives the same bytes."""
_PIXELS_PER_PIXEL = 2.0
"""For screens and projectors with small pixels."""


def write_pdf(excerpt: Excerpt, out: TextIO) -> None:
    """Write to the binary file below ``out``. Raises ExportError without the extra."""
    cairo = load_cairosvg()
    pdf = cairo.svg2pdf(bytestring=_svg(excerpt))
    out.buffer.write(_CREATED.sub(lambda hit: hit[1] + _NO_DATE[: len(hit[2])], pdf))


def write_png(excerpt: Excerpt, out: TextIO) -> None:
    """Write to the binary file below ``out``. Raises ExportError without the extra."""
    cairo = load_cairosvg()
    out.buffer.write(cairo.svg2png(bytestring=_svg(excerpt), scale=_PIXELS_PER_PIXEL))


def _svg(excerpt: Excerpt) -> bytes:
    return diagram_of(excerpt, medium="print").encode()


def load_cairosvg() -> Any:
    try:
        return importlib.import_module("cairosvg")
    except ImportError:
        what = "this requires CairoSVG: pip install 'coordinator-lab[figures]'"
    except OSError:  # it loads the library of the system
        what = "this requires the library cairo of your system: apt install libcairo2, or brew install cairo"
    raise ExportError(f"{what}; or export to svg, which other programs convert")
