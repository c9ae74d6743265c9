"""What every study promises, checked on all of them; and that the contract finds studies that break it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pandas as pd
import pytest
import torch

import headatlas as ha
from headatlas.engine.contract import check_workers, make_contract
from headatlas.engine.corpora import KINDS
from headatlas.errors import PluginError
from headatlas.studies import STUDIES
from headatlas.testing import check_corpus_kind, check_study

TABLE = ha.Table("sinks", "How much?", (*ha.ONE_HEAD, ha.Value("value", "mean", "share"), *ha.VALUE_INTERVAL, ha.COUNT))
TOTALS = ha.Table("totals", "How much?", (*ha.ONE_HEAD, ha.Value("value", "a number"), ha.COUNT))


class Sinks(ha.SegmentMeans):
    """A study that keeps the contract: attention to the first token."""

    name = "sinks"
    tables = (TABLE,)
    patterns = (ha.Pattern("sink", "the first token", "sinks", least=0.01),)

    def segment_means(self, layer_map: ha.LayerMap) -> torch.Tensor:
        real = layer_map.batch.mask[:, None, :].to(layer_map.weights)
        return ((layer_map.weights[..., 0] * real).sum(-1) / real.sum(-1))[..., None]


class Total(ha.Study):
    """A study of its own kind that keeps the contract: the largest weight of every head."""

    name = "totals"
    tables = (TOTALS,)
    highest = ha.State("layers", "heads", reduce="max")
    count = ha.State(dtype="int64")

    def see(self, layer: int, layer_map: ha.LayerMap) -> None:
        real = layer_map.batch.mask[:, None, :, None]
        self.highest[layer, : layer_map.weights.shape[1]] = torch.maximum(
            torch.from_numpy(self.highest[layer, : layer_map.weights.shape[1]]),
            layer_map.weights.masked_fill(~real, 0).amax((0, 2, 3)).double(),
        )

    def end_batch(self, batch: ha.Batch) -> None:
        self.count += len(batch.segments)

    def frames(self) -> dict[str, pd.DataFrame]:
        rows = [(layer, head, self.highest[layer - 1, head - 1]) for layer, head in self.shape.numbered]
        return {"totals": pd.DataFrame(rows, columns=["layer", "head", "value"]).assign(count=int(self.count))}


@pytest.fixture(scope="module")
def files_of(tmp_path_factory):
    """Small files for the kinds of corpus that bring no sample."""
    path = tmp_path_factory.mktemp("corpora") / "keyphrases.jsonl"
    text = "the water of the house {} is from the old river. it was {}red."
    records = [
        {"id": f"d{number}", "text": text.format(number, "not " * number), "keyphrases": ["old river", "water"]}
        for number in range(12)
    ]
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return lambda kind: None if KINDS[kind]().sample() else [path]


@pytest.mark.parametrize("causal", [False, True], ids=["encoder", "decoder"])
@pytest.mark.parametrize("name", STUDIES)
def test_every_study_keeps_the_contract(name, causal, files_of):
    check_study(STUDIES[name], files=files_of(STUDIES[name].corpus), causal=causal)


@pytest.mark.kills  # it starts processes, as the tests do that kill them
@pytest.mark.parametrize("kind", KINDS)
def test_two_workers_give_the_tables_of_one(kind, files_of):
    studies = {name: study() for name, study in STUDIES.items() if study.corpus == kind}
    check_workers({name: make_contract(study, files=files_of(kind)) for name, study in studies.items()})


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_corpus_keeps_its_contract(name, files_of):
    check_corpus_kind(KINDS[name], files_of(name))


@pytest.mark.parametrize("study", [Sinks, Total, Sinks()])
def test_a_study_of_somebody_else_keeps_the_contract(study):
    check_study(study)
    check_study(study, causal=True)


class Undeclared(Total):
    """Counts batches in an attribute that nobody merges or saves."""

    seen = 0

    def end_batch(self, batch: ha.Batch) -> None:
        super().end_batch(batch)
        self.seen = self.seen + len(batch.segments)

    def frames(self) -> dict[str, pd.DataFrame]:
        return {"totals": super().frames()["totals"].assign(count=self.seen)}


class OfBatches(Total):
    """Counts batches in place of segments."""

    def end_batch(self, batch: ha.Batch) -> None:
        self.count += 1


class OfPadding(Sinks):
    """Takes the mean over padding as well."""

    def segment_means(self, layer_map: ha.LayerMap) -> torch.Tensor:
        return layer_map.weights[..., 0].mean(-1)[..., None]


class OfOrder(Total):
    """Keeps the last value."""

    last = ha.State()

    def end_batch(self, batch: ha.Batch) -> None:
        super().end_batch(batch)
        self.last[...] = len(batch.segments[-1])

    def frames(self) -> dict[str, pd.DataFrame]:
        return {"totals": super().frames()["totals"].assign(value=float(self.last))}


class WrongShape(Sinks):
    """Forgets the column."""

    def segment_means(self, layer_map: ha.LayerMap) -> torch.Tensor:
        return super().segment_means(layer_map)[..., 0]


class NotANumber(Total):
    """Divides 0 by 0."""

    def end_batch(self, batch: ha.Batch) -> None:
        super().end_batch(batch)
        self.highest *= math.nan


class Meddling(Sinks):
    """Changes what other studies see."""

    def segment_means(self, layer_map: ha.LayerMap) -> torch.Tensor:
        layer_map.weights[..., 0] *= 2
        return super().segment_means(layer_map)


class OtherColumns(Total):
    """Makes a column that it does not declare."""

    def frames(self) -> dict[str, pd.DataFrame]:
        return {"totals": super().frames()["totals"].assign(more=1)}


class OtherTables(Total):
    """Makes a table that it does not declare."""

    def frames(self) -> dict[str, pd.DataFrame]:
        return {"sums": super().frames()["totals"]}


class Twice(Total):
    """Has two rows for a head."""

    def frames(self) -> dict[str, pd.DataFrame]:
        return {"totals": super().frames()["totals"].assign(head=1)}


class Stateless(Total):
    """Declares nothing."""

    highest = count = None  # type: ignore[assignment]

    def see(self, layer: int, layer_map: ha.LayerMap) -> None:
        pass

    def end_batch(self, batch: ha.Batch) -> None:
        pass

    @classmethod
    def declared(cls):
        return iter(())


class Lost(Total):
    """Merges by forgetting."""

    def merge(self, other: Lost) -> None:
        pass


class Forgetful(Total):
    """Does not restore what it saved."""

    def restore(self, saved) -> None:
        pass


@pytest.mark.parametrize(
    ("study", "message"),
    [
        (Undeclared, "merging two halves gives other values in table totals, column count"),
        (OfBatches, "a batch for every input gives other values in table totals, column count"),
        (OfPadding, "a batch for every input gives other values in table sinks, column value .largest difference 0"),
        (OfOrder, "another order of inputs gives other values in table totals, column value"),
        (NotANumber, "state 'highest' holds values that are not numbers"),
        (Meddling, "changes a map, which other studies see too"),
        (OtherTables, "declares or makes, but not both: table sums, totals"),
        (Twice, "has two rows with the same layer, head"),
        (Stateless, "declares no State"),
        (Lost, "merging two halves gives other values in table totals"),
        (Forgetful, "stopping and resuming gives other values in table totals"),
    ],
)
def test_the_contract_finds_what_is_wrong(study, message):
    with pytest.raises((AssertionError, PluginError), match=message):
        check_study(study)


def test_the_contract_tells_results_of_the_wrong_shape():
    with pytest.raises(PluginError, match=r"segment_means of the study 'sinks' returned shape \[1, 3\]"):
        check_study(WrongShape)
    with pytest.raises(ha.HeadatlasError, match="Table totals: missing or undeclared columns: more"):
        check_study(OtherColumns)


class Lines(ha.CorpusKind):
    """One input for every line."""

    name = "lines"
    help = "Lines."
    called = "lines"
    unit = "line"
    ids = "l{}"
    counted = "lines"
    longest = 20

    def read(self, files, tokenizer, reading):
        from headatlas.encoding.segments import Segment

        segments = []
        for number, line in enumerate(Path(files[0]).read_text(encoding="utf-8").splitlines()):
            encoded = tokenizer(line, truncation=True, max_length=self.longest, return_tensors="np")
            ids = encoded["input_ids"][0].astype("int32")
            words = torch.arange(len(ids), dtype=torch.int32).numpy()
            segments.append(Segment(self.ids.format(number), ids, ids.astype("uint8") * 0, words))
        return ha.Corpus(segments, {self.counted: len(segments)})


class SameIds(Lines):
    """Gives all inputs one id."""

    ids = "l"


class Uncounted(Lines):
    """Does not count its units."""

    counted = "others"


class TooLong(Lines):
    """Reads inputs of any length."""

    longest = 200


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (SameIds, "'lines' has two inputs with the id l"),
        (Uncounted, "calls its inputs lines, but its `about` does not say how many 'lines' there are"),
        (TooLong, "at most 64 were asked for"),
    ],
)
def test_the_contract_finds_what_is_wrong_with_a_kind_of_corpus(kind, message, tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("the old house\n" + "the water of the house " * 20 + "\nhe had not", encoding="utf-8")
    check_corpus_kind(Lines, [path])
    with pytest.raises(AssertionError, match=message):
        check_corpus_kind(kind, [path])


def test_a_kind_of_corpus_without_a_sample_asks_for_files():
    with pytest.raises(ha.HeadatlasError, match="'lines' has no sample"):
        check_corpus_kind(Lines)
