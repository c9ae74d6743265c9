"""Check your own study or kind of corpus: a second door to headatlas, for tests.

    from headatlas.testing import check_study
    from my_package import Sinks

    def test_sinks():
        check_study(Sinks)

Everything runs offline, on a tiny model with random weights, in a few seconds.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

from headatlas.corpora.files import describe_files
from headatlas.encoding.segments import Segment
from headatlas.encoding.word_segments import WordSegment
from headatlas.engine.contract import check_workers, make_contract, sample_files, small_reading
from headatlas.engine.corpora import Corpus, CorpusKind
from headatlas.models.tiny import LONGEST, tiny_model
from headatlas.studies.study import Study

__all__ = ["check_corpus_kind", "check_study"]

_LONGEST_EXAMPLE = 60  # tokens


def check_study(
    study: Study | type[Study],
    *,
    kind: CorpusKind | type[CorpusKind] | None = None,
    files: Sequence[str | Path] | None = None,
    segments: Sequence[Segment] | None = None,
    causal: bool = False,
    workers: bool = False,
) -> None:
    """Check that a study keeps its contract: its tables depend on what it saw and on nothing else.

    The study sees the same attention in large and small batches, with more padding, in another order, in halves and
    shards that are merged, and is saved and restored in the middle. Its tables must agree each time, counts and texts
    exactly, floats to 0.00001, and must be as declared.

    Args:
        study: The study, or its class.
        kind: The kind of corpus that it reads, if that is not installed.
        files: Small files of that kind; by default the kind's own sample.
        segments: Inputs to use instead of reading files.
        causal: Use a decoder, whose tokens attend only to those before them, instead of an encoder.
        workers: Also run the study in two processes, which takes some ten seconds more. Its class must be importable.

    Raises:
        AssertionError: The study breaks the contract; the message says in which table and column, and by how much.
        PluginError: The study cannot run at all, for example because a result has the wrong shape.
    """
    made = study() if isinstance(study, type) else study
    kind_made = kind() if isinstance(kind, type) else kind
    contract = make_contract(made, kind=kind_made, files=files, segments=segments, causal=causal)
    contract.check()
    if workers:
        check_workers({made.name: contract})


def check_corpus_kind(kind: CorpusKind | type[CorpusKind], files: Sequence[str | Path] | None = None) -> None:
    """Check that a kind of corpus reads files into inputs that a survey can use.

    The inputs must fit the model and have names, counts, words and short examples.

    Args:
        kind: The kind of corpus, or its class.
        files: Small files of that kind; by default its own sample.

    Raises:
        AssertionError: What the kind returns cannot be used; the message says why.
    """
    kind = kind() if isinstance(kind, type) else kind
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
        if len(example) > _LONGEST_EXAMPLE:
            raise AssertionError(
                f"{where}: an example has {len(example)} tokens; at most {_LONGEST_EXAMPLE} can be shown."
            )
        _check_segment(where, example)
        ForkingPickler.dumps(example)
        if isinstance(example, WordSegment) and len(kind.gold(example, corpus.about).key) not in (0, example.size):
            raise AssertionError(f"{where}: it does not mark as many words of an example as there are.")
