"""The build of the package: its exercises are the students' edition, unless LAB_EDITION=teacher."""

import os
import runpy
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LIBRARY = "lab/exercises/library"


class Exercises(BuildHookInterface):
    """Add the exercises to a wheel; an editable installation reads those of the checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        library = Path(self.root, LIBRARY)
        if os.environ.get("LAB_EDITION") != "teacher":
            self._temporary = tempfile.TemporaryDirectory()
            library = self._write_handouts(library, Path(self._temporary.name))
        build_data["force_include"][str(library)] = LIBRARY

    def _write_handouts(self, library: Path, folder: Path) -> Path:
        # loaded by its path: nothing that the package depends on is installed here
        handout = runpy.run_path(str(Path(self.root, "lab/exercises/handout.py")))
        for head in sorted(library.glob(f"*/{handout['HEAD']}")):
            handout["write_handout"](head.parent, folder / head.parent.name)
        return folder
