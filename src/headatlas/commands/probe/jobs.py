"""One probe with one seed, from training to its rows of the tables: the part of a run that is saved and resumed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from headatlas.choices import NetworkWeights
from headatlas.commands.probe.options import ON_NETWORK, UNTRAINED, ProbeOptions
from headatlas.corpora.treebanks.label_sets import LabelSet
from headatlas.probes.arcs import FEWEST_ARCS, Arcs, RelationHead, read_arcs, relation_heads
from headatlas.probes.attachment import Attachment, Predicted, attach, bootstrap_weights, predict, share_interval
from headatlas.probes.attention import AttentionParser, AttentionProbe, AttentionWordsProbe, Parser
from headatlas.probes.baselines import DistanceProbe, adjacent_edges, branching
from headatlas.probes.batches import Sentences
from headatlas.probes.controls import DRAWS, constant_scores, control_heads, mean_constant_score
from headatlas.probes.description_length import description_length
from headatlas.probes.structural import StructuralProbe, structural_scores
from headatlas.probes.training import Fitted, fit, hold_out
from headatlas.results.folder import Rows
from headatlas.statistics.layer_measures import Spread, over_texts, student
from headatlas.statistics.resampling import bootstrap_units
from headatlas.studies.dependencies import DIRECTIONS


@dataclass(frozen=True)
class Job:
    """A probe, whose weights it reads, and a seed."""

    probe: str
    weights: NetworkWeights | None  # of the network whose attention or states it reads; None if it reads neither
    seed: int | None

    @property
    def name(self) -> str:
        """Its name in files and messages."""
        return "-".join(str(part) for part in (self.probe, self.weights, self.seed) if part is not None)


@dataclass(frozen=True)
class Record:
    """The rows that a job adds to each table."""

    probes: Rows
    probe_relations: Rows = field(default_factory=list)
    probe_weights: Rows = field(default_factory=list)
    probe_relation_weights: Rows = field(default_factory=list)
    probe_relation_heads: Rows = field(default_factory=list)
    probe_pairs: Rows = field(default_factory=list)


@dataclass(frozen=True)
class Data:
    """Sentences to train on and to score on."""

    train: Sentences
    eval: Sentences
    labels: LabelSet


def jobs_of(options: ProbeOptions, probes: Sequence[str], weights: NetworkWeights) -> list[Job]:
    """List every job over the maps of one network."""

    seeds = [options.seed + number for number in range(options.seeds)]
    return [
        Job(probe, weights if probe in ON_NETWORK else None, seed)
        for probe in probes
        for seed in ([None] if probe in UNTRAINED else seeds)
    ]


def run_job(job: Job, data: Data, options: ProbeOptions, tick: Callable[[], None]) -> Record:
    """Train and score a probe. tick: called after every batch."""
    if job.probe == "adjacent_words":
        return _adjacent(job, data, options)
    if job.seed is None:  # nothing to train
        way: Literal["right", "left"] = "right" if job.probe == "right_branching" else "left"
        chains = [branching(int(size), way) for size in data.eval.sizes]
        predicted = Predicted(chains, chains, np.zeros(len(chains)))
        return _parser_record(job, _attached(predicted, data), options, {})
    if job.probe == "structural":
        return _structural(job, job.seed, data, options, tick)
    return _parser(job, job.seed, data, options, tick)


def _parser(job: Job, seed: int, data: Data, options: ProbeOptions, tick: Callable[[], None]) -> Record:
    make = _maker(job.probe, data)
    train, held_out = hold_out(len(data.train), seed)
    places = range(len(data.eval))
    parser, fitted = fit(make, data.train, train, held_out, options.training, seed, tick=tick)
    attachment = _attached(predict(parser, data.eval, places, tick=tick), data)
    measures: dict[str, Any] = {"epochs": fitted.epochs, "at_limit": fitted.at_limit}
    measures["held_out_loss"] = float(fitted.held_out[0])
    if options.control_task:
        measures |= _selectivity(make, seed, attachment, data, options, tick)
    if options.mdl and seed == options.seed:
        code = description_length(make, data.train, options.training, seed, tick=tick)
        measures |= {"mdl_bits": code.bits, "uniform_bits": code.uniform_bits}
    record = _parser_record(job, attachment, options, measures)
    if not isinstance(parser, AttentionParser):
        return record
    return replace(record, **use_rows(vars(job), parser, data.eval, options))


def _selectivity(
    make: Callable[[], Parser],
    seed: int,
    attachment: Attachment,
    data: Data,
    options: ProbeOptions,
    tick: Callable[[], None],
) -> dict[str, float]:
    """Train on several control tasks and take their mean, corrected by their constant answers, from the task's UAS."""
    train, held_out = hold_out(len(data.train), seed)
    places = range(len(data.eval))
    draws = [seed * DRAWS + number for number in range(DRAWS)]
    right = []
    for draw in draws:
        learned, asked = (control_heads(part.words, draw) for part in (data.train, data.eval))
        control, _ = fit(make, data.train, train, held_out, options.training, seed, answers=learned, tick=tick)
        guessed = predict(control, data.eval, places, heads=asked, trees=False, tick=tick)
        right.append(attach(guessed, data.eval, places, data.labels.punct, asked).right)
    parts = (data.train.words, data.eval.words)
    constant = constant_scores(*parts, draws)
    scores = np.mean(right, axis=1) - constant + mean_constant_score(*parts, options.seed)
    ahead = np.bincount(attachment.sentence, attachment.right - np.mean(right, axis=0), len(attachment.ids))
    weights = bootstrap_weights(attachment.ids, options.bootstrap, options.seed)
    total = data.eval.sizes @ weights
    redrawn = (ahead @ weights)[total > 0] / total[total > 0]
    selectivity = float(attachment.right.mean() - scores.mean())
    of_draws = Spread(np.asarray(scores.var(ddof=1) / DRAWS), DRAWS - 1)
    low, high, _ = student(selectivity, of_draws, over_texts(redrawn, len(set(bootstrap_units(attachment.ids)))))
    values = {"control_uas": float(scores.mean()), "control_constant": float(constant.mean())}
    return values | {"selectivity": selectivity, "selectivity_low": float(low), "selectivity_high": float(high)}


