"""Which views a page has: those of an atlas of heads, of an atlas of layers, or of both in one."""

from __future__ import annotations

from collections.abc import Container

ATLAS_VIEWS = ("overview", "map", "grid", "sentence", "tables")
LAYERS = "layers"


def views_of(tables: Container[str]) -> list[str]:
    """The views that have something to show."""
    if "layer_mix" not in tables:
        return list(ATLAS_VIEWS)
    return ["overview", LAYERS, "tables"]
