"""Which head finds the heads of words? Each head as a classifier of dependency relations (section 4.2, table 1).

For every word, does the head's prediction (see `statistics.words`), in either direction, name the word's true
head? Counted for each relation over all words that have it, and for three readings of *all*:

- ``all``: every word, as in the paper's table. The root of a sentence can never be found; punctuation counts.
- ``all_but_root``: words that have a head.
- ``all_but_root_punct``: the same without punctuation.

A root is a word without a head, whatever its label. Where a sentence names another word whose prediction counts (the
clitic in *the dog 's bone*, for *dog*), that holds for heads of the model and for baselines alike.

Baselines predict the word at a fixed offset, -5 to -1 and 1 to 5. As in the paper's code, beyond the last word they
predict the last, and before the first word the root, so that in ``all`` a baseline of negative offset can be right
about a root at the beginning.

Intervals and tests resample sentences; see `statistics.scores` for what they mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.corpora.treebanks.label_sets import punctuation_of
from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.encoding.batches import Batch
from headatlas.encoding.word_segments import ParsedSegment
from headatlas.models.stacks import HeadShape
from headatlas.statistics.kernels.threads import one_thread
from headatlas.statistics.scores import Scores
from headatlas.statistics.words import WordIndex, predictions, segments_of, word_index
from headatlas.studies.labels import Label, Tables
from headatlas.studies.study import Frames, LayerMap, Setup, WordStudy, join_layers
from headatlas.tables import (
    ACCURACY,
    BEST_HEAD,
    HELD_OUT,
    ONE_HEAD,
    P_VALUE,
    Key,
    Table,
    Value,
    interval,
    p_value,
    records,
)
from headatlas.wording import counted, percent

DIRECTIONS = ("dependent_to_head", "head_to_dependent")
OFFSETS = (*range(-5, 0), *range(1, 6))
WORDS_OF_DIRECTION = {"dependent_to_head": "from dependent to head", "head_to_dependent": "from head to dependent"}
SIGNIFICANT = 0.01  # of tests for many relations
MOST_RELATIONS = 5
READINGS = ("all", "all_but_root", "all_but_root_punct")
_NOWHERE = -2  # neither a word nor ROOT


def lead_over(baseline: NDArray[np.float64], accuracy: NDArray[np.float64]) -> NDArray[np.float64]:
    """By how much a head is right more often than a baseline; 0 where it is not.

    A head that is worse than a fixed offset tells nothing that the offset does not, however far it stays behind. So two
    models that attend by position alone, each in its own way, have the same lead: none.
    """
    return np.maximum(accuracy - baseline, 0)


def _add_lead(best: pd.DataFrame) -> pd.DataFrame:
    """Add how far each relation's best head is above the best fixed offset."""
    return best.assign(lead=lead_over(best["baseline"].to_numpy(float), best["accuracy"].to_numpy(float)))


def _of_another(name: str, about: str) -> Value:
    """An accuracy that stands beside that of the best head."""
    return Value(name, about, "accuracy", why_not="they are not measures of the best head")


