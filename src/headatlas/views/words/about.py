"""What an atlas was made from, in words, from its manifest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headatlas.corpora.files import name_files
from headatlas.encoding.unknown import MUCH_UNKNOWN, much_unknown, unknown_share
from headatlas.engine.corpora import KINDS
from headatlas.engine.job import describe_failure
from headatlas.statistics.resampling import FEWEST_DOCUMENTS
from headatlas.wording import counted, counted_reason, fine_percent, ordinal

MOST_NAMED = 5  # of the commonest tokens


def corpora_read(manifest: Mapping[str, Any]) -> list[str]:
    """One phrase per corpus: how much of it the model saw, the share of unknown tokens if small, what is resampled."""
    return [
        _read(about.get("kind", name), about) + _little_unknown(about.get("unknown")) + _resampled(name, about)
        for name, about in manifest["corpora"].items()
    ]


def _read(kind: str, about: Mapping[str, Any]) -> str:
    if kind in _READ:
        return _READ[kind](about)
    try:
        return KINDS[kind]().describe(about)
    except Exception as error:
        if KINDS.is_own(kind):
            raise
        reason = describe_failure(error) if kind in KINDS else "its package is not installed here"
        return f"{kind} of {name_files(about['files'])} ({reason})"


def resampled(corpus: str, about: Mapping[str, Any]) -> str | None:
    """What intervals and tests resample, such as "62 documents"; None if the manifest does not say."""
    if "resampled_by" not in about:
        return None
    by_document = about["resampled_by"] == "document"
    unit = "document" if by_document else KINDS[corpus].unit if corpus in KINDS else "input"
    return counted(about["resampled"], unit) + ("" if by_document else f" (fewer than {FEWEST_DOCUMENTS} documents)")


def _resampled(corpus: str, about: Mapping[str, Any]) -> str:
    units = resampled(corpus, about)
    return f"; intervals over {units}" if units else ""


def common_tokens(manifest: Mapping[str, Any]) -> list[str]:
    """A sentence about the commonest tokens of the text, and where periods and commas rank among them."""
    tokens = manifest["corpora"].get("text", {}).get("common_tokens") or []
    if not tokens:
        return []
    first = ", ".join(f'"{token["token"]}" ({fine_percent(token["share"])})' for token in tokens[:MOST_NAMED])
    ranks = [ordinal(rank) for rank, token in enumerate(tokens, start=1) if token["period_comma"]]
    marks = f"periods and commas rank {' and '.join(ranks)}" if ranks else "periods and commas are not among the first"
    return [f"Commonest tokens of the text: {first}; {marks}."]


def unknown_warnings(manifest: Mapping[str, Any]) -> list[str]:
    """One warning per corpus in which the tokenizer does not know a large share of the tokens."""
    name = Path(manifest["model"]["name"]).name
    return [
        warning
        for corpus, about in manifest["corpora"].items()
        for warning in unknown_warning(about.get("unknown"), _called(corpus, about), name)
    ]


def unknown_warning(counts: Mapping[str, Any] | None, corpus: str, model: str) -> list[str]:
    """A sentence if a large share of a corpus ("the text") is unknown, else none."""
    in_words = f", in {fine_percent(unknown_share(counts, 'words'))} of its words" if "words" in (counts or {}) else ""
    consequence = "the model cannot tell such words apart, so what its heads do with them means little"
    return much_unknown(unknown_share(counts), corpus, model, consequence, in_words)


def _called(corpus: str, about: Mapping[str, Any]) -> str:
    """What to call a corpus in a sentence, by its name in the manifest: of an option, a task, or a part of tasks."""
    if corpus in _CALLED or KINDS.is_own(corpus):
        return f"the {_CALLED.get(corpus) or KINDS[corpus].called}"
    return f"the {'texts' if about.get('kind') == 'spans' else 'inputs'} of {corpus}"


def _little_unknown(counts: Mapping[str, Any] | None) -> str:
    share = unknown_share(counts)
    return f", {fine_percent(share)} of its tokens unknown to the tokenizer" if 0 < share < MUCH_UNKNOWN else ""


def left_out(manifest: Mapping[str, Any]) -> list[str]:
    """What was left out of each corpus, and how often."""
    return [
        f"{counted_reason(reason, count)} ({name})"
        for name, about in manifest["corpora"].items()
        for reason, count in about["left_out"].items()
    ]


def _spans(about: Mapping[str, Any]) -> str:
    targets = ", ".join(f"{count:,} of {task}" for task, count in about["targets"].items())
    texts, tokens = counted(about["texts"], "text"), counted(about["tokens"], "token")
    return f"{texts} ({tokens}; targets: {targets}) of {name_files(about['files'])}"


def _documents(about: Mapping[str, Any]) -> str:
    documents, words = counted(about["documents"], "document"), counted(about["words"], "word")
    return f"{documents} ({words}) of {name_files(about['files'])}"


def _evaluated(about: Mapping[str, Any]) -> str:
    return f"eval of {name_files(about['files'])}"


_CALLED = {"eval": "evaluation treebank", "train": "training documents", "data": "evaluation documents"}
_READ = {"documents": _documents, "spans": _spans, "eval": _evaluated}  # what is not one of the kinds of corpus
