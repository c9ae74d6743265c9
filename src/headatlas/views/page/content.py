"""What the page says of an atlas: findings, caveats, tables, comparisons with the paper. All of it plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from headatlas.results.example import Example
from headatlas.results.naming import heads_in_layers, model_named, short_name
from headatlas.results.view import View
from headatlas.statistics.words import FromTokens
from headatlas.views.figures.write import SurveyedAtlas
from headatlas.views.page.caveats import caveats_of, views_of
from headatlas.views.page.tables import nearest_heads, packed_table
from headatlas.views.published.views import comparisons
from headatlas.views.words.about import corpora_read, left_out, unknown_warnings
from headatlas.views.words.findings import findings

CAVEATS = (
    "Much attention to [SEP], or to the first token of a causal model, is often a way of attending to nothing: the "
    "paper finds that changing it hardly changes the output.",
    "Attention shows where a head looks, not what the model uses. A pattern is a reason to test further, not an "
    "explanation.",
    "The best of hundreds of heads flatters itself. Quote the held-out accuracy, for which the head is chosen on one "
    "half of the corpus and scored on the other.",
    "Examples are few. How often a head is right stands in the tables, not in a sentence.",
)


class PageAtlas(SurveyedAtlas, Protocol):
    """What the page needs of an atlas."""

    @property
    def examples(self) -> Sequence[Example]: ...


def page_content(atlas: PageAtlas) -> dict[str, Any]:
    """Everything but the examples, as JSON can carry it."""
    manifest = atlas.manifest
    model = manifest["model"]
    heads = heads_in_layers(model)
    distances = "head_distances"
    return model_content(model) | {
        "views": views_of(atlas.tables),
        "lead": f"{heads} ({model['class']}), on {'; '.join(corpora_read(manifest))}.",
        "words_from": words_from(manifest),
        "findings": [*unknown_warnings(manifest), *findings(atlas.tables)],
        "caveats": [*CAVEATS, *caveats_of(atlas.tables)],
        "notes": [
            f"Seed {manifest['settings']['seed']}. Tables with all digits are in the folder tables.",
            *(f"Not run: {study}: {reason}" for study, reason in manifest["studies_skipped"].items()),
            *(f"Left out: {what}" for what in left_out(manifest)),
        ],
        "tables": {name: packed_table(name, atlas.tables[name]) for name in atlas.tables},
        "nearest": nearest_heads(atlas.tables[distances]) if distances in atlas.tables else {},
        "comparisons": [_view(view) for view in comparisons(atlas)],
    }


def words_from(manifest: Mapping[str, Any]) -> FromTokens:
    """Return how a survey derived the attention from a word from the attention of its tokens."""
    return "first" if manifest["settings"].get("as_published") else "mean"


def model_content(model: Mapping[str, Any]) -> dict[str, Any]:
    """A page that knows the model's heads and nothing of them; model: as a manifest tells of it."""
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


def _view(view: View) -> dict[str, Any]:
    return {
        "title": list(view.title),
        "columns": [vars(column) for column in view.columns],
        "cells": [list(row) for row in view.cells],
        "notes": list(view.notes),
    }
