"""Documents that Python callers give themselves, in place of files: a text, a list of texts, or any iterable of them.

They are written to a file that lasts as long as this process, so that everything else reads files.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from headatlas.corpora.text import split_sentences
from headatlas.errors import CorpusError
from headatlas.remote import fetched_folder, is_url, name_origin
from headatlas.wording import counted

_LIKE_A_PATH = re.compile(r"[!-~]+|.*[^\s.]\.[a-z0-9]{1,6}")  # one word of ASCII, or something with a suffix

Texts = str | Path | Iterable[str | Path]
"""Files, or the documents themselves."""


def documents_in(given: Texts) -> Iterable[str] | None:
    """Return the documents that were given themselves; None if files are named.

    A list is one of files if its first entry names a file; any other iterable holds documents.

    >>> documents_in("wiki.txt"), documents_in(["a.txt", "b.txt.gz"])
    (None, None)
    >>> documents_in("It rained. Nobody minded.")
    ['It rained. Nobody minded.']
    """
    if isinstance(given, str | Path):
        return None if _names_a_file(given) else re.split(r"\n\s*\n", str(given))
    if not isinstance(given, list | tuple):
        return given  # type: ignore[return-value]  # checked one by one as they are written
    first = next((item for item in given if not isinstance(item, str) or item.strip()), None)
    return None if not given or (isinstance(first, str | Path) and _names_a_file(first)) else given


def write_documents(documents: Iterable[str]) -> Path:
    """Write documents as a file, one sentence or paragraph per line, an empty line between documents.

    A document of a single line is split into sentences.
    """
    digest, count = hashlib.sha256(), 0
    target = fetched_folder() / "documents.txt"
    with target.open("wb") as file:
        for number, document in enumerate(documents, start=1):
            if lines := list(_lines_of(document, number)):
                count += 1
                content = _encoded("\n".join([*lines, "", ""]), number)
                digest.update(content)
                file.write(content)
    if not count:
        raise CorpusError("No text is given: there are no documents, or they are empty.")
    path = target.replace(target.with_name(f"{digest.hexdigest()}.txt"))
    name_origin(path, f"{counted(count, 'document')} in memory")
    return path


def _names_a_file(item: str | Path) -> bool:
    """Whether something names a file, be it a wrong name, and is not a text."""
    if isinstance(item, Path) or is_url(item):
        return True
    if "\n" in item or not item.strip():
        return False
    try:
        return bool(_LIKE_A_PATH.fullmatch(item)) or Path(item).exists()
    except (OSError, ValueError):  # too long for a path
        return False


def _lines_of(document: object, number: int) -> Iterator[str]:
    if not isinstance(document, str):
        column = ' Give one column, such as dataset["text"].' if isinstance(document, dict) else ""
        raise CorpusError(f"Document {number:,} is not a text but of type {type(document).__name__}.{column}")
    lines = [line.strip() for line in document.splitlines() if line.strip()]
    return iter(split_sentences(lines[0]) if len(lines) == 1 else lines)


def _encoded(text: str, number: int) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise CorpusError(
            f"Document {number:,} holds half of a character (a lone surrogate). Decode it again."
        ) from error
