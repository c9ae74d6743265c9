"""Documents with keyphrases that people chose.

Three formats are read:

- ``inspec``: a folder or zip with ``NAME.abstr`` (title and abstract), ``NAME.uncontr`` and ``NAME.contr``, the latter
  with phrases separated by semicolons (Hulth 2003). Usually the uncontrolled phrases are used; ``inspec-controlled``
  uses those of the thesaurus;
- ``folders``: a folder or zip with ``docsutf8/NAME.txt`` and ``keys/NAME.key``, one phrase per line (SemEval-2010 and
  -2017 and others as the LIAAD collection packs them). A file of phrases may hold two lists, told by a
  line break of another kind between them: so LIAAD's Inspec joins the uncontrolled phrases and the terms of the
  thesaurus. Both are used, and such documents are counted;
- ``jsonl``: a JSON object per line with ``text``, optionally ``title``, and ``keyphrases``, a list.

``auto`` tells them apart by the names of the files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from headatlas.corpora.archives import decode, open_archive
from headatlas.corpora.files import each_once, read_lines
from headatlas.corpora.rows import json_object
from headatlas.errors import CorpusError, printable

KeyphraseFormat = Literal["auto", "inspec", "inspec-controlled", "folders", "jsonl"]
KEYPHRASE_FORMATS: tuple[str, ...] = get_args(KeyphraseFormat)
_INSPEC_KEYS = {"inspec": ".uncontr", "inspec-controlled": ".contr"}
_TEXTS, _KEYS = "docsutf8", "keys"
TWO_LISTS = "document_with_two_lists"  # under this name they are counted


@dataclass(frozen=True)
class KeyphraseDocument:
    """A text and its keyphrases, each as its file spells it."""

    id: str  # "file.name": the number of the file in reading order, the name of the document or its line
    path: Path
    line: int | None  # from 1, if a file contains many documents
    text: str  # with a line break after a title or paragraph
    keyphrases: tuple[str, ...]


def read_keyphrases(
    paths: Iterable[Path], layout: KeyphraseFormat = "auto", left_out: Counter[str] | None = None
) -> Iterator[KeyphraseDocument]:
    """Stream the documents of all files, folders and zips, in order.

    A document without text or without keyphrases is skipped and counted in `left_out` by reason.
    """
    left_out = Counter() if left_out is None else left_out
    for number, path in each_once(paths, "documents"):
        empty = True
        for document in _documents(path, number, layout, left_out):
            if not document.text.strip():
                left_out["document_without_text"] += 1
            elif not document.keyphrases:
                left_out["document_without_keyphrases"] += 1
            else:
                empty = False
                yield document
        if empty:
            raise CorpusError("has no document with a text and keyphrases. Check its format.", path)


def _documents(path: Path, number: int, layout: KeyphraseFormat, left_out: Counter[str]) -> Iterator[KeyphraseDocument]:
    zipped = path.suffix.lower() == ".zip"
    if not path.is_dir() and not zipped:
        if layout not in ("auto", "jsonl"):
            raise CorpusError(f"is a file, but {layout} needs a folder or a zip.", path)
        yield from _json_lines(path, number)
        return
    if layout == "jsonl":
        raise CorpusError("is not a .jsonl file. Name the file.", path)
    with open_archive(path) as archive:
        names = archive.names()
        inspec = layout in _INSPEC_KEYS or (layout == "auto" and any(name.suffix == ".abstr" for name in names))
        if inspec:
            suffix, mark = _INSPEC_KEYS.get(layout, ".uncontr"), ";"
            keys_of = {name: name.with_suffix(suffix) for name in names if name.suffix == ".abstr"}
        elif any(name.parent.name == _TEXTS for name in names):
            texts, mark = [name for name in names if name.parent.name == _TEXTS and name.suffix == ".txt"], "\n"
            keys_of = {name: name.parent.parent / _KEYS / f"{name.stem}.key" for name in texts}
        else:
            raise CorpusError(
                f"is in none of the known formats. Give a folder or zip with NAME.abstr and NAME.uncontr, or with "
                f"{_TEXTS}/NAME.txt and {_KEYS}/NAME.key, or a .jsonl file with text and keyphrases.",
                path,
            )
        present = set(names)
        for name, keys in keys_of.items():
            phrases = decode(archive.read(keys), path / keys, left_out) if keys in present else ""
            text = decode(archive.read(name), path / name, left_out)
            document = f"{number}.{printable(name.stem)}"
            if not inspec and has_two_lists(phrases):
                left_out[TWO_LISTS] += 1
            yield KeyphraseDocument(document, path / name, None, unfolded(text), _split(phrases, mark))


def _json_lines(path: Path, number: int) -> Iterator[KeyphraseDocument]:
    for line, raw in read_lines(path):
        if not raw.strip():
            continue
        record = json_object(raw, path, line)
        text, title, phrases = record.get("text"), record.get("title", ""), record.get("keyphrases")
        if not isinstance(text, str) or not isinstance(title, str):
            raise CorpusError(f"has no text 'text'. It has: {', '.join(record)}.", path, line)
        if not isinstance(phrases, list) or not all(isinstance(phrase, str) for phrase in phrases):
            raise CorpusError('has no list of texts \'keyphrases\'. Add it: "keyphrases": ["..."].', path, line)
        whole = f"{title}\n{text}" if title else text
        yield KeyphraseDocument(f"{number}.{line}", path, line, whole, _split("\n".join(phrases), "\n"))


def unfolded(text: str) -> str:
    """Join the long lines that Inspec breaks, in whichever format it comes, continuing them after a tab.

    >>> unfolded("  A title\\r\\nThe abstract\\n\\tgoes on.\\r\\n")
    'A title\\nThe abstract goes on.'
    """
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("\t") and lines:
            lines[-1] += f" {line.strip()}"
        elif line.strip():
            lines.append(line.strip())
    return "\n".join(lines)


def has_two_lists(phrases: str) -> bool:
    """Whether a file of phrases holds two lists, told by a line break of another kind after the first.

    >>> has_two_lists("quantum games\\ninitial state\\r\\ngame theory\\r\\n"), has_two_lists("a\\r\\nb\\r\\n")
    (True, False)
    """
    lines = phrases.strip().splitlines(keepends=True)[:-1]
    return {line.endswith("\r\n") for line in lines} == {True, False}


def _split(phrases: str, mark: str) -> tuple[str, ...]:
    """Phrases with single spaces, each once."""
    spaced = (" ".join(phrase.split()) for phrase in phrases.split(mark))
    return tuple(dict.fromkeys(phrase for phrase in spaced if phrase))
