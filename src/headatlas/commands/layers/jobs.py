"""One task on one network, from training to its rows of the tables: the part of a run that is saved and resumed."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from headatlas.commands.layers.options import LayerOptions
from headatlas.commands.layers.replicates import interval, measures_of, replicates
from headatlas.commands.shared.training import NetworkWeights
from headatlas.corpora.spans.tasks import SpanTask
from headatlas.encoding.span_segments import SpanSegment, TokenTarget
from headatlas.probes.controls import control_answers
from headatlas.probes.description_length import online_code
from headatlas.probes.span_batches import SpanBatch, SpanTargets
from headatlas.probes.span_probes import EdgeProbe, HeadMixProbe, SpanProbe
from headatlas.probes.span_scores import SpanCounts, score_spans
from headatlas.probes.training import Fitted, fit, hold_out
from headatlas.results.folder import Rows
from headatlas.statistics.layer_measures import differentials, divergence_from_uniform

Floats = NDArray[np.float64]
_ENDS = {"centre_of_gravity": "centre", "expected_layer": "expected", "expected_clipped": "clipped"}
DIRECTIONS = ("first_to_second", "second_to_first")


@dataclass(frozen=True)
class Data:
    """The targets of a task with their texts."""

    train: SpanTargets
    eval: SpanTargets
    train_texts: Sequence[SpanSegment]
    eval_texts: Sequence[SpanSegment]


@dataclass(frozen=True)
class Record:
    """What a task adds to the tables, and its measures in every replicate."""

    layer_mix: Rows
    layer_summary: Rows
    layer_examples: Rows
    head_mix: Rows
    drawn: dict[str, dict[str, list[float]]]  # mix -> measure -> replicates


class TaskRun:
    """One task on one network: the probes of all layers and seeds, and the mix of heads if the task allows it."""

    def __init__(
        self, task: SpanTask, weights: NetworkWeights, data: Data, options: LayerOptions, tick: Callable[[], None]
    ) -> None:
        self.task, self.weights, self.data, self.options, self.tick = task, weights, data, options, tick
        self.layers = data.train.store.shape.layers + 1
        self.key = {"task": task.name, "weights": weights}

    def record(self) -> Record:
        """Train and score everything."""
        data, options = self.data, self.options
        probe, fitted = self._fit(self._edges)
        movers = Movers(0 if data.train.labels.several else options.examples, self.layers)
        counts = self._score(probe, see=movers.see)
        mixes = self._full(probe.weights.detach().cpu().double().numpy())  # [seeds, L + 1]
        mix_rows, summary, drawn = self._rows("layers", counts, mixes, fitted)
        summary |= self._controls(self._edges, counts)
        shown = mover_rows(self.task.name, movers.kept, data.eval, data.eval_texts)
        summaries, replicated, head_rows = [summary], {"layers": drawn}, []
        if self.task.links and options.heads and data.train.labels.negative is not None:
            heads, fitted = self._fit(self._head_mix)
            counts = self._score(heads)
            by_head = heads.weights.detach().cpu().double().numpy()[-1]  # [2 A]
            rows_of_heads, summary, replicated["heads"] = self._rows("heads", counts, self._by_layer(by_head), fitted)
            mix_rows += rows_of_heads
            summaries.append(summary | self._controls(self._head_mix, counts))
            head_rows = self._head_rows(by_head)
        return Record(mix_rows, summaries, shown if self.weights == "pretrained" else [], head_rows, replicated)

    def _edges(self) -> SpanProbe:
        train = self.data.train
        return EdgeProbe(
            range(self.layers),
            train.store.index.states,
            train.labels,
            spans=train.spans,
            width=self.options.width,
            seeds=self.options.all_seeds,
        )

    def _head_mix(self) -> SpanProbe:
        return HeadMixProbe(range(self.layers), self.data.train.store.shape, self.data.train.labels)

    def _fit(
        self, make: Callable[[], SpanProbe], answers: list[NDArray[np.int64]] | None = None
    ) -> tuple[SpanProbe, Fitted]:
        options = self.options
        train, held_out = hold_out(len(self.data.train), options.seed)
        return fit(
            make, self.data.train, train, held_out, options.training, options.seed, answers=answers, tick=self.tick
        )

    def _score(self, probe: SpanProbe, **further: Any) -> SpanCounts:
        return score_spans(probe, self.data.eval, range(len(self.data.eval)), tick=self.tick, **further)

    def _full(self, of_probes: Floats) -> Floats:
        """Select the probes that see all layers: [seeds, ...]."""
        return of_probes[self.layers - 1 :: self.layers]

    def _by_layer(self, by_head: Floats) -> Floats:
        """Weights of heads in both directions, summed by layer: [1, L + 1], none in layer 0."""
        layer = np.array([layer + 1 for layer, _ in self.data.train.store.shape.places])
        return np.bincount(np.tile(layer, 2), by_head, self.layers)[None].astype(np.float64)

    def _rows(
        self, mix: str, counts: SpanCounts, mixes: Floats, fitted: Fitted
    ) -> tuple[Rows, dict[str, Any], dict[str, list[float]]]:
        """Rows of `layer_mix`, the row of `layer_summary`, and the measures in every replicate."""
        options, seeds = self.options, len(mixes)
        scores = counts.micro_f1().reshape(seeds, self.layers)
        cumulative, weights = scores.mean(0), mixes.mean(0)
        cumulative_drawn, weights_drawn = replicates(counts, mixes, options.bootstrap, options.seed)
        key = self.key | {"mix": mix}
        gains = np.concatenate([[np.nan], differentials(cumulative)])
        gains_drawn = differentials(cumulative_drawn)
        rows = []
        for layer in range(self.layers):
            ends = {
                "weight": interval(weights_drawn[:, layer]),
                "": interval(cumulative_drawn[:, layer]),
                "differential": interval(gains_drawn[:, layer - 1]) if layer else (np.nan, np.nan),
            }
            values = {"layer": layer, "weight": weights[layer], "cumulative": cumulative[layer]}
            rows.append(_plain(key | values | {"differential": gains[layer]} | _ends(ends)))
        measures_drawn = measures_of(cumulative_drawn, weights_drawn)
        ends = {"": interval(cumulative_drawn[:, -1])}
        ends |= {_ENDS[name]: interval(values) for name, values in measures_drawn.items()}
        summary = key | measures_of(cumulative, weights) | _ends(ends)
        summary |= {
            "score": cumulative[-1],
            "accuracy": self._full(counts.accuracy()).mean(),
            "seed_spread": scores[:, -1].std(ddof=1) if seeds > 1 else np.nan,
            "kl": divergence_from_uniform(mixes if mix == "layers" else mixes[:, 1:]).mean(),
            "seeds": seeds,
            "epochs": fitted.epochs,
        }
        replicated = {name: values.tolist() for name, values in measures_drawn.items()}
        return rows, _plain(summary | self._sizes()), replicated

    def _sizes(self) -> dict[str, Any]:
        train, scored = self.data.train, self.data.eval
        commonest = Counter(target.labels for of_text in train.targets for target in of_text).most_common(1)[0][0]
        given = [target.labels for of_text in scored.targets for target in of_text]
        return {
            "labels": len(train.labels.names),
            "majority": sum(labels == commonest for labels in given) / len(given),
            "train_targets": int(train.counts.sum()),
            "count": len(given),
            "unseen": int(sum((~known).sum() for known in scored.known)),
        }

    def _controls(self, make: Callable[[], SpanProbe], counts: SpanCounts) -> dict[str, Any]:
        """Selectivity and description length, if asked for."""
        data, options, controls = self.data, self.options, dict[str, Any]()
        if options.control_task:
            pool = np.concatenate(data.train.answers)
            drawn = {
                part: control_answers(targets, [text.text for text in texts], pool, options.seed)
                for part, targets, texts in (
                    ("train", data.train, data.train_texts),
                    ("eval", data.eval, data.eval_texts),
                )
            }
            probe, _ = self._fit(make, drawn["train"])
            accuracy = float(self._full(self._score(probe, answers=drawn["eval"]).accuracy()).mean())
            controls["control_accuracy"] = accuracy
            controls["selectivity"] = float(self._full(counts.accuracy()).mean()) - accuracy
        if options.mdl:
            controls |= self._description_length(make)
        return controls

    def _description_length(self, make: Callable[[], SpanProbe]) -> dict[str, float]:
        train, options = self.data.train, self.options
        classes = len(train.labels.names)
        uniform = train.counts * (classes if train.labels.several else np.log2(classes))

        def cost(probe: SpanProbe, places: Sequence[int]) -> Floats:
            bits: Floats = score_spans(probe, train, places, tick=self.tick).bits.sum(1)
            return bits

        bits: Floats = online_code(make, train, uniform, cost, options.training, options.seed, tick=self.tick)
        return {"mdl_bits": float(np.mean(self._full(np.atleast_1d(bits)))), "uniform_bits": float(uniform.sum())}

    def _head_rows(self, by_head: Floats) -> Rows:
        places = self.data.train.store.shape.places
        return [
            self.key | {"layer": layer + 1, "head": head + 1, "direction": direction, "weight": float(weight)}
            for direction, weights in zip(DIRECTIONS, np.split(by_head, 2), strict=True)
            for (layer, head), weight in zip(places, weights, strict=True)
        ]


def _ends(intervals: dict[str, tuple[float, float]]) -> dict[str, float]:
    """Columns `low` and `high` of each interval, prefixed with its name."""
    return {
        f"{name}_{end}".removeprefix("_"): value
        for name, ends in intervals.items()
        for end, value in zip(("low", "high"), ends, strict=True)
    }


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """The row with plain numbers, for JSON."""
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in row.items()}


# Examples: targets whose decision moves most between layers (figure 3 of the slides). The margin of a target at a layer
# is the probability of its right label minus that of its rival, the wrong label with the largest mean probability over
# layers. Targets whose margin changes sign are kept, at most one per text, those with the largest span first.


@dataclass(frozen=True)
class Mover:
    """A target and what the probes of each layer predict for it."""

    movement: float
    place: int  # of its text
    target: int  # within the text
    label: int
    rival: int
    probabilities: NDArray[np.float64]  # [L + 1, 2], of the right label and of its rival


@dataclass
class Movers:
    """Keeps the targets that move most among all batches it sees."""

    most: int
    series: int  # probes of one seed
    kept: list[Mover] = field(default_factory=list)  # the largest movement first, of equals that seen first

    def see(self, batch: SpanBatch, log_probabilities: Tensor) -> None:
        """See a batch of single labels with their log probabilities: [P, B, C]."""
        if not self.most:
            return
        probabilities = log_probabilities.cpu().double().exp()
        mean = probabilities.view(-1, self.series, *probabilities.shape[1:]).mean(0).numpy()  # [L + 1, B, C]
        answers, known = batch.answers.cpu().numpy(), batch.known.cpu().numpy()
        first = np.searchsorted(batch.text, batch.text)  # [B], the first target of the same text
        best: dict[int, Mover] = {}
        for row in np.flatnonzero(known).tolist():
            how = moved(mean[:, row], int(answers[row]))
            if how is not None:
                movement, rival, both = how
                place = batch.places[batch.text[row]]
                if place not in best or movement > best[place].movement:
                    target = row - int(first[row])
                    best[place] = Mover(movement, place, target, int(answers[row]), rival, both)
        self.kept = heapq.nlargest(self.most, [*self.kept, *best.values()], key=lambda mover: mover.movement)


def moved(probabilities: NDArray[np.float64], label: int) -> tuple[float, int, NDArray[np.float64]] | None:
    """How far a target's margin moves, its rival, and both probabilities [L + 1, 2]; None if it keeps its sign."""
    rivals = probabilities.mean(0)
    rivals[label] = -1
    rival = int(rivals.argmax())
    margin = probabilities[:, label] - probabilities[:, rival]
    if not margin.min() < 0 < margin.max():
        return None
    return float(np.ptp(margin)), rival, probabilities[:, [label, rival]]


def mover_rows(
    task: str, movers: Sequence[Mover], targets: SpanTargets, segments: Sequence[SpanSegment]
) -> list[dict[str, Any]]:
    """Rows of the table `layer_examples`. segments: the texts of the targets."""
    return [
        {
            "task": task,
            "rank": rank,
            "id": targets.ids[mover.place],
            "text": marked(segments[mover.place].text, targets.targets[mover.place][mover.target]),
            "label": targets.labels.names[mover.label],
            "rival": targets.labels.names[mover.rival],
            "movement": mover.movement,
            "layer": layer,
            "probability": float(right),
            "rival_probability": float(wrong),
        }
        for rank, mover in enumerate(movers, start=1)
        for layer, (right, wrong) in enumerate(mover.probabilities)
    ]


def marked(words: Sequence[str], target: TokenTarget) -> str:
    """The words of a text with a target's spans in brackets: ``he smoked [1 toronto]``."""
    shown = list(words)
    for number, (start, end) in enumerate(target.words, start=1):
        shown[start] = f"[{number} {shown[start]}"
        shown[end - 1] += "]"
    return " ".join(shown)
