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
about a root at the beginning. Where the treebank has parts of speech, `tag_rules` sets a higher bar.

Special tokens are no candidates. The accuracy with them admitted is given beside (the paper's footnote 3): a word whose
largest weight goes to a special token, or comes from one, then has no right prediction. See `resting` for how much
attention goes there. Possessors with a clitic are also scored apart, from the clitic and from the noun itself.

Intervals and tests resample documents, or sentences where documents are few; see `statistics.scores` for what they
mean. `p_corrected` holds for all rows of the table of best heads together.
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
from headatlas.statistics.resampling import fold_of, permutation_p_value, step_down
from headatlas.statistics.scores import Scores
from headatlas.statistics.words import WordIndex, predictions, segments_of, word_index
from headatlas.studies import dependency_findings
from headatlas.studies.dependency_findings import CLITIC, NOUN
from headatlas.studies.dependency_findings import READINGS as READINGS
from headatlas.studies.dependency_tables import DEPENDENCIES, DEPENDENCY_BEST, DEPENDENCY_LENGTHS, lead_over
from headatlas.studies.findings import Finding
from headatlas.studies.labels import Label, Tables
from headatlas.studies.link_lengths import SIZE, describe_lengths
from headatlas.studies.reductions import Words
from headatlas.studies.resting import RESTING, Resting
from headatlas.studies.state import State
from headatlas.studies.study import Frames, LayerMap, Setup, WordStudy, join_layers
from headatlas.studies.tag_rules import TagRules

DIRECTIONS = ("dependent_to_head", "head_to_dependent")
OFFSETS = (*range(-5, 0), *range(1, 6))
_NOWHERE = -2  # neither a word nor ROOT


@dataclass(frozen=True)
class Instances:
    """The words of a batch, N of them in reading order, with the heads that are to be predicted."""

    segment: NDArray[np.int64]  # [N], row of the batch
    predictor: NDArray[np.int64]  # [N], the word whose prediction counts
    head: NDArray[np.int64]  # [N], the true head, or ROOT
    relation: NDArray[np.int64]  # [N]
    size: NDArray[np.int64]  # [N], words of the sentence
    word: NDArray[np.int64]  # [N], the word itself


def instances_of(segments: Sequence[ParsedSegment]) -> Instances:
    """Every word of every sentence."""
    sizes = np.array([segment.size for segment in segments], dtype=np.int64)
    return Instances(
        np.repeat(np.arange(len(segments)), sizes),
        np.concatenate([segment.counts_as for segment in segments]).astype(np.int64),
        np.concatenate([segment.heads for segment in segments]).astype(np.int64),
        np.concatenate([segment.relations for segment in segments]).astype(np.int64),
        np.repeat(sizes, sizes),
        np.concatenate([np.arange(size) for size in sizes]),
    )


def add_possessors(words: Instances, relations: int) -> Instances:
    """Behind the words, those for which another word's prediction counts, twice: with its prediction, and their own.

    Their relations have the two numbers behind the roots'.
    """
    rows = np.flatnonzero((words.predictor != words.word) & (words.head != ROOT))
    twice = np.concatenate([np.arange(len(words.word)), rows, rows])
    longer = {name: values[twice] for name, values in vars(words).items()}
    if len(rows):
        longer["predictor"][-len(rows) :] = words.word[rows]
        longer["relation"][-2 * len(rows) :] = np.repeat([relations + 1, relations + 2], len(rows))
    return Instances(**longer)


def categories_of(words: Instances, relations: int) -> NDArray[np.int64]:
    """The relation of each word, or for roots the number behind the relations: [N]."""
    return np.where(words.head == ROOT, relations, words.relation)


def heads_right(maps: Tensor, index: WordIndex, words: Instances) -> tuple[Tensor, Tensor]:
    """Whether each head is right about each word, in both directions; and so with special tokens as candidates.

    maps: [B, H, W, W]. Returns two of [N, H, 2] bool.
    """
    device = maps.device
    segment, predictor = (torch.from_numpy(part).to(device) for part in (words.segment, words.predictor))
    true = torch.from_numpy(np.where(words.head == ROOT, _NOWHERE, words.head)).to(device)
    both = predictions(maps, index.has_tokens)  # [B, H, W] each
    right = torch.stack([by[segment, :, predictor] for by in both], -1) == true[:, None, None]
    if not index.special:
        return right, right
    outdone = [
        weights[..., index.words :].amax(-1) > weights.gather(-1, by.clamp_min(0).long()[..., None])[..., 0]
        for weights, by in zip((maps, maps.transpose(-1, -2)), both, strict=True)
    ]
    return right, right & ~torch.stack([by[segment, :, predictor] for by in outdone], -1)


def offsets_right(words: Instances) -> NDArray[np.bool_]:
    """Whether the word at each of OFFSETS is the true head: [N, 10]."""
    predicted = words.predictor[:, None] + np.array(OFFSETS)
    return np.asarray(predicted.clip(ROOT, words.size[:, None] - 1) == words.head[:, None])


class Dependencies(WordStudy):
    """How often each head finds the heads of words, by relation, beside fixed offsets.

    relations, classes (parts of speech): those of the sample, in its order. least_count: relations with fewer words are
    left out of the best heads.
    """

    name = "dependencies"
    tables = (DEPENDENCIES, DEPENDENCY_BEST, DEPENDENCY_LENGTHS, RESTING)
    corpus = "treebank"
    takes_control = True

    with_special = State("categories", "candidates", dtype=np.int64)
    lengths = State("categories", SIZE, dtype=np.int64)

    _punctuation = frozenset({"punct"})  # left out of all_but_root_punct and, as in the paper, of the best heads
    _folds_by = "document"  # what the halves for the held-out choice are made of; or of sentences: few documents

    def __init__(
        self, relations: Sequence[str] = (), classes: Sequence[str] = (), *, least_count: int = 100, **settings: Any
    ) -> None:
        super().__init__(**settings)
        self._relations, self._classes, self._least_count = tuple(relations), tuple(classes), least_count

    def configure(self, setup: Setup) -> None:
        super().configure(setup)
        self._relations = tuple(setup.corpus["relations"])
        self._classes = tuple(setup.corpus.get("word_classes", ()))
        self._punctuation = frozenset(punctuation_of(setup.corpus["label_set"]))
        self._least_count, self._folds_by = setup.least_count, setup.corpus["halved_by"]

    def sizes(self, shape: HeadShape) -> dict[str, int]:
        further = 3  # roots, possessors from the clitic, possessors from the noun
        return super().sizes(shape) | {
            "categories": len(self._relations) + further,
            "candidates": shape.total * len(DIRECTIONS),
        }

    def start(self, shape: HeadShape) -> None:
        super().start(shape)
        self._candidates = [(*head, direction) for head in shape.numbered for direction in DIRECTIONS]
        categories = len(self.with_special)
        tallies = self.start_tallies([self.name], len(self._candidates), len(OFFSETS), categories)
        self._tally = tallies[self.name]
        self._tags = self.keep("tags", TagRules(self._classes, categories, len(OFFSETS)))
        self._resting = self.keep("resting", Resting(self._relations, self._classes, shape.numbered))
        self._words: tuple[WordIndex, Instances] | None = None
        self._right: dict[int, tuple[Tensor, Tensor]] = {}
        self._to_special: dict[int, Tensor] = {}

    def see(self, layer: int, layer_map: LayerMap) -> None:
        """Keep what the layer's heads say about which words, on their device, until the batch ends."""
        if self._words is None:
            words = instances_of(segments_of(layer_map.batch, ParsedSegment))
            self._words = layer_map.batch.once(word_index), add_possessors(words, len(self._relations))
        index, words = self._words[0].to(layer_map.device), self._words[1]
        maps = self.check_later(layer, layer_map.of(Words(self.how)))
        with one_thread():
            right, with_special = heads_right(maps, index, words)
            self._right[layer] = right.flatten(1), with_special.flatten(1)  # [N, H * 2]
            segment, word = (torch.from_numpy(part).to(maps.device) for part in (words.segment, words.word))
            self._to_special[layer] = maps[..., index.words :].sum(-1)[segment, :, word]  # [N, H]

    def end_batch(self, batch: Batch) -> None:
        """Add the batch's words to the sums."""
        self.refuse_damaged()
        if self._words is None:
            return
        segments, units = segments_of(batch, ParsedSegment), self.units(batch)
        index, words = self._words
        category = categories_of(words, len(self._relations))
        by_document = self._folds_by == "document"
        documents = [segment.document if by_document else segment.id for segment in segments]
        baselines = offsets_right(words)
        with one_thread():
            right, with_special = (
                join_layers({layer: both[which] for layer, both in self._right.items()}) for which in (0, 1)
            )
            counts = torch.zeros(self.with_special.shape, dtype=torch.int32, device=right.device)
            counts.index_add_(0, torch.from_numpy(category).to(right.device), with_special.int())
            to_special = join_layers(self._to_special)
        self.with_special += counts.cpu().numpy()
        self._tally.add(right, torch.from_numpy(baselines), category, words.segment, units, documents)
        size = sum(segment.size for segment in segments)  # words without the possessors that come twice
        folds = [fold_of(document, self.seed) for document in documents]
        self._tags.add(segments, category[:size], folds, baselines[:size])
        has_tokens = index.has_tokens.cpu().numpy()[words.segment[:size], words.word[:size]]
        self._resting.add(to_special[:size], segments, has_tokens, units)
        linked = np.flatnonzero(words.head[:size] != ROOT)
        lengths = np.abs(words.head - words.word)[linked].clip(max=SIZE - 1)
        np.add.at(self.lengths, (category[linked], lengths), 1)
        self._words = None
        self._right.clear()
        self._to_special.clear()

    def frames(self) -> Frames:
        """Every head's accuracy, the best head of each relation, how long links are, and where heads rest."""
        every, best = self._judge()
        columns = {"control": "accuracy", "control_p": "p_corrected"}
        control = self.control._judge()[1] if self.control else best.iloc[:0]
        for column, source in columns.items():
            best[column] = best["relation"].map(control.set_index("relation")[source]).astype(float)
        return {
            "dependencies": every,
            "dependency_best": best,
            "dependency_lengths": self.link_lengths(),
            "resting": self._resting.frame(self.control._resting if self.control else None),
        }

    def _judge(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The accuracy of every head and direction for each relation; the best for each, `all` first, then by count."""
        heads = pd.DataFrame(self._candidates, columns=["layer", "head", "direction"])
        frames: list[pd.DataFrame] = []
        rows: list[tuple[object, ...]] = []
        tests: list[tuple[float, NDArray[np.float64]]] = []
        for relation, numbers, scores in self._scored():
            with_special = self._with_special(numbers, scores)
            frames.append(heads.assign(relation=relation, **scores.table(), with_special=with_special))
            if self._has_best(relation, scores.count):
                tests.append(scores.lead_test())
                rows.append((relation, *self._best_row(relation, numbers, scores), permutation_p_value(*tests[-1])))
        corrected = step_down([observed for observed, _ in tests], [largest for _, largest in tests])
        named = [name for name in DEPENDENCY_BEST.names if not name.startswith("control")]
        best = pd.DataFrame([(*row, p) for row, p in zip(rows, corrected, strict=True)], columns=named)
        every = pd.concat(frames, ignore_index=True)[DEPENDENCIES.names] if frames else DEPENDENCIES.from_rows([])
        return every, best

    def link_lengths(self) -> pd.DataFrame:
        """How far the words of each relation are from their heads."""
        rows = [
            {"relation": relation, **describe_lengths(self.lengths[numbers].sum(0))}
            for relation, numbers in self._relations_seen()
            if relation != "all"  # as long as all_but_root: a root has no head
        ]
        return DEPENDENCY_LENGTHS.from_rows(rows)

    def replicates(self) -> dict[str, NDArray[np.float64]]:
        """Bootstrap accuracies of the rows of both tables, [R, rows]; NaN where a relation was not drawn.

        And of the best head's lead over the best fixed offset, see `lead_over`.
        """
        every, best, leads = [], [], []
        for relation, _, scores in self._scored():
            every.append(scores.drawn)
            if self._has_best(relation, scores.count):
                accuracy = scores.drawn_of(scores.best)
                best.append(accuracy)
                leads.append(lead_over(scores.baselines_drawn[:, [scores.best_baseline]], accuracy))
        by_table = {self.name: every, "dependency_best": best, "dependency_best/lead": leads}
        return {name: np.concatenate(columns, axis=1) for name, columns in by_table.items() if columns}

    def _has_best(self, relation: str, count: int) -> bool:
        """Whether a relation stands in the table of the best heads."""
        if relation in (CLITIC, NOUN):
            return False
        return relation in READINGS or (count >= self._least_count and relation not in self._punctuation)

    def _best_row(self, relation: str, numbers: Sequence[int], scores: Scores) -> tuple[object, ...]:
        counts = scores.folds[:, -1]
        if relation in READINGS:
            rule = self._tags.by_own_class(numbers, counts)
        else:
            rule = self._tags.nearest(numbers[0], counts)
        return (
            scores.count,
            *self._candidates[scores.best],
            scores.accuracy(scores.right[scores.best]),
            *scores.interval(scores.best),
            float(self._with_special(numbers, scores)[scores.best]),
            scores.held_out(),
            scores.accuracy(scores.baselines_right[scores.best_baseline]),
            OFFSETS[scores.best_baseline],
            *(ends[scores.best_baseline] for ends in scores.baseline_intervals),
            scores.baseline_held_out(),
            rule.name,
            rule.accuracy,
        )

    def _with_special(self, numbers: Sequence[int], scores: Scores) -> NDArray[np.float64]:
        """The accuracy of every candidate with special tokens admitted."""
        return np.asarray(self.with_special[list(numbers)].sum(0) / scores.count)

    def _scored(self) -> Iterator[tuple[str, list[int], Scores]]:
        """Relations with their categories and scores, made one at a time: each may take 100 MB."""
        for name, numbers in [*self._relations_seen(), *self._possessors()]:
            yield name, numbers, self._tally.scores(numbers)

    def _relations_seen(self) -> list[tuple[str, list[int]]]:
        """The readings of *all*, then the relations, the most frequent first; those that do not occur are left out."""
        relations = range(len(self._relations))
        not_punctuation = [number for number in relations if self._relations[number] not in self._punctuation]
        readings = ([*relations, len(relations)], list(relations), not_punctuation)
        counts = self._tally.counts()
        by_count = sorted(relations, key=lambda number: (-counts[number], self._relations[number]))
        single = [(self._relations[number], [number]) for number in by_count]
        named = [*zip(READINGS, readings, strict=True), *single]
        return [(name, numbers) for name, numbers in named if sum(counts[number] for number in numbers)]

    def _possessors(self) -> list[tuple[str, list[int]]]:
        """Possessors with a clitic, by the clitic's prediction and by their own."""
        counts = self._tally.counts()
        numbered = enumerate((CLITIC, NOUN), start=len(self._relations) + 1)
        return [(name, [number]) for number, name in numbered if counts[number]]

    @classmethod
    def labels(cls, tables: Tables) -> Iterator[Label]:
        return dependency_findings.labels(tables)

    @classmethod
    def findings(cls, tables: Tables) -> Iterator[Finding | str]:
        return dependency_findings.findings(tables)
