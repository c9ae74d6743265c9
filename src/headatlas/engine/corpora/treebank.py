"""Sentences with dependency trees, one per input (paper, section 4.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headatlas.corpora.files import name_files
from headatlas.corpora.sample import sample_treebank
from headatlas.corpora.sampling import draw
from headatlas.corpora.text import read_text
from headatlas.corpora.treebanks.label_sets import LABEL_SETS, LabelSet, labels_of, possessive_clitic
from headatlas.corpora.treebanks.read import TreebankFormat, read_treebank
from headatlas.corpora.treebanks.sentence import Sentence
from headatlas.engine.corpora.kind import Corpus, CorpusKind, Gold, Reading, Tree
from headatlas.wording import counted, fine_percent

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from headatlas.encoding.segments import Segment
    from headatlas.encoding.word_segments import ParsedSegment
    from headatlas.store.reading import Store

FEWEST_DOCUMENTS = 8  # to choose a head on half of them and score it on the other; with fewer, sentences are halved
FEWEST_WORDS = 4  # of an example


class Treebank(CorpusKind):
    """Sentences with dependency trees, read from files or parsed from plain text."""

    name = "treebank"
    help = "Sentences with dependency trees: CoNLL-U, CoNLL-X, spaCy DocBin, or one word and its head-label per line."
    called = "treebank"
    formats = TreebankFormat
    unit = "sentence"
    read_by = ("treebank_format", "parse_with", "text_format")

    def read(self, files: Sequence[Path], tokenizer: PreTrainedTokenizerBase, reading: Reading) -> Corpus:
        from headatlas.encoding.word_segments import parsed_segments

        left_out: Counter[str] = Counter()
        trees = _draw(_read_trees(files, reading, left_out), reading, left_out)
        labels = label_set_of(trees, reading)
        parsed = parsed_segments(
            trees,
            tokenizer,
            max_tokens=reading.max_tokens,
            counts_as=lambda sentence: possessive_clitic(sentence, labels),
        )
        left_out.update(parsed.left_out)
        about = _describe(parsed.segments, parsed.relations, parsed.classes, parsed.documents, labels)
        about |= {"parsed_by": reading.parse_with, **_describe_splits(parsed.segments, trees)}
        return Corpus(parsed.segments, about, dict(left_out))

    def sample(self) -> list[Path]:
        return [sample_treebank()]

    def describe(self, about: Mapping[str, Any]) -> str:
        silver = f", parsed by {about['parsed_by']}: silver trees" if about.get("parsed_by") else ""
        return (
            f"{counted(about['sentences'], 'parsed sentence')} ({counted(about['words'], 'word')}, "
            f"{about['label_set']} labels{silver}) in {counted(about['documents'], 'document')} of "
            f"{name_files(about['files'])}{split_share(about)}{_multiword(about)}"
        )

    def why_not_stored(self, store: Store) -> str | None:
        if store.has_trees:
            return None
        return "the stored inputs have no dependency trees; extract from a --treebank."

    def from_store(self, store: Store, reading: Reading) -> Corpus:
        from headatlas.store.stored_model import parsed_segment, stored_sentences

        trees = stored_sentences(store)
        labels = label_set_of(trees, reading)
        relations = tuple(sorted({relation for tree in trees for relation in tree.relations}))
        number = {relation: place for place, relation in enumerate(relations)}
        segments = [
            parsed_segment(example, store.level, number, possessive_clitic(tree, labels))
            for example, tree in zip(store.examples, trees, strict=True)
        ]
        documents = len({example.document for example in store.examples})
        about = _describe(segments, relations, (), documents, labels) | {"parsed_by": None}
        return Corpus(segments, about | {"tokens": sum(map(len, store.examples))}, store.left_out)

    def examples(self, segments: Sequence[Segment]) -> list[Segment]:
        """Whole sentences that fit into a picture, those that add a new relation last."""
        from headatlas.encoding.word_segments import FITTING_TOKENS

        seen: set[int] = set()
        adding: list[Segment] = []
        rest: list[Segment] = []
        for sentence in map(_as_parsed, segments):
            if len(sentence) <= FITTING_TOKENS and sentence.size >= FEWEST_WORDS:
                relations = set(sentence.relations.tolist())
                (rest if relations <= seen else adding).append(sentence)
                seen |= relations
        return (adding + rest)[::-1]

    def gold(self, segment: Segment, about: Mapping[str, Any]) -> Gold:
        parsed = _as_parsed(segment)
        names = tuple(about["relations"][number] for number in parsed.relations.tolist())
        return Gold(Tree(tuple(parsed.heads.tolist()), names, tuple(parsed.counts_as.tolist())))


def label_set_of(trees: Sequence[Sentence], reading: Reading) -> LabelSet:
    """Return the set of relations that was named, or the one that the trees use."""
    name = reading.format_of("labels")
    return labels_of(trees) if name == "auto" else LABEL_SETS[name]


def _read_trees(files: Sequence[Path], reading: Reading, left_out: Counter[str]) -> list[Sentence]:
    if reading.parse_with is None:
        return list(read_treebank(files, reading.format_of("treebank"), left_out))
    from headatlas.corpora.treebanks.spacy_docs import parse_text

    return list(parse_text(read_text(files, reading.format_of("text")), reading.parse_with, left_out))


def _draw(trees: list[Sentence], reading: Reading, left_out: Counter[str]) -> list[Sentence]:
    drawn = draw(trees, reading.sentences, reading.seed)
    if len(drawn) < len(trees):
        left_out["sentence_not_drawn"] += len(trees) - len(drawn)
    return drawn


def split_share(about: Mapping[str, Any]) -> str:
    """Say which share of the words the tokenizer splits, after a phrase about a corpus."""
    if not about.get("words") or "split_words" not in about:
        return ""
    return f"; {fine_percent(about['split_words'] / about['words'])} of words are split into pieces"


def _multiword(about: Mapping[str, Any]) -> str:
    """Say what the model reads in place of multiword tokens, if there are any."""
    if not about.get("multiword_tokens"):
        return ""
    written, words = about["multiword_example"]
    return (
        f"; {counted(about['multiword_tokens'], 'multiword token')} read as syntactic words: the model sees "
        f'"{words}" for "{written}"'
    )


def _describe_splits(segments: Sequence[ParsedSegment], trees: Sequence[Sentence]) -> dict[str, Any]:
    from headatlas.encoding.word_segments import split_words

    kept = {segment.id for segment in segments}
    multiword = [token for tree in trees if tree.id in kept for token in tree.multiword]
    commonest = Counter(multiword).most_common(1)
    example = {"multiword_example": list(commonest[0][0])} if commonest else {}
    return {"split_words": split_words(segments), "multiword_tokens": len(multiword), **example}


def _describe(
    segments: Sequence[ParsedSegment],
    relations: Sequence[str],
    classes: Sequence[str],
    documents: int,
    labels: LabelSet,
) -> dict[str, Any]:
    return {
        "documents": documents,
        "sentences": len(segments),
        "words": sum(segment.size for segment in segments),
        "tokens": sum(map(len, segments)),
        "label_set": labels.name,
        "relations": list(relations),
        "word_classes": list(classes),
        "halved_by": "document" if documents >= FEWEST_DOCUMENTS else "sentence",  # for held-out scores
    }


def _as_parsed(segment: Segment) -> ParsedSegment:
    from headatlas.encoding.word_segments import ParsedSegment

    assert isinstance(segment, ParsedSegment)
    return segment
