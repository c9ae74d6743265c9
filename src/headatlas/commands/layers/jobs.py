"""One task on one network, from training to its rows of the tables: the part of a run that is saved and resumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.choices import NetworkWeights
from headatlas.commands.layers.examples import Movers, mover_rows
from headatlas.commands.layers.options import LayerOptions
from headatlas.corpora.spans.tasks import SpanTask
from headatlas.encoding.span_segments import SpanSegment
from headatlas.probes.controls import control_answers
from headatlas.probes.description_length import online_code
from headatlas.probes.span_batches import SpanTargets
from headatlas.probes.span_probes import EdgeProbe, HeadMixProbe, SpanProbe
from headatlas.probes.span_scores import SpanCounts, score_spans
from headatlas.probes.training import fit_updates
from headatlas.results.folder import Rows
from headatlas.statistics.layer_measures import (
    Spread,
    centre_of_gravity,
    differentials,
    divergence_from_uniform,
    expected_layer,
    over_texts,
    over_trainings,
    student,
)
from headatlas.statistics.resampling import bootstrap_units, poisson_weights

Floats = NDArray[np.float64]
Maker = Callable[[Sequence[int], Sequence[int]], SpanProbe]
"""Begins probes that see layers up to each of some last ones, a series for each seed."""

_ENDS = {"centre_of_gravity": "centre", "expected_layer": "expected", "expected_clipped": "clipped", "kl": "kl"}
DIRECTIONS = ("first_to_second", "second_to_first")


@dataclass(frozen=True)
class Data:
    """The targets of a task with their texts."""

    train: SpanTargets
    eval: SpanTargets
    train_texts: Sequence[SpanSegment]
    eval_texts: Sequence[SpanSegment]


@dataclass(frozen=True)
class Drawn:
    """A measure of a task: in every training, with every resampling of the scored texts, and with shuffled labels."""

    trainings: list[float]  # [T]
    texts: list[float]  # [R]; empty where scores play no part
    units: int  # texts or documents that were resampled
    shuffled: list[float]  # [T]; empty if only probes of all layers were trained


@dataclass(frozen=True)
class Record:
    """What a task adds to the tables, and what its measures are compared by."""

    layer_mix: Rows
    layer_summary: Rows
    layer_examples: Rows
    head_mix: Rows
    drawn: dict[str, dict[str, dict[str, Any]]]  # mix -> measure -> the fields of `Drawn`


class TaskRun:
    """One task on one network: the probes of all layers and trainings, and the mix of heads if the task allows it."""

    def __init__(
        self, task: SpanTask, weights: NetworkWeights, data: Data, options: LayerOptions, tick: Callable[[], None]
    ) -> None:
        self.task, self.weights, self.data, self.options, self.tick = task, weights, data, options, tick
        self.layers = data.train.store.shape.layers + 1
        self.key = {"task": task.name, "weights": weights}
        self.updates = options.updates_for(int(data.train.counts.sum()))

    def record(self) -> Record:
        """Train and score everything."""
        data, options = self.data, self.options
        movers = Movers(0 if data.train.labels.several else options.examples, self.layers)
        probe, counts = self._train(self._edges, range(self.layers), see=movers.see)
        mix_rows, summary, drawn = self._rows("layers", self._edges, counts, self._mixes(probe))
        shown = mover_rows(self.task.name, movers.kept, data.eval, data.eval_texts)
        summaries, compared, head_rows = [summary], {"layers": drawn}, []
        if self.task.links and options.heads and data.train.labels.negative is not None:
            heads, counts = self._train(self._head_mix, range(self.layers))
            rows_of_heads, summary, compared["heads"] = self._rows("heads", self._head_mix, counts, self._mixes(heads))
            mix_rows += rows_of_heads
            summaries.append(summary)
            head_rows = self._head_rows(self._full(heads.weights.detach().cpu().double().numpy()).mean(0))
        return Record(mix_rows, summaries, shown if self.weights == "pretrained" else [], head_rows, compared)

    def _edges(self, lasts: Sequence[int], seeds: Sequence[int]) -> SpanProbe:
        train, width = self.data.train, self.options.width
        return EdgeProbe(lasts, train.store.index.states, train.labels, spans=train.spans, width=width, seeds=seeds)

    def _head_mix(self, lasts: Sequence[int], seeds: Sequence[int]) -> SpanProbe:
        return HeadMixProbe(lasts, self.data.train.store.shape, self.data.train.labels, len(seeds))

    def _train(
        self,
        make: Maker,
        lasts: Sequence[int],
        answers: tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]] | None = None,
        **further: Any,
    ) -> tuple[SpanProbe, SpanCounts]:
        """Train probes on resampled texts and score them. answers: to learn and to score, in place of the task's."""
        train, scored, options = self.data.train, self.data.eval, self.options
        learned, asked = answers or (None, None)
        probe = fit_updates(
            lambda: make(lasts, options.all_seeds),
            train,
            self.updates,
            options.batch_targets,
            options.seed,
            answers=learned,
            weights=training_weights(train.ids, options),
            tick=self.tick,
        )
        return probe, score_spans(probe, scored, range(len(scored)), answers=asked, tick=self.tick, **further)

    def _full(self, of_probes: Floats) -> Floats:
        """Select the probes that see all layers: [T, ...]."""
        series = len(of_probes) // self.options.seeds
        return of_probes[series - 1 :: series]

    def _mixes(self, probe: SpanProbe) -> Floats:
        """The mix over layers of every training's probe that sees all of them: [T, L + 1]; of heads, their sums."""
        mixes = self._full(probe.weights.detach().cpu().double().numpy())
        if isinstance(probe, EdgeProbe):
            return mixes
        layer = np.tile([layer + 1 for layer, _ in self.data.train.store.shape.places], 2)
        return np.asarray(mixes @ (layer[:, None] == np.arange(self.layers)))

    @cached_property
    def _texts(self) -> ScoredTexts:
        return scored_texts(self.data.eval.ids, self.options)

    def _rows(
        self, mix: str, make: Maker, counts: SpanCounts, mixes: Floats
    ) -> tuple[Rows, dict[str, Any], dict[str, dict[str, Any]]]:
        """Rows of `layer_mix`, the row of `layer_summary`, and what its measures are compared by."""
        scores = counts.micro_f1().reshape(len(mixes), self.layers)
        redrawn = counts.micro_f1(self._texts.weights).reshape(*scores.shape, -1).mean(0).T  # [R, L + 1]
        key = self.key | {"mix": mix}
        weights = _estimate("weight", mixes.mean(0), over_trainings(mixes))
        gained, regained = (np.hstack([v[:, :1] * np.nan, differentials(v)]) for v in (scores, redrawn))
        cumulative = self._scored("cumulative", scores, redrawn, ends="")
        layers = (
            {"layer": np.arange(self.layers)} | weights | cumulative | self._scored("differential", gained, regained)
        )
        rows = [_plain(key | {name: values[layer] for name, values in layers.items()}) for layer in range(self.layers)]
        nonsense, missed = self._train(make, [self.layers - 1], self._shuffled)
        drawn = self._measures(mix, mixes, scores, redrawn, self._mixes(nonsense))
        summary = key | self._scored("score", scores[:, -1], redrawn[:, -1], ends="")
        for name, measured in drawn.items():
            value = measures_of(scores.mean(0), mixes.mean(0))[name] if measured.texts else np.mean(measured.trainings)
            summary |= _estimate(name, value, *spreads_of(measured), ends=_ENDS[name])
        summary |= {
            "training_spread": scores[:, -1].std(ddof=1) if len(scores) > 1 else np.nan,
            "shuffled_score": missed.micro_f1().mean(),
            "shuffled_centre": np.mean(drawn["centre_of_gravity"].shuffled),
            "shuffled_kl": np.mean(drawn["kl"].shuffled),
            "kl_p": self._localised(drawn["kl"]),
            "seeds": len(mixes),
            "updates": self.updates,
        }
        summary |= self._lead(counts) | self._sizes() | self._controls(make, counts)
        return rows, _plain(summary), {name: vars(measured) for name, measured in drawn.items()}

    def _scored(self, name: str, of_trainings: Floats, of_texts: Floats, ends: str | None = None) -> dict[str, Any]:
        """A value that depends on scores, with its interval. of_trainings: [T, ...]; of_texts: [R, ...]."""
        spreads = over_trainings(of_trainings), over_texts(of_texts, self._texts.units)
        return _estimate(name, of_trainings.mean(0), *spreads, ends=ends)

    def _measures(self, mix: str, mixes: Floats, scores: Floats, redrawn: Floats, nonsense: Floats) -> dict[str, Drawn]:
        own = measures_of(scores, mixes, mix)
        shuffled = measures_of(np.empty((len(nonsense), self.layers)) * np.nan, nonsense, mix)
        by_text = measures_of(redrawn, mixes.mean(0)[None], mix)
        on_scores = ("expected_layer", "expected_clipped")
        return {
            name: Drawn(
                own[name].tolist(),
                by_text[name].tolist() if name in on_scores else [],
                self._texts.units,
                [] if name in on_scores else shuffled[name].tolist(),
            )
            for name in own
        }

    def _localised(self, kl: Drawn) -> float:
        """Two-sided p-value that the mix is as far from equal weights as with shuffled labels."""
        own, shuffled = np.array(kl.trainings), np.array(kl.shuffled)
        return float(student(own.mean() - shuffled.mean(), over_trainings(own), over_trainings(shuffled))[2])

    @cached_property
    def _shuffled(self) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
        """Labels permuted over their places, for each training: to learn and to score."""
        seeds = self.options.all_seeds
        return shuffled_answers(self.data.train, seeds), shuffled_answers(self.data.eval, seeds)

    def _lead(self, counts: SpanCounts) -> dict[str, Any]:
        """Accuracy, beside that of always giving the commonest answer of the training targets."""
        given = Counter(target.labels for of_text in self.data.train.targets for target in of_text)
        commonest = given.most_common(1)[0][0]
        right = np.array(
            [sum(target.labels == commonest for target in of_text) for of_text in self.data.eval.targets], dtype=float
        )
        majority = right.sum() / counts.targets.sum()
        accuracy = self._full(counts.accuracy())
        weights = self._texts.weights
        with np.errstate(invalid="ignore", divide="ignore"):
            often = right @ weights / (counts.targets @ weights)
        redrawn = self._full(counts.accuracy(weights)).mean(0) - often
        values = {"accuracy": accuracy.mean(), "majority": majority}
        return values | self._scored("lead", accuracy - majority, redrawn[np.isfinite(redrawn)])

    def _sizes(self) -> dict[str, Any]:
        train, scored = self.data.train, self.data.eval
        return {
            "labels": len(train.labels.names),
            "train_targets": int(train.counts.sum()),
            "count": int(scored.counts.sum()),
            "unseen": int(sum((~known).sum() for known in scored.known)),
        }

    def _controls(self, make: Maker, counts: SpanCounts) -> dict[str, Any]:
        """Selectivity and description length, if asked for. Every training draws a control task of its own."""
        data, options, controls = self.data, self.options, dict[str, Any]()
        if options.control_task:
            pool = np.concatenate(data.train.answers)
            learned, asked = (
                [
                    np.stack(of_trainings)
                    for of_trainings in zip(
                        *(control_answers(targets, [text.text for text in texts], pool, s) for s in options.all_seeds),
                        strict=True,
                    )
                ]
                for targets, texts in ((data.train, data.train_texts), (data.eval, data.eval_texts))
            )
            _, control = self._train(make, [self.layers - 1], (learned, asked))
            own, of_control = self._full(counts.accuracy()), control.accuracy()
            weights = self._texts.weights
            redrawn = (self._full(counts.accuracy(weights)) - control.accuracy(weights)).mean(0)
            controls["control_accuracy"] = of_control.mean()
            controls |= self._scored("selectivity", own - of_control, redrawn[np.isfinite(redrawn)])
        if options.mdl:
            controls |= self._description_length(make)
        return controls

    def _description_length(self, make: Maker) -> dict[str, float]:
        train, options = self.data.train, self.options
        classes = len(train.labels.names)
        uniform = train.counts * (classes if train.labels.several else np.log2(classes))

        def cost(probe: SpanProbe, places: Sequence[int]) -> Floats:
            bits: Floats = score_spans(probe, train, places, tick=self.tick).bits.sum(1)
            return bits

        bits: Floats = online_code(
            lambda: make([self.layers - 1], options.all_seeds),
            train,
            uniform,
            cost,
            options.training,
            options.seed,
            tick=self.tick,
        )
        return {"mdl_bits": float(np.mean(bits)), "uniform_bits": float(uniform.sum())}

    def _head_rows(self, by_head: Floats) -> Rows:
        places = self.data.train.store.shape.places
        return [
            self.key | {"layer": layer + 1, "head": head + 1, "direction": direction, "weight": float(weight)}
            for direction, weights in zip(DIRECTIONS, np.split(by_head, 2), strict=True)
            for (layer, head), weight in zip(places, weights, strict=True)
        ]


