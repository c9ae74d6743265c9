"""Check your own study or kind of corpus: a second door to headatlas, for tests.

    from headatlas.testing import check_study
    from my_package import Sinks

    def test_sinks():
        check_study(Sinks)

Everything runs offline, on a tiny model with random weights, in a few seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from headatlas.encoding.segments import Segment
from headatlas.engine.contract import check_workers, make_contract
from headatlas.engine.corpora import CorpusKind
from headatlas.engine.corpus_contract import check_kind
from headatlas.studies.study import Study

__all__ = ["check_corpus_kind", "check_study"]


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

    Args:
        kind: The kind of corpus, or its class.
        files: Small files of that kind; by default its own sample.

    Raises:
        AssertionError: What the kind returns cannot be used; the message says why.
    """
    check_kind(kind() if isinstance(kind, type) else kind, files)
