"""Runs of all text studies over a few segments, and whether two of them agree."""

from __future__ import annotations

import pandas as pd

from headatlas.encoding.kinds import kind_table
from headatlas.engine.run import run_studies
from random_maps import TEXT_STUDIES, table_of

TEXTS = (
    "the old man saw a little dog, and the dog ran.\tshe sat by the river.",
    "she sat by the river.\tit was night, and they had water.",
    "they have not been there, but the child was in the big red house.\tthe cat ate.",
    "a dog.\ta cat.",
    "the first look.\tthe tree by the house was old, red and big.",
)


def run(model, segments, names=tuple(TEXT_STUDIES), **options):
    """The tables of some studies, all unless told."""
    studies = {name: TEXT_STUDIES[name]() for name in names}
    options = {"batch_tokens": 40, "kinds": kind_table(model.tokenizer)} | options
    run_studies(model, segments, studies, **options)
    return {name: table_of(study) for name, study in studies.items()}


def same(left, right, rtol=1e-12):
    for name, table in left.items():
        pd.testing.assert_frame_equal(table, right[name], rtol=rtol, atol=1e-14)
