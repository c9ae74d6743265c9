"""The survey: a model over corpora, one pass each, all studies, an atlas folder at the end."""

from __future__ import annotations

from headatlas.surveying.run import survey

__all__ = ["survey"]
