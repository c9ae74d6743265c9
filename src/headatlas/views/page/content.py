"""What the page says of an atlas, as plain data: findings, caveats, tables, comparisons with the paper."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from headatlas.results.atlas import Atlas
from headatlas.results.naming import heads_in_layers, model_named, short_name
from headatlas.results.view import View
from headatlas.views.page.tables import nearest_heads, packed_table
from headatlas.views.published.views import comparisons
from headatlas.views.words.about import corpora_read, left_out, unknown_warnings
from headatlas.views.words.findings import findings

CAVEATS = (
    "Much attention to [SEP], or to the first token of a causal model, is often a way of attending to nothing: the "
    "paper finds that changing it hardly changes the output.",
    "Attention shows where a head looks, not what the model uses. A pattern is a reason to test further, not an "
    "explanation.",
    "The best of hundreds of heads looks better than it is. Quote the held-out accuracy, for which the head is chosen "
    "on one half of the corpus and scored on the other.",
    "Examples are few. The tables, not a sentence, say how often a head is right.",
)
LAYER_CAVEATS = (
    "What a probe reads off a layer is there; whether the model uses it is another question.",
    "Mixing weights and differential scores answer different questions: where a probe looks when it sees all layers, "
    "and from which layer on it needs no more. Intervals of mixing weights resample only a few seeds.",
)


def page_content(atlas: Atlas) -> dict[str, Any]:
    """Everything but the examples, as values that JSON can hold."""
    manifest = atlas.manifest
    model = manifest["model"]
    heads = heads_in_layers(model)
    distances = "head_distances"
    return model_content(model) | {
        "views": _views_of(atlas.tables),
        "lead": f"{heads} ({model['class']}), on {'; '.join(corpora_read(manifest))}.",
        "words_from": manifest["settings"].get("words_from", "mean"),
        "findings": [*unknown_warnings(manifest), *findings(atlas.tables)],
        "caveats": [*CAVEATS, *(LAYER_CAVEATS if "layer_mix" in atlas.tables else ())],
        "notes": [
            f"Seed {manifest['settings']['seed']}. Tables with all digits are in the folder tables.",
            *(f"Not run: {study}: {reason}" for study, reason in manifest["studies_skipped"].items()),
            *(f"Left out: {what}" for what in left_out(manifest)),
        ],
        "tables": {name: packed_table(name, atlas.tables[name]) for name in atlas.tables},
        "nearest": nearest_heads(atlas.tables[distances]) if distances in atlas.tables else {},
        "comparisons": [_view(view) for view in comparisons(atlas)],
    }


def model_content(model: Mapping[str, Any]) -> dict[str, Any]:
    """A page that knows the model's heads and nothing about them. model: as described in a manifest."""
    local = model.get("kind") in ("folder", "gguf file")
    return {
        "name": short_name(model) if local else model_named(model),
        "heads": list(model["heads"]),
        "special": {kind: token for kind, token in model.get("special_tokens", {}).items() if token},
        "views": [],
        "words_from": "mean",
        "tables": {},
        "nearest": {},
        "examples": [],
        "examples_kept": 0,
    }


def _views_of(tables: Container[str]) -> list[str]:
    """The views that have something to show: of heads, or of layers."""
    if "layer_mix" in tables:
        return ["overview", "layers", "tables"]
    return ["overview", "map", "grid", "sentence", *(["weights"] if "keyphrase_heads" in tables else []), "tables"]


def _view(view: View) -> dict[str, Any]:
    return {
        "title": list(view.title),
        "columns": [vars(column) for column in view.columns],
        "cells": [list(row) for row in view.cells],
        "notes": list(view.notes),
    }