def _maker(probe: str, data: Data) -> Callable[[], Parser]:
    heads, vectors = data.train.store.shape.total, data.train.vectors
    table = torch.from_numpy(vectors.table) if vectors is not None else torch.empty(0, 0)
    makers: dict[str, Callable[[], Parser]] = {
        "attention": lambda: AttentionProbe(heads),
        "attention_words": lambda: AttentionWordsProbe(heads, table),
        "distances": lambda: DistanceProbe(None),
        "distances_words": lambda: DistanceProbe(table),
    }
    return makers[probe]


def _attached(predicted: Predicted, data: Data) -> Attachment:
    return attach(predicted, data.eval, range(len(data.eval)), data.labels.punct)


def _parser_record(job: Job, attachment: Attachment, options: ProbeOptions, measures: dict[str, Any]) -> Record:
    low, high = attachment.interval(options.bootstrap, options.seed)
    count = int((~attachment.punct).sum())
    row = {**vars(job), **attachment.scores(), **measures, "count": count, "low": low, "high": high}
    relations = [{**vars(job), **row} for row in attachment.by_relation(options.bootstrap, options.seed)]
    return Record([row], relations)


def _adjacent(job: Job, data: Data, options: ProbeOptions) -> Record:
    """The undirected tree that links every word with the next, beside which the structural probe stands."""
    found = [
        adjacent_edges(heads, ~np.isin(example.relations or (), sorted(data.labels.punct)))
        for heads, example in zip(data.eval.heads, data.eval.examples, strict=True)
    ]
    right, count = np.array(found, dtype=np.float64).T
    weights = bootstrap_weights([example.id for example in data.eval.examples], options.bootstrap, options.seed)
    low, high = share_interval(right, count, weights)
    share = float(right.sum() / count.sum()) if count.sum() else float("nan")
    return Record([{**vars(job), "uuas": share, "count": int(count.sum()), "low": low, "high": high}])


def _structural(job: Job, seed: int, data: Data, options: ProbeOptions, tick: Callable[[], None]) -> Record:
    index = data.train.store.index
    train, held_out = hold_out(len(data.train), seed)
    size = (index.shape.layers + 1, index.states, min(options.rank, index.states))
    probe, fitted = fit(lambda: StructuralProbe(*size), data.train, train, held_out, options.training, seed, tick=tick)
    return Record(_structural_rows(job, probe, fitted, data, options))


def _structural_rows(job: Job, probe: StructuralProbe, fitted: Fitted, data: Data, options: ProbeOptions) -> Rows:
    """A row for the distance probe and one for the depth probe of each layer."""
    scores = structural_scores(probe, data.eval, range(len(data.eval)), data.labels.punct)
    units = np.ones(len(scores.ids))
    weights = bootstrap_weights(scores.ids, options.bootstrap, options.seed)
    rows = []
    for layer in range(probe.layers):
        for kind, right, count, spearman in (
            ("distance", scores.edges_right[:, layer], scores.edges, scores.distance_spearman[layer]),
            ("depth", scores.root_right[:, layer], units, scores.depth_spearman[layer]),
        ):
            low, high = share_interval(right, count, weights)
            share = float(right.sum() / count.sum()) if count.sum() else float("nan")
            rows.append(
                {
                    **vars(job),
                    "probe": f"structural_{kind}",
                    "layer": layer,
                    "uuas" if kind == "distance" else "root_accuracy": share,
                    "spearman": float(spearman),
                    "count": int(count.sum()),
                    "low": low,
                    "high": high,
                    "epochs": fitted.epochs,
                    "at_limit": fitted.at_limit,
                    "held_out_loss": float(fitted.held_out[layer + (kind == "depth") * probe.layers]),
                }
            )
    return rows


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
