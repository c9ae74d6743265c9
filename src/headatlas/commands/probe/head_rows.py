"""Which heads an attention probe uses: rows by head, by relation and head, by relation, and by pair of words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.commands.probe.options import ProbeOptions
from headatlas.probes.arcs import FEWEST_ARCS, Arcs, RelationHead, read_arcs, relation_heads
from headatlas.probes.attention import AttentionParser, AttentionWordsProbe
from headatlas.probes.batches import Sentences
from headatlas.results.folder import Rows
from headatlas.studies.dependencies import DIRECTIONS

Key = Mapping[str, Any]


def use_rows(key: Key, parser: AttentionParser, scored: Sentences, options: ProbeOptions) -> dict[str, Rows]:
    """Rows of every table about the use of heads. key: the columns that name the probe."""
    arcs = read_arcs(parser, scored, range(len(scored)))
    places = [
        {"layer": layer + 1, "head": head + 1, "direction": direction}
        for direction in DIRECTIONS
        for layer, head in scored.store.shape.places
    ]
    every = np.full(len(arcs), True)
    rows = {"probe_weights": _means(key, arcs, every, places)}
    names, counts = np.unique(arcs.relation, return_counts=True)
    rows["probe_relation_weights"] = [
        row
        for name in names[counts >= FEWEST_ARCS].tolist()
        for row in _means({**key, "relation": name}, arcs, arcs.relation == name, places)
    ]
    rows["probe_relation_heads"] = [
        _relation_row(key, head, arcs, places) for head in relation_heads(arcs, options.bootstrap, options.seed)
    ]
    if isinstance(parser, AttentionWordsProbe) and scored.vectors is not None:
        rows["probe_pairs"] = [
            row
            for pair in options.pairs
            for row in _pair_rows(key, parser, scored.vectors.rows(pair), pair, arcs, places)
        ]
    return rows


def _means(key: Key, arcs: Arcs, here: NDArray[np.bool_], places: Rows) -> Rows:
    """Mean weight and contribution of every head over some arcs."""
    weight, contribution = (values[here].mean(0) if here.any() else values.sum(0) for values in _both(arcs))
    return [
        {**key, **place, "weight": float(weight[number]), "contribution": float(contribution[number])}
        for number, place in enumerate(places)
    ]


def _both(arcs: Arcs) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return arcs.weight, arcs.contribution


def _relation_row(key: Key, head: RelationHead, arcs: Arcs, places: Rows) -> dict[str, Any]:
    here = arcs.relation == head.relation
    accuracy = arcs.right[here].mean(0)
    return {
        **key,
        "relation": head.relation,
        **places[head.place],
        **{
            name: float(values[here, head.place].mean())
            for name, values in zip(("weight", "contribution"), _both(arcs), strict=True)
        },
        **{
            name: float(values[:, head.place].mean())
            for name, values in zip(("mean_weight", "mean_contribution"), _both(arcs), strict=True)
        },
        "p_value": head.p_value,
        "p_holm": head.p_holm,
        "accuracy": float(accuracy[head.place]),
        "offset": head.offset,
        "offset_accuracy": head.offset_accuracy,
        "lead": head.lead,
        "lead_low": head.low,
        "lead_high": head.high,
        "lead_p": head.lead_p,
        "lead_p_holm": head.lead_p_holm,
        "rank": int((accuracy > accuracy[head.place]).sum()) + 1,
        **{f"{name}_best": value for name, value in places[head.best].items()},
        "best_accuracy": float(accuracy[head.best]),
        "count": head.count,
        "named": head.named,
    }


def _pair_rows(
    key: Key, parser: AttentionWordsProbe, rows: NDArray[np.int64], pair: tuple[str, str], arcs: Arcs, places: Rows
) -> Rows:
    weights = parser.pair_coefficients(*rows.tolist()).detach().cpu().double().numpy()
    below, mean = (arcs.weight < weights).mean(0), arcs.weight.mean(0)
    return [
        {
            **key,
            "dependent": pair[0],
            "head_word": pair[1],
            **place,
            "weight": float(weights[number]),
            "mean_weight": float(mean[number]),
            "share_below": float(below[number]),
        }
        for number, place in enumerate(places)
    ]
