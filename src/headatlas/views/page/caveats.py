"""Which views a page has: those of an atlas of heads, of an atlas of layers, or of both in one."""

from __future__ import annotations

from collections.abc import Container

ATLAS_VIEWS = ("overview", "map", "grid", "sentence", "tables")
LAYERS = "layers"
CAVEATS = (
    "What a probe reads off a layer is there; whether the model uses it is another question.",
    "Mixing weights and differential scores answer different questions: where a probe looks when it sees all layers, "
    "and from which layer on it needs no more. Intervals of mixing weights resample a few seeds alone.",
)


def caveats_of(tables: Container[str]) -> list[str]:
    """What to keep in mind, beside what holds of all heads."""
    return list(CAVEATS) if "layer_mix" in tables else []


def views_of(tables: Container[str]) -> list[str]:
    """The views that have something to show."""
    if "layer_mix" not in tables:
        return [*ATLAS_VIEWS[:-1], *(["weights"] if "keyphrase_heads" in tables else []), ATLAS_VIEWS[-1]]
    return ["overview", LAYERS, "tables"]
