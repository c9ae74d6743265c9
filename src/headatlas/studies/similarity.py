"""Which heads are alike? The Jensen-Shannon divergence of their rows, for all pairs of heads (section 6, figure 6).

Two ways to make one number of a segment's tokens, kept in one state: their sum, as in the paper, where long segments
weigh more; and their mean, between 0 and log 2. Either is then averaged over segments. A token from which one of two
heads attends to nothing (all its mass goes to a learned sink) does not count for that pair: the mean is over the other
tokens, and the sum is that mean times the segment's length. A segment without any token that counts is left out.

What follows from the distances, a map of the heads, clusters and a test of layers, is in `studies.head_map`.

Pairs lie across layers, so all maps of a batch are kept until it ends (`studies.kept_rows`). Of a very long segment
only as many rows as fit in memory are compared, and the table `similarity` says what share they are of all rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.spatial.distance import squareform
from torch import Tensor

from headatlas.encoding.batches import Batch
from headatlas.models.stacks import HeadShape
from headatlas.progress import moved
from headatlas.statistics.divergence import divergence_sums
from headatlas.statistics.kernels.threads import one_thread
from headatlas.statistics.resampling import poisson_weights
from headatlas.studies.findings import UNTRAINED, Finding, name_layers
from headatlas.studies.kept_rows import KeepRows, KeptRows, most_pairs, rows_compared
from headatlas.studies.labels import Tables
from headatlas.studies.reductions import Reduction
from headatlas.studies.state import State
from headatlas.studies.study import Frames, LayerMap, Setup, Study, refuse_non_finite
from headatlas.tables import CONTROL, ONE_HEAD, Key, Table, Value, control, head_of, p_value
from headatlas.wording import counted, ordinal

SIMILARITY_SMOOTHING = 0.001  # of the paper's released code: a becomes 0.999 a + 0.001 / n
DISTANCE_SETTINGS = ("as_published",)
ANOTHER_UNIT = "it is the value in another unit"
HEAD_DISTANCES = Table(
    "head_distances",
    "How differently do two heads attend, for every pair? (Jensen-Shannon divergence)",
    (
        *head_of("a", "one head, from 1"),
        *head_of("b", "the other head, which comes after the first"),
        Value("value", "Jensen-Shannon divergence of their rows: sum over a segment's tokens, then the mean", "nats"),
        Value("per_token", "the same, but the mean over tokens: 0 to log 2", "nats", why_not=ANOTHER_UNIT),
        Value("count", "segments in the mean: those with a token from which both heads attend to something", "count"),
    ),
    section="6",
    same="heads",
    settings=DISTANCE_SETTINGS,
)
HEAD_MAP = Table(
    "head_map",
    "Where do their distances place the heads in the plane, and in which cluster?",
    (
        *ONE_HEAD,
        Value("x", "place in the plane, by multidimensional scaling; empty where a distance is missing"),
        Value("y", "the other coordinate"),
        Value("cluster", "cluster of the head, from 1, by average linkage; 0 if it has no place", "place"),
    ),
    section="6, figure 6",
    why_not="places in the plane and cluster numbers mean nothing outside their own map",
)
LAYER_DISTANCES = Table(
    "layer_distances",
    "Which layers have similar heads? With a permutation test.",
    (
        Key("layer_a", "one layer, from 1", "int64"),
        Key("layer_b", "the same layer, or one after it", "int64"),
        Value("value", "mean distance of their pairs of heads, as in head_distances", "nats"),
        Value("count", "pairs of heads", "count"),
        p_value("permutation test of the null that heads drawn from all layers are as close"),
        p_value("the same, adjusted for the number of pairs of layers", "p_adjusted"),
    ),
    section="6",
    same="layers",
    settings=DISTANCE_SETTINGS,
)

SIMILARITY = Table(
    "similarity",
    "How far can the map and the clusters be trusted, and do layers matter?",
    (
        Key(
            "measure",
            "stress (Kruskal's stress-1) and disparity (Procrustes', median from other starts) of the map; number "
            "of clusters and their silhouette; cloud_silhouette: the mean of as many clusters of points from one "
            "normal distribution of the same spread; p_clusters: how often theirs is as large; heads_tested: the heads "
            "that both take, a random 512 of more; within_layers, between_layers: mean distance of heads of one layer, "
            "of two; p_layers: permutation test of their difference; heads_left_out: heads without a place; "
            "share_of_rows: compared, where segments are too long for all",
            not_compared=(
                *("clusters", "cloud_silhouette", "p_clusters", "heads_tested", "p_layers", "heads_left_out"),
                "share_of_rows",
            ),
            why_not="they are settings, p-values and counts",
        ),
        Key("distance", "js: the value of head_distances; sqrt_js: its root, a metric"),
        Value("value", "the measure"),
        control("number"),
    ),
    section="6",
    settings=DISTANCE_SETTINGS,
)
CLUSTERS = 8  # to make of the heads
LIKELY_CHANCE = 0.05  # a test with at least this p value is not evidence
CLEAR_SILHOUETTE = 0.25  # below, clusters are not clear (Kaufman and Rousseeuw 1990: "no substantial structure")


def pair_means(rows: Tensor, *shapes: HeadShape, smoothing: float = 0.0) -> tuple[NDArray[Any], NDArray[Any]]:
    """The mean divergence of each pair over the rows where both heads have mass, and whether there is any. [H, H]

    rows: [Q, H, K], of the heads of all shapes; ModelError if one is not finite.
    """
    sums, mass = divergence_sums(rows, smoothing)
    moved()
    with one_thread():
        present = (mass > 0).to(sums.dtype)  # [H, Q]
        tokens = present @ present.T
        counted = tokens > 0
        means = sums.div_(tokens.clamp_min_(1))
        of_heads = mass.sum(1).cpu().double().numpy()
    for shape in shapes:
        for layer, masses in enumerate(np.split(of_heads[: shape.total], np.cumsum(shape.heads)[:-1])):
            refuse_non_finite(layer, masses[:, None])
        of_heads = of_heads[shape.total :]
    return means.cpu().double().numpy(), counted.cpu().numpy()


class Similarity(Study):
    """How differently all pairs of heads attend, where that puts them in the plane, and which are alike."""

    name = "similarity"
    tables = (HEAD_DISTANCES, HEAD_MAP, LAYER_DISTANCES, SIMILARITY)
    takes_control = True

    summed = State("pairs")  # in the order of the table
    averaged = State("pairs")
    count = State("pairs", dtype=np.int32)
    drawn_value = State("replicates", "layers", "layers")
    drawn_count = State("replicates", "layers", "layers")
    rows = State(2)  # compared, and all

    _smoothing = 0.0  # s makes (1 - s) a + s / n of a
    _map_distance = "sqrt_js"  # what the map in the plane keeps

    def configure(self, setup: Setup) -> None:
        super().configure(setup)
        self._smoothing = SIMILARITY_SMOOTHING if setup.definitions == "code" else 0.0
        self._map_distance = "sqrt_js" if setup.definitions == "ours" else "js"

    def sizes(self, shape: HeadShape) -> dict[str, int]:
        return super().sizes(shape) | {"pairs": shape.total * (shape.total - 1) // 2}

    def start(self, shape: HeadShape) -> None:
        super().start(shape)
        self._heads = shape.places
        self._above = np.triu(np.ones((shape.total, shape.total), dtype=np.bool_), 1)  # the diagonal: each pair once
        self._layer_of = np.eye(shape.layers)[[layer for layer, _ in self._heads]]  # [H, L]
        self._kept = KeptRows(shape.total)

    def reductions(self) -> list[Reduction]:
        return [KeepRows(self._kept, self.shape)]

    def batch_pairs(self) -> int:
        """As many as let the maps stay within what may be kept."""
        return most_pairs(len(self._heads))

    def see(self, layer: int, layer_map: LayerMap) -> None:
        """Keep the rows to be compared of every segment, without padding, until the batch ends."""
        layer_map.of(KeepRows(self._kept, self.shape), layer)

    def end_batch(self, batch: Batch) -> None:
        """Compare all heads and add to the sums, a segment at a time: the pairs of 5,120 heads take 200 MB."""
        weights = poisson_weights(self.units(batch), self.replicate_count, self.seed).astype(np.float64)  # [B, R]
        for rows, segment, drawn in zip(self._kept.take(), batch.segments, weights, strict=True):
            means, counts = pair_means(rows, self.shape, smoothing=self._smoothing)
            self._add(len(segment), drawn, means, counts)

    def frames(self) -> Frames:
        """Distances of heads and of layers, the map of heads, and what the map and the test are worth."""
        tables = self._map_tables()
        untrained = None if self.control is None else self.control._map_tables()["similarity"]["value"]
        tables["similarity"][CONTROL] = np.nan if untrained is None else untrained
        return {"head_distances": self._pairs(), **tables}

    def _map_tables(self) -> Frames:
        from headatlas.studies.head_map import map_tables  # imports scipy's clusters and numba, which is slow

        derived = map_tables(self.distances(), np.array(self._heads), CLUSTERS, self._map_distance, self.seed)
        compared, rows = self.rows
        share = pd.DataFrame([("share_of_rows", "js", compared / rows)], columns=derived["similarity"].columns)
        derived["similarity"] = pd.concat([derived["similarity"], share], ignore_index=True)
        return derived

    def _pairs(self) -> pd.DataFrame:
        """Each pair of heads once, in the order of the heads."""
        heads = np.array(self._heads) + 1  # [H, 2]
        a, b = np.triu_indices(len(heads), 1)
        columns = {"layer_a": heads[a, 0], "head_a": heads[a, 1], "layer_b": heads[b, 0], "head_b": heads[b, 1]}
        with np.errstate(invalid="ignore"):
            values = {"value": self.summed / self.count, "per_token": self.averaged / self.count}
        return pd.DataFrame(columns | values | {"count": self.count.astype(np.int64)}, copy=False)

    def distances(self, *, per_token: bool = False) -> NDArray[np.float64]:
        """The divergence of every pair, summed or averaged over tokens, [H, H]; NaN where no segment counts."""
        with np.errstate(invalid="ignore"):
            of_pairs = (self.averaged if per_token else self.summed) / self.count
        return np.asarray(squareform(of_pairs)) if len(of_pairs) else np.zeros((1, 1))

    def replicates(self) -> dict[str, NDArray[np.float64]]:
        """Bootstrap values of the distances of layers, [R, rows]. Those of all pairs of heads would be too many."""
        a, b = np.triu_indices(self.shape.layers)
        with np.errstate(invalid="ignore", divide="ignore"):
            return {"layer_distances": (self.drawn_value / self.drawn_count)[:, a, b]}

    def _add(
        self, length: int, drawn: NDArray[np.float64], means: NDArray[np.float64], counts: NDArray[np.bool_]
    ) -> None:
        """Add a segment's mean divergences [H, H], where they count, to the sums. drawn: in each replicate, [R]."""
        of_pairs = means[self._above]
        self.summed += length * of_pairs
        self.averaged += of_pairs
        self.count += counts[self._above]
        self.rows += [len(rows_compared(length, len(self._heads))), length]
        once = (counts & self._above).astype(np.float64)
        for total, added, times in ((self.drawn_value, means, length), (self.drawn_count, once, 1)):
            by_layer = times * (self._layer_of.T @ added @ self._layer_of)  # [L, L]
            total += drawn[:, None, None] * by_layer

    @classmethod
    def findings(cls, tables: Tables) -> Iterator[Finding]:
        measures = tables["similarity"].drop_duplicates("measure", keep="last").set_index("measure")
        layers = tables["layer_distances"]
        if not math.isnan(_value(measures, "p_layers")):
            yield _closeness(measures, layers[layers["layer_a"] == layers["layer_b"]])
        if not math.isnan(_value(measures, "p_clusters")):
            yield _clusters(measures, len(tables["head_map"]) if "head_map" in tables else 0)
        yield from _similar_layers(layers[layers["layer_a"] < layers["layer_b"]].dropna(subset="value"))


