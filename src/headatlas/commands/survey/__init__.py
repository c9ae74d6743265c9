"""`survey`: run a model over corpora once, with all studies, and write an atlas."""

from __future__ import annotations

from headatlas.commands.extract.importing import import_maps
from headatlas.commands.extract.run import extract
from headatlas.commands.survey.run import survey

__all__ = ["extract", "import_maps", "survey"]
