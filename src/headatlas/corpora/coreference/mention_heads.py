"""The head word and the type of every mention (paper, 4.3).

The head word is the one whose head in the dependency tree lies outside the span: the first if there are several, and no
punctuation mark. Where there is no tree it is found by `head_rule`.

The type is that of the head's part of speech: PRP, PRP$ (universal: PRON) is a pronoun; NNP, NNPS (PROPN) a proper
name; the rest is nominal, which includes ``this`` and ``that`` (DT). Without parts of speech: a closed list of English
pronouns; a capital where it does not open a sentence, or on a word that has one elsewhere, makes a proper name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from headatlas.corpora.coreference.brackets import Span
from headatlas.corpora.coreference.english_words import PRONOUNS, word_set
from headatlas.corpora.coreference.head_rule import head_by_rule, is_mark
from headatlas.corpora.coreference.mentions import Mention, MentionDocument, MentionType
from headatlas.corpora.treebanks.sentence import ROOT, Sentence
from headatlas.errors import CorpusError

NO_TREE = -2  # among heads: the word's sentence has no tree

_PRONOUN_TAGS = frozenset({"PRP", "PRP$", "PRON"})
_PROPER_TAGS = frozenset({"NNP", "NNPS", "PROPN"})
_OPENS_SENTENCE = word_set(". ! ? : \" '' `` ` ' \u201c \u201d \u2018 \u2019 ( -- \u2014 -LRB-")
_ACRONYMS = frozenset({"US", "IT"})


def make_mentions(
    spans: Iterable[Span],
    words: Sequence[str],
    tags: Sequence[str],
    sentences: Sequence[int],
    heads: Sequence[int] | None = None,
) -> tuple[Mention, ...]:
    """Mentions with head and type; heads are of the document's words, ROOT or NO_TREE."""
    typing = _Typing(words, tags, sentences)
    mentions = []
    for span in spans:
        head = find_head(span, words, tags, heads)
        mentions.append(Mention(span.start, span.end, head, span.entity, typing.of(head)))
    return tuple(mentions)


def find_head(span: Span, words: Sequence[str], tags: Sequence[str], heads: Sequence[int] | None) -> int:
    """The head word of a span, from the tree if all its words are in one, else by the rule."""
    if heads is None or NO_TREE in heads[span.start : span.end]:
        return head_by_rule(span.start, span.end, words, tags)
    outside = [word for word in range(span.start, span.end) if not span.start <= heads[word] < span.end]
    return next((word for word in outside if not is_mark(words[word])), (outside or [span.start])[0])


def add_syntax(document: MentionDocument, sentences: Sequence[Sentence]) -> MentionDocument:
    """The document with heads and types found anew from trees over the very same words."""
    words = [word for sentence in sentences for word in sentence.words]
    for number, (word, other) in enumerate(zip(document.words, words, strict=False)):
        if word != other:
            problem = f"word {number + 1} of the document is {word!r}, in its trees {other!r}. Give its own trees."
            raise CorpusError(problem, document.path, document.line)
    if len(words) != len(document.words):
        problem = f"the document has {len(document.words)} words, its trees have {len(words)}. Give its own trees."
        raise CorpusError(problem, document.path, document.line)
    starts: list[int] = []
    heads: list[int] = []
    for sentence in sentences:
        starts.append(len(heads))
        heads += [ROOT if head == ROOT else head + starts[-1] for head in sentence.heads]
    tags = tuple(tag for sentence in sentences for tag in sentence.tags)
    spans = [Span(mention.start, mention.end, mention.entity) for mention in document.mentions]
    mentions = make_mentions(spans, document.words, tags, starts, heads)
    return replace(document, tags=tags, sentences=tuple(starts), mentions=mentions)


class _Typing:
    """Finds the types of one document's mentions."""

    def __init__(self, words: Sequence[str], tags: Sequence[str], sentences: Sequence[int]) -> None:
        self._words, self._tags = words, tags
        starts = set(sentences)
        self._names = {  # words with a capital within a sentence
            word
            for number, word in enumerate(words)
            if number not in starts and words[number - 1] not in _OPENS_SENTENCE and word[:1].isupper()
        }

    def of(self, head: int) -> MentionType:
        """The type of a mention with this head word."""
        word, tag = self._words[head], self._tags[head]
        if tag:
            return "pronoun" if tag in _PRONOUN_TAGS else "proper" if tag in _PROPER_TAGS else "nominal"
        if word.lower() in PRONOUNS and word not in _ACRONYMS:
            return "pronoun"
        return "proper" if word in self._names else "nominal"