def measures_of(cumulative: Floats, weights: Floats, mix: str = "layers") -> dict[str, Floats]:
    """Where the layers lie that solve a task, and how few they are, [...]; NaN if a measure does not exist.

    cumulative, weights: [..., L + 1]; layer 0 has no heads to weigh.
    """
    return {
        "centre_of_gravity": centre_of_gravity(weights),
        "expected_layer": expected_layer(cumulative),
        "expected_clipped": expected_layer(cumulative, clip=True),
        "kl": divergence_from_uniform(weights if mix == "layers" else weights[..., 1:]),
    }


def spreads_of(drawn: Drawn) -> tuple[Spread, ...]:
    """How much a measure varies over trainings and, if it depends on scores, over texts."""
    of_trainings = over_trainings(np.array(drawn.trainings, dtype=np.float64))
    if not drawn.texts:
        return (of_trainings,)
    return of_trainings, over_texts(np.array(drawn.texts, dtype=np.float64), drawn.units)


def _estimate(name: str, value: Any, *spreads: Spread, ends: str | None = None) -> dict[str, Any]:
    """A value with the ends of its interval, in columns that begin with `ends`, or else with its name."""
    low, high, _ = student(value, *spreads)
    prefix = name if ends is None else ends
    return {name: value} | {f"{prefix}_low".removeprefix("_"): low, f"{prefix}_high".removeprefix("_"): high}


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """The row with plain numbers, for JSON."""
    return {name: value.item() if isinstance(value, (np.generic, np.ndarray)) else value for name, value in row.items()}


