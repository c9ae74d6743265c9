"""One probe with one seed, from training to its rows of the tables: the part of a run that is saved and resumed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from headatlas.commands.probe.options import ON_ATTENTION, UNTRAINED, ProbeOptions
from headatlas.commands.shared.training import NetworkWeights
from headatlas.corpora.treebanks.label_sets import LabelSet
from headatlas.probes.attachment import Attachment, Predicted, attach, bootstrap_weights, predict, share_interval
from headatlas.probes.attention import AttentionParser, AttentionProbe, AttentionWordsProbe, Parser, head_use
from headatlas.probes.baselines import DistanceProbe, branching
from headatlas.probes.batches import Sentences
from headatlas.probes.controls import control_heads
from headatlas.probes.description_length import description_length
from headatlas.probes.structural import StructuralProbe, structural_scores
from headatlas.probes.training import Fitted, fit, hold_out
from headatlas.results.folder import Rows
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
    """The rows that a job adds to the tables `probes`, `probe_relations` and `probe_weights`."""

    probes: Rows
    probe_relations: Rows
    probe_weights: Rows


@dataclass(frozen=True)
class Data:
    """Sentences to train on and to score on."""

    train: Sentences
    eval: Sentences
    labels: LabelSet


def jobs_of(options: ProbeOptions, probes: Sequence[str], weights: NetworkWeights) -> list[Job]:
    """List every job over the maps of one network."""
    reads = (*ON_ATTENTION, "structural")
    seeds = [options.seed + number for number in range(options.seeds)]
    return [
        Job(probe, weights if probe in reads else None, seed)
        for probe in probes
        for seed in ([None] if probe in UNTRAINED else seeds)
    ]


def run_job(job: Job, data: Data, options: ProbeOptions, tick: Callable[[], None]) -> Record:
    """Train and score a probe. tick: called after every batch."""
    if job.seed is None:  # nothing to train
        way: Literal["right", "left"] = "right" if job.probe == "right_branching" else "left"
        chains = [branching(int(size), way) for size in data.eval.sizes]
        predicted = Predicted(chains, chains, np.zeros(len(chains)))
        return _parser_record(job, _attached(predicted, data), options, {}, [])
    if job.probe == "structural":
        return _structural(job, job.seed, data, options, tick)
    return _parser(job, job.seed, data, options, tick)


def _parser(job: Job, seed: int, data: Data, options: ProbeOptions, tick: Callable[[], None]) -> Record:
    make = _maker(job.probe, data)
    train, held_out = hold_out(len(data.train), seed)
    places = range(len(data.eval))
    parser, fitted = fit(make, data.train, train, held_out, options.training, seed, tick=tick)
    attachment = _attached(predict(parser, data.eval, places, tick=tick), data)
    measures: dict[str, Any] = {"epochs": fitted.epochs, "held_out_loss": float(fitted.held_out[0])}
    if options.control_task:
        learned = control_heads(data.train.words, seed)
        asked = control_heads(data.eval.words, seed)
        control, _ = fit(make, data.train, train, held_out, options.training, seed, answers=learned, tick=tick)
        guessed = predict(control, data.eval, places, heads=asked, trees=False, tick=tick)
        measures["control_uas"] = attach(guessed, data.eval, places, data.labels.punct, asked).scores()["uas"]
        measures["selectivity"] = attachment.scores()["uas"] - measures["control_uas"]
    if options.mdl and seed == options.seed:
        code = description_length(make, data.train, options.training, seed, tick=tick)
        measures |= {"mdl_bits": code.bits, "uniform_bits": code.uniform_bits}
    weights = _weight_rows(job, parser, data) if isinstance(parser, AttentionParser) else []
    return _parser_record(job, attachment, options, measures, weights)


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


def _parser_record(
    job: Job, attachment: Attachment, options: ProbeOptions, measures: dict[str, Any], weights: Rows
) -> Record:
    low, high = attachment.interval(options.bootstrap, options.seed)
    count = int((~attachment.punct).sum())
    row = {**vars(job), **attachment.scores(), **measures, "count": count, "low": low, "high": high}
    relations = [{**vars(job), **row} for row in attachment.by_relation(options.bootstrap, options.seed)]
    return Record([row], relations, weights)


def _weight_rows(job: Job, parser: AttentionParser, data: Data) -> Rows:
    use = head_use(parser, data.eval, range(len(data.eval)))
    return [
        {
            **vars(job),
            "layer": layer + 1,
            "head": head + 1,
            "direction": direction,
            "weight": float(use.weight[way, number]),
            "contribution": float(use.contribution[way, number]),
        }
        for number, (layer, head) in enumerate(data.eval.store.shape.places)
        for way, direction in enumerate(DIRECTIONS)
    ]


def _structural(job: Job, seed: int, data: Data, options: ProbeOptions, tick: Callable[[], None]) -> Record:
    index = data.train.store.index
    train, held_out = hold_out(len(data.train), seed)
    size = (index.shape.layers + 1, index.states, min(options.rank, index.states))
    probe, fitted = fit(lambda: StructuralProbe(*size), data.train, train, held_out, options.training, seed, tick=tick)
    return Record(_structural_rows(job, probe, fitted, data, options), [], [])


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
                    "held_out_loss": float(fitted.held_out[layer + (kind == "depth") * probe.layers]),
                }
            )
    return rows