def _value(measures: pd.DataFrame, name: str, column: str = "value") -> float:
    return float(measures[column].get(name, math.nan))


def _of_control(measures: pd.DataFrame, test: str) -> list[str]:
    """The p-value of the untrained network, if it was run, and whether that network would pass the test too."""
    p_value = _value(measures, test, CONTROL)
    if math.isnan(p_value):
        return []
    too = ", so training does not explain it" if p_value < LIKELY_CHANCE else ""
    return [f"{UNTRAINED} p = {p_value:.3f}{too}"]


def _closeness(measures: pd.DataFrame, layers: pd.DataFrame) -> Finding:
    """Whether heads of one layer are closer to each other, and in how many layers."""
    within, between, p_value = (_value(measures, name) for name in ("within_layers", "between_layers", "p_layers"))
    chance = within >= between or p_value >= LIKELY_CHANCE
    single = layers[layers["p_adjusted"] < LIKELY_CHANCE]["layer_a"]
    return Finding(
        f"{'There is no evidence that heads' if chance else 'Heads'} of one layer are closer to each other than to "
        f"heads of other layers: mean distance {within:.3g} within layers, {between:.3g} between",
        within,
        unit="nats",
        evidence=(
            f"p = {p_value:.3f}",
            f"taken singly, {len(single)} of {counted(len(layers), 'layer')} with adjusted p < {LIKELY_CHANCE}"
            + (f": {name_layers(single)}" if len(single) else ""),
            *_of_control(measures, "p_layers"),
        ),
    )


