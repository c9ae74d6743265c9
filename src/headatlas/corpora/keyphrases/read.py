"""Documents with keyphrases that people gave them.

Three layouts are read:

- ``inspec``: a folder or zip of ``NAME.abstr`` (title and abstract) beside ``NAME.uncontr`` and ``NAME.contr``, phrases
  with semicolons between them (Hulth 2003). The uncontrolled phrases are taken, as is usual; ``inspec-controlled``
  takes those of the thesaurus;
- ``folders``: a folder or zip with ``docsutf8/NAME.txt`` and ``keys/NAME.key``, a phrase a line (SemEval-2010 and -2017
  and others as the LIAAD collection packs them);
- ``jsonl``: a JSON object a line with ``text`` (and ``title`` where there is one) and ``keyphrases``, a list.

``auto`` tells them apart by the names of the files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal, get_args

from headatlas.corpora.archives import Archive, decode, open_archive
from headatlas.corpora.files import each_once
from headatlas.corpora.lines import read_lines
from headatlas.corpora.rows import json_object
from headatlas.errors import CorpusError, printable

KeyphraseFormat = Literal["auto", "inspec", "inspec-controlled", "folders", "jsonl"]
KEYPHRASE_FORMATS: tuple[str, ...] = get_args(KeyphraseFormat)
_INSPEC_KEYS = {"inspec": ".uncontr", "inspec-controlled": ".contr"}
_TEXTS, _KEYS = "docsutf8", "keys"


@dataclass(frozen=True)
class KeyphraseDocument:
    """A text and its keyphrases, each as its file spells it."""

    id: str  # "file.name": the file's number in reading order, the document's own name or its line
    path: Path
    line: int | None  # from 1, where a file holds many
    text: str  # a line break where a title or paragraph ends
    keyphrases: tuple[str, ...]


def read_keyphrases(
    paths: Iterable[Path], layout: KeyphraseFormat = "auto", left_out: Counter[str] | None = None
) -> Iterator[KeyphraseDocument]:
    """Stream the documents of all files, folders and zips, in order.

    A document without text or without keyphrases is passed over and counted in `left_out` by reason.
    """
    counted = Counter[str]() if left_out is None else left_out
    for number, path in each_once(paths, "documents"):
        found = 0
        for document in _documents(path, number, layout, counted):
            if not document.text.strip():
                counted["document_without_text"] += 1
            elif not document.keyphrases:
                counted["document_without_keyphrases"] += 1
            else:
                found += 1
                yield document
        if not found:
            raise CorpusError("holds no document with a text and keyphrases.", path)


def _documents(path: Path, number: int, layout: KeyphraseFormat, counted: Counter[str]) -> Iterator[KeyphraseDocument]:
    zipped = path.suffix.lower() == ".zip"
    if not path.is_dir() and not zipped:
        if layout not in ("auto", "jsonl"):
            raise CorpusError(f"is a file, but {layout} is a folder or a zip.", path)
        yield from _json_lines(path, number)
        return
    if layout == "jsonl":
        raise CorpusError("is no .jsonl file. Name the file.", path)
    with open_archive(path) as archive:
        names = archive.names()
        if layout in _INSPEC_KEYS or (layout == "auto" and any(name.suffix == ".abstr" for name in names)):
            yield from _inspec(archive, names, number, _INSPEC_KEYS.get(layout, ".uncontr"), counted)
        elif any(name.parent.name == _TEXTS for name in names):
            yield from _folders(archive, names, number, counted)
        else:
            raise CorpusError(
                f"is of no known layout. Give a folder or zip with NAME.abstr and NAME.uncontr, or with "
                f"{_TEXTS}/NAME.txt and {_KEYS}/NAME.key, or a .jsonl file with text and keyphrases.",
                path,
            )


def _inspec(
    archive: Archive, names: list[PurePosixPath], number: int, suffix: str, counted: Counter[str]
) -> Iterator[KeyphraseDocument]:
    there = set(names)
    for name in names:
        if name.suffix != ".abstr":
            continue
        path, keys = archive.path / name, name.with_suffix(suffix)
        phrases = decode(archive.read(keys), archive.path / keys, counted) if keys in there else ""
        text = unfolded(decode(archive.read(name), path, counted))
        yield KeyphraseDocument(f"{number}.{printable(name.stem)}", path, None, text, _split(phrases, ";"))


def _folders(
    archive: Archive, names: list[PurePosixPath], number: int, counted: Counter[str]
) -> Iterator[KeyphraseDocument]:
    there = set(names)
    for name in names:
        if name.parent.name != _TEXTS or name.suffix != ".txt":
            continue
        path, keys = archive.path / name, name.parent.parent / _KEYS / f"{name.stem}.key"
        phrases = decode(archive.read(keys), archive.path / keys, counted) if keys in there else ""
        text = decode(archive.read(name), path, counted)
        yield KeyphraseDocument(f"{number}.{printable(name.stem)}", path, None, text, _split(phrases, "\n"))


def _json_lines(path: Path, number: int) -> Iterator[KeyphraseDocument]:
    for line, raw in read_lines(path):
        if not raw.strip():
            continue
        found = json_object(raw, path, line)
        text, title, phrases = found.get("text"), found.get("title", ""), found.get("keyphrases")
        if not isinstance(text, str) or not isinstance(title, str):
            raise CorpusError(f"has no text 'text'. It has: {', '.join(found)}.", path, line)
        if not isinstance(phrases, list) or not all(isinstance(phrase, str) for phrase in phrases):
            raise CorpusError("needs 'keyphrases', a list of texts.", path, line)
        whole = f"{title}\n{text}" if title else text
        yield KeyphraseDocument(f"{number}.{line}", path, line, whole, _split("\n".join(phrases), "\n"))


def unfolded(text: str) -> str:
    """Inspec breaks long lines and lets the rest begin with a tab: put them together again.

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


def _split(phrases: str, mark: str) -> tuple[str, ...]:
    """Phrases with single spaces, each once."""
    found = (" ".join(phrase.split()) for phrase in phrases.split(mark))
    return tuple(dict.fromkeys(phrase for phrase in found if phrase))
