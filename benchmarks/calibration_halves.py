"""Two random halves of the documents of one corpus, compared as `headatlas compare` does: how many numbers differ?

The model sees every document once; the sums of the documents add up to those of a half. Means over segments are added
up here, so that hundreds of halvings cost little; the sums of other studies are merged as shards are. The corpora are
the embedded samples, or those that two environment variables name (several divided as in PATH).

What one half has, the other lacks, so halves are not independent samples. Their difference nevertheless varies as if
they were. Of 2n documents of variance V, the mean of n that are drawn without replacement has the variance V / n times
1 - n / 2n. The mean of the others is as far from that of all, on the other side. So the difference is twice the
deviation, and has the variance 4 V / 2n = 2 V / n, as that of two independent means of n documents each.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.calibration_row import Row
from headatlas.commands.compare.differences import Side, difference_table
from headatlas.corpora.sample import sample_text, sample_treebank
from headatlas.encoding.segments import Segment, document_of
from headatlas.engine.corpora import KINDS, Corpus, Reading
from headatlas.engine.run import run_studies
from headatlas.models.loading import load_model
from headatlas.models.model import Model
from headatlas.results.tables import TABLES
from headatlas.statistics.resampling import FEWEST_DOCUMENTS, poisson_weights
from headatlas.studies import STUDIES
from headatlas.studies.segment_means import SegmentMeans
from headatlas.studies.study import Setup, Study, WordStudy
from headatlas.views.words.comparison import SIGNIFICANT, significant

FILES = {"text": "HEADATLAS_TEXT", "treebank": "HEADATLAS_TREEBANK"}  # environment variables with paths
SAMPLES = {"text": sample_text, "treebank": sample_treebank}
MEANS = ("positions", "token_kinds", "entropy", "max_attention")
MERGED = ("similarity", "dependencies")
REPLICATES = 500
REPLICATES_MERGED = 400  # all halves are held in memory
Documents = list[list[Segment]]
Floats = NDArray[np.float64]
Studies = dict[str, Study]


def halving_rows(halvings: int, merged_halvings: int, segments: int, sentences: int) -> Iterator[Row]:
    """Rows of each table and scope."""
    model = load_model("embedded", device="cpu")
    for kind, variable in FILES.items():
        for path in map(Path, (os.environ.get(variable) or str(SAMPLES[kind]())).split(os.pathsep)):
            reading = Reading(max_tokens=128, segments=segments, sentences=sentences)
            corpus = KINDS[kind]().read([path], model.tokenizer, reading)
            by_document: dict[str, list[Segment]] = defaultdict(list)
            for segment in corpus.segments:
                by_document[document_of(segment)].append(segment)
            if len(by_document) < 2 * FEWEST_DOCUMENTS:
                continue
            of = f"{len(corpus.segments)} {KINDS[kind].unit}s, halves of {len(by_document) // 2} documents"
            documents = list(by_document.values())
            if kind == "text":
                yield from _rows(f"{path.name}, {of}", mean_differences(model, corpus, documents, halvings))
            yield from _rows(f"{path.name}, {of}", merged_differences(model, corpus, documents, kind, merged_halvings))


def _rows(setting: str, tables: Iterable[pd.DataFrame]) -> Iterator[Row]:
    found: dict[tuple[str, str, str], list[tuple[float, bool]]] = defaultdict(list)
    for table in tables:
        for key, rows in table.dropna(subset="p_adjusted").groupby(["table", "column", "scope"], sort=False):
            outside = float(((rows["low"] > 0) | (rows["high"] < 0)).mean())
            found[str(key[0]), str(key[1]), str(key[2])].append((outside, len(significant(rows)) > 0))
    for (table_name, column, scope), shares in found.items():
        of = f"{table_name} ({scope})" if column == TABLES[table_name].measures[0].name else f"{column} ({scope})"
        outside, named = np.mean(shares, axis=0)
        yield Row(f"`compare`, interval: {of}", setting, 0.95, 1 - outside, len(shares))
        yield Row(f"`compare`, any significant: {of}", setting, SIGNIFICANT, named, len(shares))


def mean_differences(model: Model, corpus: Corpus, documents: Documents, halvings: int) -> Iterator[pd.DataFrame]:
    """Compare two halves of the documents in each halving, by means over segments.

    A document is one unit of the bootstrap, so its sum in a replicate is its weight times its sum.
    """
    blank = _start(model, corpus, MEANS, "text", replicates=2)
    seen = [_observe(model, blank, segments) for segments in documents]
    units = [document_of(segments[0]) for segments in documents]
    weights = poisson_weights(units, REPLICATES, 0).T.astype(np.float64)  # [R, D]
    frames, sums, counts = {}, {}, {}
    for name in MEANS:
        of_documents = [cast("SegmentMeans", studies[name]) for studies in seen]
        frames[name] = of_documents[0].frames()[name]
        sums[name] = np.stack([study.in_rows(study.total) for study in of_documents])  # [D, rows]
        counts[name] = np.stack([np.tile(study.count, study.shape.total) for study in of_documents])

    def side_of(half: NDArray[np.bool_]) -> Side:
        tables, replicates = {}, {}
        for name, frame in frames.items():
            total, count = sums[name][half], counts[name][half]
            values = {TABLES[name].measures[0].name: total.sum(0) / count.sum(0), "count": count.sum(0).astype(int)}
            tables[name] = frame.assign(**values)
            with np.errstate(invalid="ignore"):  # no document that counts was drawn
                replicates[name] = weights[:, half] @ total / (weights[:, half] @ count)
        return _side(model, tables, replicates, "text", documents, half)

    for second in _halvings(len(documents), halvings):
        yield difference_table(side_of(~second), side_of(second), dict.fromkeys(MEANS, False))


def merged_differences(
    model: Model, corpus: Corpus, documents: Documents, kind: str, halvings: int
) -> Iterator[pd.DataFrame]:
    """Compare two halves of the documents in each halving, by the studies whose sums are merged."""
    blank = _start(model, corpus, MERGED, kind, replicates=REPLICATES_MERGED)
    drawn = list(_halvings(len(documents), halvings))
    halves: list[tuple[Studies, Studies]] = [(deepcopy(blank), deepcopy(blank)) for _ in drawn]
    for place, segments in enumerate(documents):
        seen = _observe(model, blank, segments)
        for second, half in zip(drawn, halves, strict=True):
            for name, study in seen.items():
                half[int(second[place])][name].merge(study)
    for second, half in zip(drawn, halves, strict=True):
        sides = []
        for studies, chosen in zip(half, (~second, second), strict=True):
            tables: dict[str, pd.DataFrame] = {}
            replicates: dict[str, Floats] = {}
            for study in studies.values():
                tables |= study.frames()
                replicates |= study.replicates()
            compared = {name: frame for name, frame in tables.items() if not TABLES[name].why_not}
            sides.append(_side(model, compared, replicates, kind, documents, chosen))
        a, b = sides
        yield difference_table(a, b, {name: False for name in a.tables if TABLES[name].measures})


def _halvings(documents: int, halvings: int) -> Iterator[NDArray[np.bool_]]:
    """Which documents the second half has."""
    rng = np.random.default_rng(0)
    for _ in range(halvings):
        yield rng.permutation(documents) % 2 == 1


def _start(model: Model, corpus: Corpus, names: Sequence[str], kind: str, replicates: int) -> Studies:
    setup = Setup(bootstrap=replicates, least_count=60, corpus=corpus.about | {"resampled_by": "document"})
    blank = {name: STUDIES[name]() for name in names if STUDIES[name].corpus == kind}
    for study in blank.values():
        study.configure(setup)
        if isinstance(study, WordStudy):
            study.permutations = 1  # no p-value of a single atlas is compared
        study.start(model.shapes[model.default_stack])
    return blank


def _observe(model: Model, blank: Studies, segments: Sequence[Segment]) -> Studies:
    seen = deepcopy(blank)
    run_studies(model, segments, seen, kinds=model.kinds, batch_tokens=4096)
    return seen


def _side(
    model: Model,
    tables: dict[str, pd.DataFrame],
    replicates: dict[str, Floats],
    kind: str,
    documents: Documents,
    half: NDArray[np.bool_],
) -> Side:
    segments = [segment for document, chosen in zip(documents, half, strict=True) if chosen for segment in document]
    units = {kind: Corpus(segments, {}).about["resampled_equal"]}
    return Side(tables, replicates, model.shapes[model.default_stack].heads, units)
