"""Trees for text that has no treebank: an installed spaCy pipeline parses it.

Scores on such trees include the parser's mistakes, so use a treebank if there is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from headatlas.corpora.text import TextLine
from headatlas.corpora.treebanks.sentence import Sentence, is_tree
from headatlas.corpora.treebanks.spacy_docs import import_spacy, read_doc
from headatlas.errors import SettingError

LINES_AT_ONCE = 128


def parse_text(lines: Iterable[TextLine], pipeline: str, left_out: Counter[str] | None = None) -> Iterator[Sentence]:
    """Stream the parsed sentences of the lines; `pipeline` is the name of a spaCy pipeline or its folder.

    Sentences keep the document of their line and are numbered through each document. One whose heads do not form a
    tree is counted in `left_out`, without which it raises.
    """
    files: dict[Path, int] = {}
    next_number: Counter[str] = Counter()
    parser = load_parser(pipeline)
    for doc, line in parser.pipe(((line.text, line) for line in lines), as_tuples=True, batch_size=LINES_AT_ONCE):
        document = f"{files.setdefault(line.path, len(files))}.{line.document}"
        for sentence in read_doc(doc, line.path, line.number):
            if is_tree(sentence, left_out):
                yield replace(sentence, id=f"{document}.{next_number[document]}")
            next_number[document] += 1


def load_parser(pipeline: str) -> Any:
    """Load a spaCy pipeline by name or folder; it must have a dependency parser."""
    nlp = load_pipeline(pipeline)
    if not any("token.dep" in nlp.get_pipe_meta(name).assigns for name in nlp.pipe_names):
        parts = ", ".join(nlp.pipe_names) or "nothing"
        raise SettingError(
            f"The spaCy pipeline {pipeline} has no parser (it has {parts}). Use one that has, such as en_core_web_sm."
        )
    return nlp


def load_pipeline(pipeline: str) -> Any:
    """Load a spaCy pipeline by name or folder."""
    spacy = import_spacy()
    try:
        return spacy.load(pipeline)
    except OSError as error:
        if Path(pipeline).exists():
            problem = f"{pipeline} does not contain a spaCy pipeline. Give the folder with its config.cfg, or a name."
            raise SettingError(problem) from error
        raise SettingError(
            f"The spaCy pipeline {pipeline} is not installed. Install it: python -m spacy download {pipeline}; "
            "or give its folder."
        ) from error
    except (ImportError, ValueError) as error:
        problem = f"The spaCy pipeline {pipeline} cannot be loaded ({error}). Install what it needs, or fetch it again."
        raise SettingError(problem) from error