RELATION = Key(
    "relation", "the treebank's own; or all (no root found), all_but_root, all_but_root_punct (nor punctuation)"
)
DIRECTION = Key(
    "direction",
    "dependent_to_head or head_to_dependent: which of the two attends",
    labels={"dependent_to_head": "dependent → head", "head_to_dependent": "head → dependent"},
    short={"dependent_to_head": "→", "head_to_dependent": "←"},
)
DEPENDENTS = Value("count", "dependents with this relation", "count")
CORRECT = Value("correct", "dependents for which the most attended word is the right one", "count")
DEPENDENCIES = Table(
    "dependencies",
    "How often does a head find the other end of a dependency, for every relation and direction?",
    (RELATION, *ONE_HEAD, DIRECTION, CORRECT, DEPENDENTS, *ACCURACY),
    section="4.2",
    label="{relation}, {direction}",
    short="{relation} {direction}",
    card=None,
)
DEPENDENCY_BEST = Table(
    "dependency_best",
    "Which head is best for each relation, held out, beside the best fixed offset?",
    (
        RELATION,
        DEPENDENTS,
        *BEST_HEAD,
        Value(DIRECTION.name, DIRECTION.about, "text"),
        *ACCURACY,
        HELD_OUT,
        _of_another("baseline", "accuracy of always choosing the word at the best fixed offset"),
        Value("baseline_offset", "that offset from the dependent in words, -1 the word before", "place"),
        *interval("the 95 % bootstrap interval of that offset's accuracy", "baseline", "baseline_low", "baseline_high"),
        _of_another("baseline_held_out", "the same, the offset chosen on one half, scored on the other"),
        p_value(f"{P_VALUE} the baseline"),
        _of_another("control", "that of the best head of the same network with random weights; empty if not run"),
    ),
    section="4.2, table 1, figure 5",
    prepare=_add_lead,
    derived=(Value("lead", "how far the best head is above the best fixed offset, 0 where it is not", "accuracy"),),
)


@dataclass(frozen=True)
class Instances:
    """The words of a batch, N of them in reading order, with the heads that are to be predicted."""

    segment: NDArray[np.int64]  # [N], row of the batch
    predictor: NDArray[np.int64]  # [N], the word whose prediction counts
    head: NDArray[np.int64]  # [N], the true head, or ROOT
    relation: NDArray[np.int64]  # [N]
    size: NDArray[np.int64]  # [N], words of the sentence


def instances_of(segments: Sequence[ParsedSegment]) -> Instances:
    """Every word of every sentence."""
    sizes = np.array([segment.size for segment in segments], dtype=np.int64)
    return Instances(
        np.repeat(np.arange(len(segments)), sizes),
        np.concatenate([segment.counts_as for segment in segments]).astype(np.int64),
        np.concatenate([segment.heads for segment in segments]).astype(np.int64),
        np.concatenate([segment.relations for segment in segments]).astype(np.int64),
        np.repeat(sizes, sizes),
    )


def heads_right(maps: Tensor, index: WordIndex, words: Instances) -> Tensor:
    """Whether each head is right about each word, in both directions: [N, H, 2] bool. maps: [B, H, W, W]."""
    device = maps.device
    segment, predictor = (torch.from_numpy(part).to(device) for part in (words.segment, words.predictor))
    true = torch.from_numpy(np.where(words.head == ROOT, _NOWHERE, words.head)).to(device)
    both = [by[segment, :, predictor] for by in predictions(maps, index.has_tokens)]  # [N, H]
    return torch.stack(both, -1) == true[:, None, None]


def offsets_right(words: Instances) -> NDArray[np.bool_]:
    """Whether the word at each of OFFSETS is the true head: [N, 10]."""
    predicted = words.predictor[:, None] + np.array(OFFSETS)
    return np.asarray(predicted.clip(ROOT, words.size[:, None] - 1) == words.head[:, None])


