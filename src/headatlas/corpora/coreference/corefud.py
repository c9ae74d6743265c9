"""CorefUD: coreference as ``Entity=`` in the last column of CoNLL-U (CorefUD 1.x, GUM).

``# global.Entity`` names the fields within a bracket, such as ``eid-etype-head``; the entity is the field ``eid`` (GUM:
``GRP``), the first if no field has that name. Left out and counted: mentions in several parts (``e1[1/2]``), and those
on empty nodes alone, which a model does not read. A sentence without a tree gets its heads by rule.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from headatlas.corpora.coreference.brackets import BracketReader, Span
from headatlas.corpora.coreference.english_words import word_set
from headatlas.corpora.coreference.mention_heads import NO_TREE, make_mentions
from headatlas.corpora.coreference.mentions import MentionDocument
from headatlas.corpora.treebanks.conllu import ConlluSentence, read_conllu
from headatlas.errors import CorpusError
from headatlas.limits import MOST_WORDS, RAISE

_PART = re.compile(r"\[(\d+)/\d+\]$")
_PENN_TAGS = word_set(
    "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH VB VBD VBG VBN VBP "
    "VBZ WDT WP WP$ WRB . , : `` '' -LRB- -RRB- $ # HYPH NFP ADD AFX GW XX"
)


def read_corefud(path: Path, file: int, left_out: Counter[str]) -> Iterator[MentionDocument]:
    """Stream the documents of one file; file is its number in their ids."""
    fields: list[str] = []
    document: list[ConlluSentence] = []
    number = 0
    words = 0
    for sentence in read_conllu(path):
        if sentence.starts_document and document:
            yield _read_document(document, fields, f"{file}.{number}", left_out)
            document = []
            number += 1
            words = 0
        if told := sentence.metadata.get("global.Entity"):
            fields = told.split("-")
        document.append(sentence)
        words += len(sentence.words)
        if words > MOST_WORDS:
            problem = f"begins a document of more than {MOST_WORDS:,} words. Put a comment # newdoc before each."
            raise CorpusError(f"{problem} {RAISE}", path, document[0].lines[0])
    if document:
        yield _read_document(document, fields, f"{file}.{number}", left_out)


def _read_document(
    sentences: list[ConlluSentence], fields: list[str], name: str, left_out: Counter[str]
) -> MentionDocument:
    path = sentences[0].path
    which = next((index for index, field in enumerate(fields) if field in ("eid", "GRP")), 0)
    reader = BracketReader(path, lambda inside: _entity(inside, which))
    starts: list[int] = []
    words: list[str] = []
    tags: list[str] = []
    heads: list[int] = []
    for sentence in sentences:
        start = len(words)
        starts.append(start)
        _read_brackets(sentence, start, reader)
        words += sentence.words
        tags += [_tag(xpos, upos) for xpos, upos in zip(sentence.xpos, sentence.upos, strict=True)]
        found = sentence.heads or (NO_TREE,) * len(sentence.words)
        heads += [head + start if head >= 0 else head for head in found]
    mentions = make_mentions(_readable(reader.spans(left_out), left_out), words, tags, starts, heads)
    return MentionDocument(name, path, sentences[0].lines[0], tuple(words), tuple(tags), tuple(starts), mentions)


def _read_brackets(sentence: ConlluSentence, start: int, reader: BracketReader) -> None:
    """Take in a sentence's brackets in the order of its nodes; an empty node spans no word."""
    nodes = [(word, word + 1, misc) for word, misc in enumerate(sentence.misc)]
    nodes += [(before, before, misc) for before, misc in sentence.empty_nodes]
    for first, end, misc in sorted(nodes, key=lambda node: node[:2]):
        if misc.get("Entity"):
            line = sentence.lines[min(first, len(sentence.lines) - 1)]
            reader.read(misc["Entity"], start + first, start + end, line)


def _entity(inside: str, which: int) -> str:
    """The entity in a bracket's fields; a closing bracket may hold it alone."""
    fields = inside.split("-")
    return fields[which] if which < len(fields) else fields[0]


def _readable(spans: list[Span], left_out: Counter[str]) -> Iterator[Span]:
    """The spans in one part that hold a word; the others are counted."""
    for span in spans:
        part = _PART.search(span.entity)
        if part and part[1] == "1":
            left_out["discontinuous_mention"] += 1
        elif not part and span.start == span.end:
            left_out["mention_on_empty_node"] += 1
        elif not part:
            yield span


def _tag(xpos: str, upos: str) -> str:
    """The Penn Treebank's part of speech where the file has it, else the universal one, else whatever there is."""
    return xpos if xpos in _PENN_TAGS else upos or xpos
