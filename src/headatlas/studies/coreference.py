"""Does a mention attend to what it refers back to? Each head as a selector of antecedents (section 4.3, table 2).

For every mention with an antecedent before it in the segment: is the word that its head word attends to most the head
word of one of its true antecedents? The paper leaves open among which words; three answers are kept:

- ``preceding``: among the head words of mentions wholly before it, from which the baselines choose too;
- ``mentions``: among the head words of all other mentions;
- ``words``: among all other words.

A head word is never its own candidate. Where all candidates have attention exactly 0 the head is wrong. Counted by the
type of the mention, and for those *reworded*: no pronoun, at least one antecedent that is none either, and none with
the same head word, so that only a head that knows synonyms, or luck, finds them. Baselines are rules without a model
(see `coreference_baselines`). Intervals and tests resample documents. The length of a link is the distance of the two
head words; of a mention, that of the nearest antecedent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.corpora.coreference.mentions import MENTION_TYPES, Mention
from headatlas.encoding.batches import Batch
from headatlas.encoding.mention_segments import MentionSegment
from headatlas.models.stacks import HeadShape
from headatlas.statistics.kernels.threads import one_thread
from headatlas.statistics.resampling import permutation_p_value, step_down
from headatlas.statistics.scores import Scores
from headatlas.statistics.words import segments_of, word_index
from headatlas.studies import coreference_findings
from headatlas.studies.coreference_baselines import BASELINES, antecedents, choose, preceding
from headatlas.studies.coreference_findings import (
    ALL_LINKS,
    COREFERENCE,
    COREFERENCE_BASELINES,
    COREFERENCE_BEST,
    COREFERENCE_LENGTHS,
    FOUND_AMONG,
    REWORDED,
    RIVALS,
    RULES,
)
from headatlas.studies.findings import Finding
from headatlas.studies.labels import Label, Tables
from headatlas.studies.link_lengths import SIZE, describe_lengths
from headatlas.studies.reductions import Reduction, RowsAsked, WordRows, rows_of_words
from headatlas.studies.state import State
from headatlas.studies.study import Frames, LayerMap, WordStudy, join_layers

_NOT_PRONOUNS = [name for name in MENTION_TYPES if name != "pronoun"]
_CATEGORIES = [*((name, False) for name in MENTION_TYPES), *((name, True) for name in _NOT_PRONOUNS)]
"""Each type of mention, and whether its antecedents have other head words."""


@dataclass(frozen=True)
class Questions:
    """The mentions of a batch that have an antecedent, N of them."""

    segment: NDArray[np.int64]  # [N], row of the batch
    head: NDArray[np.int64]  # [N], head word of the mention
    category: NDArray[np.int64]  # [N], into _CATEGORIES
    true: NDArray[np.bool_]  # [N, W], head words of its antecedents
    candidates: dict[str, NDArray[np.bool_]]  # rule -> [N, W]
    baselines_right: NDArray[np.bool_]  # [N, baselines]


def questions_of(segments: Sequence[MentionSegment], width: int) -> Questions:
    """Every mention with an antecedent, in reading order. width: words of the longest segment, or more."""
    rows: list[tuple[int, int, int]] = []
    true: list[NDArray[np.bool_]] = []
    candidates: dict[str, list[NDArray[np.bool_]]] = {rule: [] for rule in RULES}
    right: list[list[bool]] = []
    for number, segment in enumerate(segments):
        mentions = segment.mentions
        heads = np.array([mention.head for mention in mentions], dtype=np.int64)
        chosen = [list(choose(baseline, mentions, segment.text, segment.tags)) for baseline in BASELINES]
        right += [[choice.right for choice in choices] for choices in zip(*chosen, strict=True)]
        for mention, before, same in zip(mentions, preceding(mentions), antecedents(mentions), strict=True):
            if not same:
                continue
            others_words = is_reworded(mention, [mentions[other] for other in same], segment.text)
            rows.append((number, mention.head, _CATEGORIES.index((mention.type, others_words))))
            others = np.arange(width) != mention.head
            true.append(_mask(heads[same], width) & others)
            candidates["preceding"].append(_mask(heads[before], width) & others)
            candidates["mentions"].append(_mask(heads, width) & others)
            candidates["words"].append((np.arange(width) < segment.size) & others)
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    empty = np.zeros((0, width), dtype=np.bool_)
    return Questions(
        table[:, 0],
        table[:, 1],
        table[:, 2],
        np.stack(true) if true else empty,
        {rule: np.stack(masks) if masks else empty for rule, masks in candidates.items()},
        np.array(right, dtype=np.bool_).reshape(-1, len(BASELINES)),
    )


def is_reworded(mention: Mention, antecedents: Sequence[Mention], words: Sequence[str]) -> bool:
    """Whether neither it nor all of its antecedents are pronouns, and no antecedent has its head word."""
    if mention.type == "pronoun" or all(other.type == "pronoun" for other in antecedents):
        return False
    return words[mention.head].lower() not in {words[other.head].lower() for other in antecedents}


def heads_right(rows: Tensor, candidates: Tensor, true: Tensor) -> tuple[Tensor, Tensor]:
    """Whether each head selects a true antecedent, and which word it selects: two of [N, H].

    rows: [N, H, W]; candidates, true: [N, W] bool.
    """
    largest, place = rows.masked_fill(~candidates[:, None], 0).max(-1)  # [N, H]
    return true.gather(1, place) & (largest > 0), place


def words_asked(batch: Batch) -> RowsAsked:
    """The head words of mentions with an antecedent, whose attention questions are about."""
    words = []
    for segment in segments_of(batch, MentionSegment):
        linked = zip(segment.mentions, antecedents(segment.mentions), strict=True)
        words.append({mention.head for mention, same in linked if same})
    return rows_of_words(batch, words)


class Coreference(WordStudy):
    """How often each head selects an antecedent, by type of mention and rule of candidates, beside the baselines."""

    name = "coreference"
    tables = (COREFERENCE, COREFERENCE_BEST, COREFERENCE_BASELINES, COREFERENCE_LENGTHS)
    corpus = "coreference"
    takes_control = True

    lengths = State(SIZE, dtype=np.int64)
    found_lengths = State(len(RULES), "all_heads", SIZE, dtype=np.int64)

    def start(self, shape: HeadShape) -> None:
        super().start(shape)
        self._heads = shape.numbered
        self._tallies = self.start_tallies(RULES, len(self._heads), len(BASELINES), len(_CATEGORIES))
        self._asked: Questions | None = None
        self._right: dict[int, dict[str, tuple[Tensor, Tensor]]] = {}

    def reductions(self) -> list[Reduction]:
        return [WordRows(self.how, words_asked)]  # documents have far fewer of them than words

    def see(self, layer: int, layer_map: LayerMap) -> None:
        """Keep which heads of the layer are right about which mentions, on their device, until the batch ends."""
        if self._asked is None:
            width = layer_map.batch.once(word_index).size
            self._asked = questions_of(segments_of(layer_map.batch, MentionSegment), width)
        asked, numbers = self._asked, layer_map.batch.once(words_asked).numbers
        maps = self.check_later(layer, layer_map.of(WordRows(self.how, words_asked)))
        segment, head = (torch.from_numpy(part).to(maps.device) for part in (asked.segment, asked.head))
        with one_thread():
            rows, true = maps[segment, :, numbers[segment, head]], torch.from_numpy(asked.true).to(maps.device)
            self._right[layer] = {
                rule: heads_right(rows, torch.from_numpy(mask).to(maps.device), true)
                for rule, mask in asked.candidates.items()
            }

    def end_batch(self, batch: Batch) -> None:
        """Add the batch's mentions to the sums."""
        self.refuse_damaged()
        documents = [segment.document for segment in segments_of(batch, MentionSegment)]
        if self._asked is not None and len(self._asked.head):
            asked = self._asked
            self.lengths += np.bincount(_to_nearest(asked).clip(max=SIZE - 1), minlength=SIZE)
            for number, (rule, tally) in enumerate(self._tallies.items()):
                right, place = (
                    join_layers({layer: kept[rule][which] for layer, kept in self._right.items()}) for which in (0, 1)
                )
                baselines = torch.from_numpy(asked.baselines_right)
                tally.add(right, baselines, asked.category, asked.segment, self.units(batch), documents)
                mention, head = np.nonzero(right.cpu().numpy())
                length = np.abs(place.cpu().numpy()[mention, head] - asked.head[mention])
                np.add.at(self.found_lengths[number], (head, length.clip(max=SIZE - 1)), 1)
        self._asked = None
        self._right.clear()

    def frames(self) -> Frames:
        """Every head, the best, the rules without a model, and the lengths of links."""
        every, best = self._judge()
        control = self.control._judge()[1] if self.control else best.iloc[:0]
        keys = ["mention_type", "candidates"]
        columns = control.set_index(keys)[["accuracy", "p_corrected"]].astype(float)
        columns.columns = ["control", "control_p"]
        return {
            "coreference": every,
            "coreference_best": best.join(columns, on=keys)[COREFERENCE_BEST.names],
            "coreference_baselines": self.baselines(),
            "coreference_lengths": self.link_lengths(best),
        }

    def _judge(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The accuracy of every head, by type of mention and rule of candidates; and the best, with p-values."""
        heads = pd.DataFrame(self._heads, columns=["layer", "head"])
        frames: list[pd.DataFrame] = []
        rows: list[tuple[object, ...]] = []
        rivals: list[tuple[float, NDArray[np.float64]]] = []
        for rule, mention_type, scores in self._scored():
            frames.append(heads.assign(mention_type=mention_type, candidates=rule, **scores.table()))
            best = scores.best
            values = (scores.accuracy(scores.right[best]), *scores.interval(best), scores.held_out())
            tests = [scores.lead_test(baseline) for baseline in range(len(BASELINES))]
            p_values = (permutation_p_value(*test) for test in tests)
            rows.append((mention_type, rule, scores.count, *self._heads[best], *values, *p_values))
            rivals.append(tests[_rival(mention_type, scores)])
        corrected = step_down([observed for observed, _ in rivals], [largest for _, largest in rivals])
        named = [name for name in COREFERENCE_BEST.names if not name.startswith("control")]
        every = pd.concat(frames, ignore_index=True) if frames else COREFERENCE.from_rows([])
        return every, pd.DataFrame([(*row, p) for row, p in zip(rows, corrected, strict=True)], columns=named)

    def link_lengths(self, best: pd.DataFrame) -> pd.DataFrame:
        """How long all links are, and those that the best head finds among each kind of candidates."""
        counts = {ALL_LINKS: self.lengths}
        for row in best[best["mention_type"] == "all"].itertuples():
            head = self._heads.index((int(row.layer), int(row.head)))  # type: ignore[arg-type]
            counts[FOUND_AMONG[str(row.candidates)]] = self.found_lengths[RULES.index(str(row.candidates)), head]
        rows = [{"links": name, **describe_lengths(lengths)} for name, lengths in counts.items() if lengths.any()]
        return COREFERENCE_LENGTHS.from_rows(rows)

    def baselines(self) -> pd.DataFrame:
        """How often each rule is right, by type of mention."""
        rows = []
        for _, mention_type, scores in self._scored(RULES[:1]):
            low, high = scores.baseline_intervals
            for number, baseline in enumerate(BASELINES):
                right = scores.baselines_right[number]
                accuracy = scores.accuracy(right)
                rows.append((baseline, mention_type, right, scores.count, accuracy, low[number], high[number]))
        return pd.DataFrame(rows, columns=COREFERENCE_BASELINES.names)

    def replicates(self) -> dict[str, NDArray[np.float64]]:
        """Bootstrap accuracies of the rows of each table, [R, rows]; NaN where no such mention was drawn."""
        by_table: dict[str, list[NDArray[np.float64]]] = {name: [] for name in (self.name, "coreference_best")}
        for _, _, scores in self._scored():
            by_table[self.name].append(scores.drawn)
            by_table["coreference_best"].append(scores.drawn_of(scores.best))
        by_table["coreference_baselines"] = [scores.baselines_drawn for *_, scores in self._scored(RULES[:1])]
        return {name: np.concatenate(columns, axis=1) for name, columns in by_table.items() if columns}

    def _scored(self, rules: Sequence[str] = RULES) -> Iterator[tuple[str, str, Scores]]:
        """Rule, type and scores, one at a time: all types together, then each that occurs."""
        types = {"all": list(range(len(_CATEGORIES)))}
        types |= {name: [n for n, (kind, _) in enumerate(_CATEGORIES) if kind == name] for name in MENTION_TYPES}
        types[REWORDED] = [n for n, (_, reworded) in enumerate(_CATEGORIES) if reworded]
        for rule in rules:
            counts = self._tallies[rule].counts()
            for name, numbers in types.items():
                if sum(counts[number] for number in numbers):
                    yield rule, name, self._tallies[rule].scores(numbers)

    @classmethod
    def labels(cls, tables: Tables) -> Iterator[Label]:
        return coreference_findings.labels(tables)

    @classmethod
    def findings(cls, tables: Tables) -> Iterator[Finding | str]:
        return coreference_findings.findings(tables)


def _rival(mention_type: str, scores: Scores) -> int:
    """The baseline to beat: the better of two; for reworded mentions, where the same head word finds none, of all."""
    rivals = range(len(BASELINES)) if mention_type == REWORDED else [BASELINES.index(name) for name in RIVALS]
    return max(rivals, key=lambda baseline: scores.baselines_right[baseline])


def _to_nearest(asked: Questions) -> NDArray[np.int64]:
    """The distance from each mention's head word to that of its nearest antecedent: [N]."""
    distances = np.abs(np.arange(asked.true.shape[1]) - asked.head[:, None])
    return np.asarray(np.where(asked.true, distances, asked.true.shape[1]).min(1))


def _mask(places: NDArray[np.int64], width: int) -> NDArray[np.bool_]:
    mask = np.zeros(width, dtype=np.bool_)
    mask[places] = True
    return mask
