"""Two atlases side by side: what differs, and which heads of one are heads of the other."""

from __future__ import annotations

from headatlas.commands.compare.run import compare

__all__ = ["compare"]