class Dependencies(WordStudy):
    """How often each head finds the heads of words, by relation, beside fixed offsets.

    relations: the sample's, in its order. least_count: relations with fewer words are left out of the best heads.
    """

    name = "dependencies"
    tables = (DEPENDENCIES, DEPENDENCY_BEST)
    corpus = "treebank"
    takes_control = True

    _punctuation = frozenset({"punct"})  # left out of all_but_root_punct and, as in the paper, of the best heads
    _folds_by = "document"  # what the halves for the held-out choice are made of; or of sentences: few documents

    def __init__(self, relations: Sequence[str] = (), *, least_count: int = 100, **settings: Any) -> None:
        super().__init__(**settings)
        self._relations, self._least_count = tuple(relations), least_count

    def configure(self, setup: Setup) -> None:
        super().configure(setup)
        self._relations = tuple(setup.corpus["relations"])
        self._punctuation = frozenset(punctuation_of(setup.corpus["label_set"]))
        self._least_count, self._folds_by = setup.least_count, setup.corpus["halved_by"]

    def start(self, shape: HeadShape) -> None:
        super().start(shape)
        self._candidates = [(*head, direction) for head in shape.numbered for direction in DIRECTIONS]
        categories = len(self._relations) + 1  # the last one: roots
        tallies = self.start_tallies([self.name], len(self._candidates), len(OFFSETS), categories)
        self._tally = tallies[self.name]
        self._words: tuple[WordIndex, Instances] | None = None
        self._right: dict[int, Tensor] = {}

    def see(self, layer: int, layer_map: LayerMap) -> None:
        """Keep which heads of the layer are right about which words, on their device, until the batch ends."""
        if self._words is None:
            self._words = word_index(layer_map.batch), instances_of(segments_of(layer_map.batch, ParsedSegment))
        index, words = self._words[0].to(layer_map.weights.device), self._words[1]
        maps = self.word_maps(layer, layer_map, index)
        with one_thread():
            self._right[layer] = heads_right(maps, index, words).flatten(1)  # [N, H * 2]

    def end_batch(self, batch: Batch) -> None:
        """Add the batch's words to the sums."""
        self.refuse_damaged()
        segments = segments_of(batch, ParsedSegment)
        _, words = self._words or (None, instances_of(segments))
        with one_thread():
            right = join_layers(self._right)
        self._tally.add(
            right,
            torch.from_numpy(offsets_right(words)),
            np.where(words.head == ROOT, len(self._relations), words.relation),
            words.segment,
            self.units(batch),
            [segment.document if self._folds_by == "document" else segment.id for segment in segments],
        )
        self._words = None
        self._right.clear()

    def frames(self) -> Frames:
        """Every head's accuracy (`dependencies`), and the best head of each relation (`dependency_best`)."""
        best = self.best()
        control = self.control.best().set_index("relation")["accuracy"] if self.control else pd.Series(dtype=float)
        best["control"] = best["relation"].map(control).astype(float)
        return {"dependencies": self.every_head(), "dependency_best": best}

    def every_head(self) -> pd.DataFrame:
        """The accuracy of every head and direction, for each relation."""
        heads = pd.DataFrame(self._candidates, columns=["layer", "head", "direction"])
        frames = [heads.assign(relation=relation, **scores.table()) for relation, scores in self._scored()]
        return pd.concat(frames, ignore_index=True)[DEPENDENCIES.names] if frames else DEPENDENCIES.from_rows([])

    def best(self) -> pd.DataFrame:
        """The best head and direction of each relation, `all` first, then by count."""
        rows = [
            (relation, *self._best_row(scores))
            for relation, scores in self._scored()
            if self._has_best(relation, scores)
        ]
        return pd.DataFrame(rows, columns=[name for name in DEPENDENCY_BEST.names if name != "control"])

    def replicates(self) -> dict[str, NDArray[np.float64]]:
        """Bootstrap accuracies of the rows of both tables, [R, rows]; NaN where a relation was not drawn.

        And of the best head's lead over the best fixed offset, see `lead_over`.
        """
        every, best, leads = [], [], []
        for relation, scores in self._scored():
            every.append(scores.drawn)
            if self._has_best(relation, scores):
                accuracy = scores.drawn[:, [scores.best]]
                best.append(accuracy)
                leads.append(lead_over(scores.baselines_drawn[:, [scores.best_baseline]], accuracy))
        by_table = {self.name: every, "dependency_best": best, "dependency_best/lead": leads}
        return {name: np.concatenate(columns, axis=1) for name, columns in by_table.items() if columns}

    def _has_best(self, relation: str, scores: Scores) -> bool:
        """Whether a relation stands in the table of the best heads."""
        return relation in READINGS or (scores.count >= self._least_count and relation not in self._punctuation)

    def _best_row(self, scores: Scores) -> tuple[object, ...]:
        return (
            scores.count,
            *self._candidates[scores.best],
            scores.accuracy(scores.right[scores.best]),
            *scores.interval(scores.best),
            scores.held_out(),
            scores.accuracy(scores.baselines_right[scores.best_baseline]),
            OFFSETS[scores.best_baseline],
            *(ends[scores.best_baseline] for ends in scores.baseline_intervals),
            scores.baseline_held_out(),
            scores.p_value(),
        )

    def _scored(self) -> Iterator[tuple[str, Scores]]:
        """The readings of *all*, then the relations, the most frequent first; those that do not occur are left out."""
        relations = range(len(self._relations))
        not_punctuation = [number for number in relations if self._relations[number] not in self._punctuation]
        readings = ([*relations, len(relations)], list(relations), not_punctuation)
        counts = self._tally.counts()
        by_count = sorted(relations, key=lambda number: (-counts[number], self._relations[number]))
        single = [(self._relations[number], [number]) for number in by_count]
        for name, numbers in [*zip(READINGS, readings, strict=True), *single]:
            if sum(counts[number] for number in numbers):
                yield name, self._tally.scores(numbers)

    @classmethod
    def labels(cls, tables: Tables) -> Iterator[Label]:
        """The best head of a relation, if its held-out accuracy is above the interval of the best fixed offset."""
        table = tables["dependency_best"]
        relations = table[~table["relation"].isin(READINGS)]
        for row in records(relations[relations["held_out"] > relations["baseline_high"]]):
            evidence = (
                f"best head for {row['relation']} ({WORDS_OF_DIRECTION[row['direction']]}): right "
                f"{row['held_out']:.0%} held out, offset {row['baseline_offset']:+d} {row['baseline']:.0%} (at most "
                f"{row['baseline_high']:.0%})"
            )
            yield Label(row["layer"], row["head"], row["relation"], row["held_out"], evidence)

    @classmethod
    def findings(cls, tables: Tables) -> Iterator[str]:
        """Quotes held-out scores, since the best of many heads looks better than it is; says so if there are none."""
        table = tables["dependency_best"]
        yield _best_overall(table[table["relation"] == "all"].iloc[0])
        yield _best_by_relation(table[~table["relation"].str.startswith("all")])


