"""Key words as a span task of `headatlas layers`: does a word belong to a keyphrase?

It is imported for `--help`, so what reads is imported when used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from headatlas.corpora.spans.spans import SpanText, Target
from headatlas.corpora.spans.tasks import SpanTask

KEY, OTHER = "key", "other"


def key_word_texts(paths: Sequence[Path], left_out: Counter[str]) -> Iterator[SpanText]:
    """The words of each document, signs aside, with the label whether they belong to a keyphrase."""
    from headatlas.commands.keyphrases.phrases import OUTSIDE, gold_stems, is_sign, split_words, tag_words
    from headatlas.commands.keyphrases.reading import read_keyphrases

    for document in read_keyphrases(paths, left_out=left_out):
        words = split_words(document.text)
        tags, _ = tag_words(words, gold_stems(document))
        targets = tuple(
            Target(((place, place + 1),), (OTHER if tag == OUTSIDE else KEY,), document.line)
            for place, (word, tag) in enumerate(zip(words.words, tags.tolist(), strict=True))
            if not is_sign(word)
        )
        yield SpanText(f"{document.id}.0", document.path, words.words, {KEY_WORDS.name: targets})


KEY_WORDS = SpanTask(
    "keyphrases",
    OTHER,
    files="Inspec or SemEval folders",
    read=key_word_texts,
    holds=lambda path: path.is_dir() or path.suffix.lower() == ".zip",
)
