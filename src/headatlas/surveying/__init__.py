"""The survey: a model over corpora, one pass each, all studies, an atlas folder at the end; and stores of its maps."""

from __future__ import annotations

from headatlas.surveying.extraction import extract
from headatlas.surveying.importing import import_maps
from headatlas.surveying.run import survey

__all__ = ["extract", "import_maps", "survey"]
