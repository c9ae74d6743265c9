"""What every kind of corpus promises: inputs that fit the model and have names, counts, words and short examples."""

from __future__ import annotations

import json
from collections.abc import Sequence
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

from headatlas.corpora.files import describe_files
from headatlas.encoding.segments import Segment
from headatlas.encoding.word_segments import WordSegment
from headatlas.engine.contract import sample_files, small_reading
from headatlas.engine.corpora import Corpus, CorpusKind
from headatlas.models.tiny import LONGEST, tiny_model

LONGEST_EXAMPLE = 60  # tokens


def check_kind(kind: CorpusKind, files: Sequence[str | Path] | None) -> None:
    """Read files, and check what a survey will need. Raises AssertionError."""
    paths = sample_files(kind, files)
    tokenizer, reading = tiny_model().tokenizer, small_reading()
    corpus, again = (kind.read(paths, tokenizer, reading) for _ in range(2))
    where = f"The kind of corpus '{kind.name}'"
    if not corpus.segments:
        raise AssertionError(f"{where} reads no inputs. It should raise a CorpusError that says why.")
    for segment in corpus.segments:
        _check_segment(where, segment)
    ids = [segment.id for segment in corpus.segments]
    if repeated := next((name for name in ids if ids.count(name) > 1), None):
        raise AssertionError(f"{where} has two inputs with the id {repeated}.")
    if ids != [segment.id for segment in again.segments]:
        raise AssertionError(f"{where} reads other inputs when it reads the same files again.")
    _check_about(where, kind, corpus, paths)
    _check_examples(where, kind, corpus)


def _check_segment(where: str, segment: Segment) -> None:
    sizes = {len(segment.ids), len(segment.type_ids), len(segment.words)}
    if len(sizes) > 1:
        raise AssertionError(f"{where}: in input {segment.id}, ids, type_ids and words do not have the same length.")
    if not 1 <= len(segment) <= LONGEST:
        raise AssertionError(
            f"{where}: input {segment.id} has {len(segment)} tokens, but at most {LONGEST} were asked for."
        )
    if isinstance(segment, WordSegment) and segment.words.max(initial=-1) >= segment.size:
        raise AssertionError(f"{where}: input {segment.id} has tokens of more words than it has.")


def _check_about(where: str, kind: CorpusKind, corpus: Corpus, paths: Sequence[Path]) -> None:
    count = f"{kind.unit}s"
    if not isinstance(corpus.about.get(count), int) or corpus.about[count] < 1:
        raise AssertionError(
            f"{where} calls its inputs {count}, but its `about` does not say how many '{count}' there are."
        )
    try:
        about = json.loads(json.dumps({**corpus.about, "left_out": corpus.left_out}))
    except (TypeError, ValueError) as error:
        raise AssertionError(f"{where}: its `about` cannot be written to the manifest ({error}).") from error
    phrase = kind.describe({**about, "files": describe_files(paths)})
    if not isinstance(phrase, str) or not phrase:
        raise AssertionError(f"{where} does not describe what was read.")


def _check_examples(where: str, kind: CorpusKind, corpus: Corpus) -> None:
    examples = [*kind.examples(corpus.segments), kind.picture(max(corpus.segments, key=len))]
    for example in examples:
        if len(example) > LONGEST_EXAMPLE:
            raise AssertionError(
                f"{where}: an example has {len(example)} tokens; at most {LONGEST_EXAMPLE} can be shown."
            )
        _check_segment(where, example)
        ForkingPickler.dumps(example)
        if isinstance(example, WordSegment) and len(kind.gold(example, corpus.about).key) not in (0, example.size):
            raise AssertionError(f"{where}: it does not mark as many words of an example as there are.")
