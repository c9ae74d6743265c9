"""Two random halves of the documents of one corpus, compared as `headatlas compare` does: how many numbers differ?

The model sees every document once. A study's sums of the documents add up to those of a half, so that any number of
halvings costs one pass. The corpora are the embedded samples, or those that two environment variables name.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headatlas.commands.compare.differences import Side, difference_table
from headatlas.corpora.sample import sample_text, sample_treebank
from headatlas.encoding.segments import Segment, document_of
from headatlas.engine.corpora import KINDS, Corpus, Reading
from headatlas.engine.run import run_studies
from headatlas.models.loading import load_model
from headatlas.models.model import Model
from headatlas.results.tables import TABLES
from headatlas.statistics.resampling import FEWEST_DOCUMENTS
from headatlas.studies import STUDIES
from headatlas.studies.study import Setup, Study, WordStudy
from headatlas.views.words.comparison import SIGNIFICANT, significant

FILES = {"text": "HEADATLAS_TEXT", "treebank": "HEADATLAS_TREEBANK"}  # environment variables with paths
SAMPLES = {"text": sample_text, "treebank": sample_treebank}
STUDIED = ("positions", "token_kinds", "entropy", "max_attention", "similarity", "dependencies")
REPLICATES = 400
Studies = dict[str, Study]


def halving_rows(halvings: int, segments: int, sentences: int) -> Iterator[tuple[str, str, float, float, int]]:
    """What, setting, stated, measured and comparisons, of each table and scope."""
    model = load_model("embedded", device="cpu")
    for kind, variable in FILES.items():
        path = Path(os.environ.get(variable) or SAMPLES[kind]())
        reading = Reading(max_tokens=128, segments=segments, sentences=sentences)
        corpus = KINDS[kind]().read([path], model.tokenizer, reading)
        documents = len({document_of(segment) for segment in corpus.segments})
        if documents < 2 * FEWEST_DOCUMENTS:
            continue
        found: dict[tuple[str, str, str], list[tuple[float, bool]]] = defaultdict(list)
        for table in _differences(model, kind, corpus, halvings):
            for key, rows in table.dropna(subset="p_adjusted").groupby(["table", "column", "scope"], sort=False):
                outside = float(((rows["low"] > 0) | (rows["high"] < 0)).mean())
                found[str(key[0]), str(key[1]), str(key[2])].append((outside, len(significant(rows)) > 0))
        setting = f"{path.name}, {len(corpus.segments)} {KINDS[kind].unit}s, halves of {documents // 2} documents"
        for (table_name, column, scope), shares in found.items():
            of = f"{table_name} ({scope})" if column == TABLES[table_name].measures[0].name else f"{column} ({scope})"
            outside, named = np.mean(shares, axis=0)
            yield f"`compare`, interval: {of}", setting, 0.95, 1 - outside, len(shares)
            yield f"`compare`, any significant: {of}", setting, SIGNIFICANT, named, len(shares)


def _differences(model: Model, kind: str, corpus: Corpus, halvings: int) -> Iterator[pd.DataFrame]:
    """Compare the two halves of each halving."""
    about = corpus.about | {"resampled_by": "document"}
    setup = Setup(bootstrap=REPLICATES, least_count=60, corpus=about)
    blank = {name: STUDIES[name]() for name in STUDIED if STUDIES[name].corpus == kind}
    shape = model.shapes[model.default_stack]
    for study in blank.values():
        study.configure(setup)
        if isinstance(study, WordStudy):
            study.permutations = 1  # no p-value of a single atlas is compared
        study.start(shape)
    by_document: dict[str, list[Segment]] = defaultdict(list)
    for segment in corpus.segments:
        by_document[document_of(segment)].append(segment)
    rng = np.random.default_rng(0)
    sides = [rng.permutation(len(by_document)) % 2 for _ in range(halvings)]
    halves: list[tuple[Studies, Studies]] = [(deepcopy(blank), deepcopy(blank)) for _ in sides]
    for place, segments in enumerate(by_document.values()):
        seen = deepcopy(blank)
        run_studies(model, segments, seen, kinds=model.kinds, batch_tokens=4096)
        for side, half in zip(sides, halves, strict=True):
            for name, study in seen.items():
                half[side[place]][name].merge(study)
    for side, half in zip(sides, halves, strict=True):
        parts = [
            [one for place, some in enumerate(by_document.values()) if side[place] == number for one in some]
            for number in (0, 1)
        ]
        units = [Corpus(part, {}).about["resampled_equal"] for part in parts]
        a, b = (_side(studies, kind, of_side, shape.heads) for studies, of_side in zip(half, units, strict=True))
        yield difference_table(a, b, {name: False for name in a.tables if TABLES[name].measures})


def _side(studies: Studies, kind: str, units: float, heads: tuple[int, ...]) -> Side:
    tables: dict[str, pd.DataFrame] = {}
    replicates: dict[str, NDArray[np.float64]] = {}
    for study in studies.values():
        tables |= study.frames()
        replicates |= study.replicates()
    compared = {name: frame for name, frame in tables.items() if not TABLES[name].why_not}
    return Side(compared, replicates, heads, {kind: units})
