"""`reproduce`: a paper's every table, figure and finding from whatever of its inputs is given, beside the published."""

from __future__ import annotations

from headatlas.commands.reproduce.run import reproduce

__all__ = ["reproduce"]