def _clusters(measures: pd.DataFrame, heads: int) -> Finding:
    """Whether the heads fall into clusters, and whether these are clear."""
    tested = _value(measures, "heads_tested")
    sampled = tested + _value(measures, "heads_left_out") < heads
    sample = f" (tested on {tested:.0f} heads, sampled at random)" if sampled else ""
    number, silhouette, without, p_value = (
        _value(measures, name) for name in ("clusters", "silhouette", "cloud_silhouette", "p_clusters")
    )
    if p_value >= LIKELY_CHANCE:
        verdict = "There is no evidence that the heads fall into clusters"
    elif silhouette < CLEAR_SILHOUETTE:
        verdict = "The heads fall into clusters, but not clearly"
    else:
        verdict = "The heads fall into clear clusters"
    return Finding(
        f"{verdict}: {number:.0f} clusters have a silhouette of {silhouette:.2f}",
        silhouette,
        baselines={"points of the same spread without clusters": without},
        unit="number",
        evidence=(f"p = {p_value:.3f}{sample}", *_of_control(measures, "p_clusters")),
    )


def _similar_layers(pairs: pd.DataFrame) -> Iterator[Finding]:
    """Which two layers are the most similar, if chance does not explain it, and where the first and the last rank."""
    if len(pairs) < 2:
        return
    ranked = pairs.sort_values("value", ignore_index=True)
    top = ranked.iloc[0]
    if top["p_adjusted"] < LIKELY_CHANCE:
        yield Finding(
            f"Layers {top['layer_a']:.0f} and {top['layer_b']:.0f} are the most similar pair of layers, mean distance "
            f"of their heads {top['value']:.3g}",
            top["value"],
            baselines={"mean of all pairs": float(np.average(ranked["value"], weights=ranked["count"]))},
            unit="nats",
            evidence=(f"adjusted p = {top['p_adjusted']:.3f}",),
        )
    ends = ranked[(ranked["layer_a"] == ranked["layer_a"].min()) & (ranked["layer_b"] == ranked["layer_b"].max())]
    for rank, row in ends.iterrows():
        yield Finding(
            f"The first and last layers rank {ordinal(int(str(rank)) + 1)} of {len(ranked)} pairs of layers by "
            "similarity",
            evidence=(f"adjusted p = {row['p_adjusted']:.3f}",),
        )
