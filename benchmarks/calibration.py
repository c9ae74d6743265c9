"""Do the printed intervals and p-values keep what they state? Each is simulated where nothing is there to be found.

    python -m benchmarks calibration [--quick]

prints a table in Markdown, and writes it into docs/statistics.md if it ran whole: of 95 % intervals, how often they
hold the truth; of tests, how often p is at most .05 or .01 under the null. The product's own functions make every
number. Intervals must hold in at least 92 %.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.calibration_commands import command_rows
from benchmarks.calibration_halves import halving_rows
from benchmarks.calibration_paired import paired_rows
from benchmarks.calibration_row import GOAL, Row, error_rows, markdown
from benchmarks.measuring import Result, replace_measured
from headatlas.encoding.segments import Segment
from headatlas.models.stacks import HeadShape
from headatlas.statistics.drawn import Drawn
from headatlas.statistics.groups import group_distances
from headatlas.statistics.paired import bootstrap_means
from headatlas.statistics.resampling import poisson_weights
from headatlas.statistics.tally import Tally
from headatlas.studies.segment_means import SegmentMeans
from headatlas.studies.study import LayerMap
from headatlas.tables import COUNT, ONE_HEAD, VALUE_INTERVAL, Table, Value

Floats = NDArray[np.float64]
DOCUMENTED = Path(__file__).parent.parent / "docs" / "statistics.md"
DOCUMENTS = (20, 60, 200)
CORRELATIONS = (0.1, 0.25)  # of segments of one document
REPLICATES = 1000
HEADS = 72


def measure(quick: bool) -> Result:
    """Print the table; the result is the lowest coverage."""
    rows = list(calibrate(quick))
    print(markdown(rows), flush=True)
    if not quick:
        replace_measured(DOCUMENTED, markdown(rows))
    lowest = min(row.measured for row in rows if row.stated > 0.5 and not row.warned)
    failed = [f"{row.what}, {row.setting}" for row in rows if not row.holds]
    return Result("calibration", lowest, GOAL, at_least=True, also={"failed": failed}, also_holds=not failed)


def calibrate(quick: bool) -> Iterator[Row]:
    """Simulate every interval and test."""
    rng = np.random.default_rng(0)
    runs = 200 if quick else 1000
    for documents in DOCUMENTS:
        for correlation in CORRELATIONS:
            for skewed in (False, True):
                yield _means(rng, documents, correlation, skewed, runs)
    for documents in DOCUMENTS[:2]:
        for share in (0.03, 0.3, 0.97):
            for correlation in (0.0, 0.1):
                yield _accuracies(rng, documents, share, correlation, runs)
    for documents, by in ((40, "document"), (10, "document"), (40, "sentence")):
        yield from _best_heads(rng, documents, by, runs // 5)
    for paired in (True, False):
        yield from _comparisons(rng, paired, runs // 5)
    yield from _layers(rng, runs // 5)
    for documents in (20, 100):
        yield _mean_scores(rng, documents, runs)
    yield from command_rows(rng, runs)
    yield from paired_rows(20 if quick else 200)
    yield from halving_rows(10 if quick else 400, 3 if quick else 30, 120 if quick else 240, 300 if quick else 900)


def _sizes(rng: np.random.Generator, documents: int) -> NDArray[np.int64]:
    """Segments of each document: one, or a few, or many."""
    return np.asarray(rng.geometric(0.3, documents), dtype=np.int64)


class _Planted(SegmentMeans):
    """Means of values that are given in place of maps."""

    name = "planted"
    tables = (Table("planted", "", (*ONE_HEAD, Value("value", ""), *VALUE_INTERVAL, COUNT)),)

    def segment_means(self, layer_map: LayerMap) -> Tensor:
        return layer_map.weights


def _means(rng: np.random.Generator, documents: int, correlation: float, skewed: bool, runs: int) -> Row:
    """Values of segments as a survey sums them, one head a run: normal, or shares that are mostly small."""
    sizes = _sizes(rng, documents)
    document = np.repeat(np.arange(documents), sizes)
    shared = rng.normal(size=(documents, runs))[document] * correlation**0.5
    values = shared + rng.normal(size=(len(document), runs)) * (1 - correlation) ** 0.5
    truth = 0.0
    if skewed:
        values = _as_share(values)
        truth = float(_as_share(rng.normal(size=2_000_000)).mean())
    nothing: Any = np.zeros(1, np.int32)
    segments = [
        Segment(f"0.{number}.{place}", nothing, nothing, nothing)
        for number, size in enumerate(sizes)
        for place in range(size)
    ]
    batch: Any = SimpleNamespace(segments=segments, lengths=torch.ones(len(segments)))
    study = _Planted(replicates=REPLICATES)
    study.resampled_by = "document"
    study.start(HeadShape((runs,)))
    study.see(0, LayerMap(torch.from_numpy(values)[..., None], batch, None))
    study.end_batch(batch)
    table = study.means()
    held = (table["low"] <= truth) & (truth <= table["high"])
    kind = "skewed shares" if skewed else "normal values"
    setting = f"{documents} documents, correlation {correlation}, {kind}"
    return Row("survey: mean over segments", setting, 0.95, float(held.mean()), runs)


def _as_share(normal: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(3 - 1.5 * normal)))


def _accuracies(rng: np.random.Generator, documents: int, share: float, correlation: float, runs: int) -> Row:
    """Right or wrong, about five instances a document; each run is a candidate."""
    sizes = 1 + rng.poisson(4, documents)
    document = np.repeat(np.arange(documents), sizes)
    right = rng.random((len(document), runs)) < _chances(rng, documents, runs, share, correlation)[document]
    tally = Tally(runs, 1, 1, seed=0, replicates=REPLICATES, permutations=0)
    names = [f"0.{number}" for number in range(documents)]
    nobody = torch.zeros(len(document), 1, dtype=torch.bool)
    tally.add(torch.from_numpy(right), nobody, np.zeros(len(document), np.int64), document, names, names)
    low, high = tally.scores([0]).intervals
    setting = f"{documents} documents of 5 instances, accuracy {share}, correlation {correlation}"
    return Row("accuracy of a head", setting, 0.95, float(np.mean((low <= share) & (share <= high))), runs)


def _chances(rng: np.random.Generator, documents: int, columns: int, share: float, correlation: float) -> Floats:
    """How likely each column is right in each document: beta distributed, with a given correlation of instances."""
    if not correlation:
        return np.full((documents, columns), share)
    spread = 1 / correlation - 1
    return np.asarray(rng.beta(share * spread, (1 - share) * spread, size=(documents, columns)))


def _best_heads(rng: np.random.Generator, documents: int, by: str, runs: int) -> Iterator[Row]:
    """72 heads and a baseline, all equally good; which is better differs from document to document."""
    of_document, share, correlation = 6, 0.45, 0.15
    tally = Tally(HEADS, 1, runs, seed=0, replicates=REPLICATES, permutations=REPLICATES)
    for run in range(runs):
        chances = _chances(rng, documents, HEADS + 1, share, correlation).repeat(of_document, 0)
        right = torch.from_numpy(rng.random(chances.shape) < chances)
        names = [f"{run}.{number // (of_document if by == 'document' else 1)}" for number in range(len(right))]
        category = np.full(len(right), run)
        tally.add(right[:, :HEADS], right[:, HEADS:], category, np.arange(len(right)), names, names)
    scores = [tally.scores([run]) for run in range(runs)]
    p_values = np.array([score.p_value() for score in scores])
    setting = f"{HEADS} heads, {documents} documents of {of_document} sentences, correlation {correlation}"
    setting += "" if by == "document" else ", as if there were no documents"
    for row in error_rows("p of the best head", setting, p_values):
        yield replace(row, warned=by == "sentence")
    if by == "document":
        ends = np.array([score.interval(score.best) for score in scores])
        held = float(np.mean((ends[:, 0] <= share) & (share <= ends[:, 1])))
        yield Row(
            "accuracy of the best head, as if it had been named beforehand", setting, 0.95, held, runs, warned=True
        )
        above = float(np.mean([score.held_out() > share for score in scores]))
        yield Row("held-out accuracy of the best head is above the truth", setting, 0.5, above, runs)


def _comparisons(rng: np.random.Generator, paired: bool, runs: int) -> Iterator[Row]:
    """100 cells of two atlases of one truth, 30 documents each: the same ones, or others."""
    documents, cells = 30, 100
    outside, named = [], []
    for _ in range(runs):
        sizes = _sizes(rng, documents)
        common = rng.normal(size=(documents, cells))
        sides = [_drawn_side(rng, sizes if paired else _sizes(rng, documents), common * paired) for _ in range(2)]
        drawn = sides[1][1].minus(sides[0][1], paired=paired)
        low, high = drawn.interval()
        outside.append(np.mean((low > 0) | (high < 0)))
        named.append((drawn.adjusted(sides[1][0] - sides[0][0]) < 0.05).any())
    setting = f"{cells} cells, {documents} documents a side, {'paired' if paired else 'unpaired'}"
    yield Row("`compare`: interval of a difference", setting, 0.95, 1 - float(np.mean(outside)), runs)
    yield Row("`compare`: any difference significant", setting, 0.05, float(np.mean(named)), runs)


def _drawn_side(rng: np.random.Generator, sizes: NDArray[np.int64], common: Floats) -> tuple[Floats, Drawn]:
    """Means of cells with a share in common, and their bootstrap values over documents."""
    document = np.repeat(np.arange(len(sizes)), sizes)
    own = 0.5 * rng.normal(size=common.shape) + common
    values = own[document] + rng.normal(size=(len(document), common.shape[1])) + rng.normal(size=(len(document), 1))
    sums = np.zeros(common.shape)
    np.add.at(sums, document, values)
    weights = poisson_weights([f"0.{number}" for number in range(len(sizes))], REPLICATES, 0).T.astype(np.float64)
    return values.mean(0), Drawn.over(weights @ sums / (weights @ sizes)[:, None], len(sizes))


def _layers(rng: np.random.Generator, runs: int) -> Iterator[Row]:
    """Heads at random places, so that layers mean nothing."""
    layers = np.repeat(np.arange(6), 12)
    single, adjusted = [], []
    for run in range(runs):
        places = rng.normal(size=(HEADS, 8))
        distances = np.sqrt(np.square(places[:, None] - places).sum(-1))
        tested = group_distances(distances, layers, 6, seed=run, permutations=200)
        single.append(tested.p_value)
        adjusted.append(np.nanmin(tested.p_adjusted))
    setting = "72 heads of 6 layers at random places"
    yield Row("similarity: p of heads within layers", setting, 0.05, float(np.mean(np.array(single) <= 0.05)), runs)
    yield Row("similarity: any adjusted p", setting, 0.05, float(np.mean(np.array(adjusted) <= 0.05)), runs)


def _mean_scores(rng: np.random.Generator, documents: int, runs: int) -> Row:
    """Scores of documents such as F1: a third is 0, the others spread around .4."""
    scores = np.where(rng.random((documents, runs)) < 1 / 3, 0, rng.beta(4, 6, size=(documents, runs)))
    names = [str(number) for number in range(documents)]
    low, high = bootstrap_means(scores, names, seed=0, resamplings=REPLICATES)
    truth = 2 / 3 * 0.4
    held = float(np.mean((low <= truth) & (truth <= high)))
    return Row("keyphrases, ablation: mean score", f"{documents} documents, a third of them 0", 0.95, held, runs)