def _best_overall(row: pd.Series[Any]) -> str:
    name = f"{row['layer']}-{row['head']}"
    if pd.isna(row["held_out"]):
        return (
            f"The treebank is too small to hold half of it out: the best head, {name}, finds the heads of "
            f"{percent(row['accuracy'])} of all words (best fixed offset {percent(row['baseline'])}; both chosen on "
            "the same words)."
        )
    return (
        f"No single head parses: the best one, {name}, finds the heads of {percent(row['held_out'])} of all words "
        f"(held out; best fixed offset {percent(row['baseline_held_out'])})."
    )


def _best_by_relation(relations: pd.DataFrame) -> str:
    tested = relations.dropna(subset=["held_out", "p_value"])
    if tested.empty:
        return (
            f"No relation is tested: none of {len(relations)} with enough words for a best head occurs in both halves "
            "of the treebank."
            if len(relations)
            else "No relation has enough words for a best head (see --least-count)."
        )
    better = relations[(relations["p_value"] < SIGNIFICANT) & (relations["held_out"] > relations["baseline_held_out"])]
    clearest = better.assign(lead=better["held_out"] - better["baseline_held_out"]).nlargest(MOST_RELATIONS, "lead")
    names = ", ".join(
        f"{row['relation']} {row['layer']}-{row['head']} {percent(row['held_out'])} "
        f"(offset {percent(row['baseline_held_out'])})"
        for row in records(clearest)
    )
    untested = f", {len(relations) - len(tested)} not tested" if len(tested) < len(relations) else ""
    have = "has" if len(better) == 1 else "have"
    return (
        f"{len(better)} of {counted(len(relations), 'relation')} {have} a head that beats every fixed offset "
        f"(p < {SIGNIFICANT}{untested})." + (f" Furthest ahead, held out: {names}." if names else "")
    )