def training_weights(ids: Sequence[str], options: LayerOptions) -> NDArray[np.float32]:
    """How often each training counts each text: [T, S]."""
    if options.seeds == 1:
        return np.ones((1, len(ids)), dtype=np.float32)
    return _drawn([f"train {unit}" for unit in bootstrap_units(ids)], options.seeds, options.seed).T.astype(np.float32)


@dataclass(frozen=True)
class ScoredTexts:
    """The bootstrap over the texts that are scored."""

    weights: Floats  # [S, R]
    units: int


def scored_texts(ids: Sequence[str], options: LayerOptions) -> ScoredTexts:
    """Resample the texts that are scored."""
    units = bootstrap_units(ids)
    return ScoredTexts(_drawn(units, options.bootstrap, options.seed).astype(np.float64), len(set(units)))


def _drawn(units: Sequence[str], replicates: int, seed: int) -> NDArray[np.uint8]:
    """Weights of texts, the same for all texts of a unit: [S, R]."""
    different = {unit: number for number, unit in enumerate(dict.fromkeys(units))}
    return poisson_weights(list(different), replicates, seed)[[different[unit] for unit in units]]


def shuffled_answers(targets: SpanTargets, seeds: Sequence[int]) -> list[NDArray[np.int64]]:
    """The answers of all targets, permuted over their places for each seed: of each text [T, n] or [T, n, C]."""
    pool = np.concatenate(targets.answers)
    permuted = np.stack([pool[np.random.default_rng([seed, 5]).permutation(len(pool))] for seed in seeds])
    return np.split(permuted, np.cumsum(targets.counts)[:-1], axis=1)
