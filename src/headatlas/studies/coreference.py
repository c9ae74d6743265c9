"""Does a mention attend to what it refers back to? Each head as a selector of antecedents (section 4.3, table 2).

For every mention with an antecedent before it in the segment: is the word that its head word attends to most the head
word of one of its true antecedents? The paper leaves open among which words; three answers are kept:

- ``preceding``: among the head words of mentions wholly before it, from which the baselines choose too;
- ``mentions``: among the head words of all other mentions;
- ``words``: among all other words.

A head word is never its own candidate. Where all candidates have attention exactly 0 the head is wrong. Counted by the
type of the mention. Baselines are rules without a model (see `coreference_baselines`). Intervals and tests resample
documents.
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

from headatlas.corpora.coreference.mentions import MENTION_TYPES
from headatlas.encoding.batches import Batch
from headatlas.encoding.mention_segments import MentionSegment
from headatlas.models.stacks import HeadShape
from headatlas.statistics.kernels.threads import one_thread
from headatlas.statistics.scores import Scores
from headatlas.statistics.words import WordIndex, segments_of, word_index
from headatlas.studies.coreference_baselines import BASELINES, antecedents, choose, preceding
from headatlas.studies.labels import Label, Tables
from headatlas.studies.study import Frames, LayerMap, WordStudy, join_layers
from headatlas.tables import ACCURACY, BEST_HEAD, HELD_OUT, ONE_HEAD, P_VALUE, Key, Table, Value, p_value, records
from headatlas.wording import percent

RIVAL = "head_match"  # the baseline that a coreference head must beat
RULES = ("preceding", "mentions", "words")


MENTION_TYPE = Key("mention_type", "all, or by the part of speech of its head word: pronoun, proper, nominal")
CANDIDATES = Key("candidates", "among which the head chooses: words, mentions, or preceding (mentions)")
MENTIONS = Value("count", "mentions of this type that have an antecedent in the window", "count")
CHOSEN = (Value("correct", "mentions whose chosen antecedent is a true one", "count"), MENTIONS, *ACCURACY)
COREFERENCE = Table(
    "coreference",
    "How often does a head find an antecedent, by type of mention?",
    (*ONE_HEAD, MENTION_TYPE, CANDIDATES, *CHOSEN),
    section="4.3",
    label="antecedent: {mention_type} among {candidates}",
    short="{mention_type} among {candidates}",
    card=None,
)

COREFERENCE_BEST = Table(
    "coreference_best",
    "Which head is best for each type of mention, held out?",
    (
        MENTION_TYPE,
        CANDIDATES,
        MENTIONS,
        *BEST_HEAD,
        *ACCURACY,
        HELD_OUT,
        p_value(f"{P_VALUE} the nearest mention", "p_nearest"),
        p_value(f"{P_VALUE} the nearest with the same head word", "p_head_match"),
        p_value(f"{P_VALUE} the four sieves", "p_sieves"),
    ),
    section="4.3, table 2",
)
BASELINE = Key("baseline", "nearest mention; head_match: nearest with the same head word; sieves: four in order")
COREFERENCE_BASELINES = Table(
    "coreference_baselines",
    "How often do simple rules find an antecedent: nearest mention, same head word, four sieves?",
    (BASELINE, MENTION_TYPE, *CHOSEN),
    section="4.3, table 2",
)


@dataclass(frozen=True)
class Questions:
    """The mentions of a batch that have an antecedent, N of them."""

    segment: NDArray[np.int64]  # [N], row of the batch
    head: NDArray[np.int64]  # [N], head word of the mention
    type: NDArray[np.int64]  # [N], into MENTION_TYPES
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
            rows.append((number, mention.head, MENTION_TYPES.index(mention.type)))
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


def heads_right(rows: Tensor, candidates: Tensor, true: Tensor) -> Tensor:
    """Whether each head selects a true antecedent: [N, H] bool. rows: [N, H, W]; candidates, true: [N, W] bool."""
    largest, place = rows.masked_fill(~candidates[:, None], 0).max(-1)  # [N, H]
    return true.gather(1, place) & (largest > 0)


class Coreference(WordStudy):
    """How often each head selects an antecedent, by type of mention and rule of candidates, beside the baselines."""

    name = "coreference"
    tables = (COREFERENCE, COREFERENCE_BEST, COREFERENCE_BASELINES)
    corpus = "coreference"

    def start(self, shape: HeadShape) -> None:
        super().start(shape)
        self._heads = shape.numbered
        self._tallies = self.start_tallies(RULES, len(self._heads), len(BASELINES), len(MENTION_TYPES))
        self._asked: tuple[WordIndex, Questions] | None = None
        self._right: dict[int, dict[str, Tensor]] = {}

    def see(self, layer: int, layer_map: LayerMap) -> None:
        """Keep which heads of the layer are right about which mentions, on their device, until the batch ends."""
        if self._asked is None:
            index = word_index(layer_map.batch)
            self._asked = index, questions_of(segments_of(layer_map.batch, MentionSegment), index.size)
        index, asked = self._asked
        maps = self.word_maps(layer, layer_map, index)
        segment, head = (torch.from_numpy(part).to(maps.device) for part in (asked.segment, asked.head))
        with one_thread():
            rows, true = maps[segment, :, head], torch.from_numpy(asked.true).to(maps.device)
            self._right[layer] = {
                rule: heads_right(rows, torch.from_numpy(mask).to(maps.device), true)
                for rule, mask in asked.candidates.items()
            }

    def end_batch(self, batch: Batch) -> None:
        """Add the batch's mentions to the sums."""
        self.refuse_damaged()
        documents = [segment.document for segment in segments_of(batch, MentionSegment)]
        if self._asked is not None and len(self._asked[1].head):
            asked = self._asked[1]
            for rule, tally in self._tallies.items():
                right = join_layers({layer: right[rule] for layer, right in self._right.items()})
                baselines = torch.from_numpy(asked.baselines_right)
                tally.add(right, baselines, asked.type, asked.segment, self.units(batch), documents)
        self._asked = None
        self._right.clear()

    def frames(self) -> Frames:
        """Every head (`coreference`), the best (`coreference_best`), and the rules (`coreference_baselines`)."""
        frames = {"coreference": self.every_head(), "coreference_best": self.best()}
        return frames | {"coreference_baselines": self.baselines()}

    def every_head(self) -> pd.DataFrame:
        """The accuracy of every head, by type of mention and rule of candidates."""
        heads = pd.DataFrame(self._heads, columns=["layer", "head"])
        frames = [
            heads.assign(mention_type=mention_type, candidates=rule, **scores.table())
            for rule, mention_type, scores in self._scored()
        ]
        return pd.concat(frames, ignore_index=True) if frames else COREFERENCE.from_rows([])

    def best(self) -> pd.DataFrame:
        """The best head for each type and rule, with p-values against each baseline."""
        rows = []
        for rule, mention_type, scores in self._scored():
            low, high = scores.intervals
            best = scores.best
            values = (scores.accuracy(scores.right[best]), low[best], high[best], scores.held_out())
            tests = (scores.p_value(baseline) for baseline in range(len(BASELINES)))
            rows.append((mention_type, rule, scores.count, *self._heads[best], *values, *tests))
        return pd.DataFrame(rows, columns=COREFERENCE_BEST.names)

    def baselines(self) -> pd.DataFrame:
        """How often each rule is right, by type of mention."""
        rows = []
        for rule, mention_type, scores in self._scored():
            if rule == RULES[0]:
                low, high = scores.baseline_intervals
                for number, baseline in enumerate(BASELINES):
                    right = scores.baselines_right[number]
                    accuracy = scores.accuracy(right)
                    rows.append((baseline, mention_type, right, scores.count, accuracy, low[number], high[number]))
        return pd.DataFrame(rows, columns=COREFERENCE_BASELINES.names)

    def replicates(self) -> dict[str, NDArray[np.float64]]:
        """Bootstrap accuracies of the rows of each table, [R, rows]; NaN where no such mention was drawn."""
        scored = self._scored()
        by_table = {
            self.name: [scores.drawn for _, _, scores in scored],
            "coreference_best": [scores.drawn[:, [scores.best]] for _, _, scores in scored],
            "coreference_baselines": [scores.baselines_drawn for rule, _, scores in scored if rule == RULES[0]],
        }
        return {name: np.concatenate(columns, axis=1) for name, columns in by_table.items() if columns}

    def _scored(self) -> list[tuple[str, str, Scores]]:
        """Rule, type and scores: all types together, then each that occurs."""
        types = {"all": list(range(len(MENTION_TYPES)))} | {name: [n] for n, name in enumerate(MENTION_TYPES)}
        scored = [
            (rule, name, tally.scores(numbers))
            for rule, tally in self._tallies.items()
            for name, numbers in types.items()
        ]
        return [(rule, name, scores) for rule, name, scores in scored if scores.count]

    @classmethod
    def labels(cls, tables: Tables) -> Iterator[Label]:
        """The best head, if its held-out accuracy is above the interval of the nearest mention with its head word."""
        rules = tables["coreference_baselines"]
        rival = rules[(rules["baseline"] == RIVAL) & (rules["mention_type"] == "all")]
        for row in _best_of_all(tables):
            bar = rival["high"].item()
            if row["held_out"] > bar:
                evidence = (
                    f"best head for antecedents: right {row['held_out']:.0%} held out, "
                    f"nearest with the same head word {rival['accuracy'].item():.0%} (at most {bar:.0%})"
                )
                yield Label(row["layer"], row["head"], cls.name, row["held_out"], evidence)

    @classmethod
    def findings(cls, tables: Tables) -> Iterator[str]:
        rules = tables["coreference_baselines"]
        rule = rules[(rules["baseline"] == RIVAL) & (rules["mention_type"] == "all")]["accuracy"]
        for row in _best_of_all(tables):
            missing = pd.isna(row["held_out"])
            held_out = "too few documents to hold any out" if missing else f"held out {percent(row['held_out'])}"
            yield (
                f"Head {row['layer']}-{row['head']} picks an antecedent among the preceding mentions for "
                f"{percent(row['accuracy'])} of mentions ({held_out}; nearest with the same head word "
                f"{percent(rule.item())})."
            )


def _best_of_all(tables: Tables) -> list[dict[str, Any]]:
    """The best head for mentions of all types, among preceding mentions."""
    best = tables["coreference_best"]
    return records(best[(best["mention_type"] == "all") & (best["candidates"] == "preceding")])


def _mask(places: NDArray[np.int64], width: int) -> NDArray[np.bool_]:
    mask = np.zeros(width, dtype=np.bool_)
    mask[places] = True
    return mask
