"""Trees for text that has no treebank: an installed spaCy pipeline parses it.

What such trees say about a head includes the parser's own mistakes; a treebank, where there is one, is better.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from headatlas.corpora.text import TextLine
from headatlas.corpora.treebanks.checks import make_sentence
from headatlas.corpora.treebanks.sentence import Sentence
from headatlas.corpora.treebanks.spacy_docs import find_trees, import_spacy
from headatlas.errors import SettingError

LINES_AT_ONCE = 128


def parse_text(lines: Iterable[TextLine], pipeline: str, left_out: Counter[str] | None = None) -> Iterator[Sentence]:
    """Stream the parsed sentences of the lines; `pipeline` is the name of a spaCy pipeline or its folder.

    Sentences keep the document of their line and are numbered through each document. One whose heads form no tree is
    counted in `left_out`, without which it raises.
    """
    files: dict[Path, int] = {}
    next_number: Counter[str] = Counter()
    parser = load_parser(pipeline)
    for doc, line in parser.pipe(((line.text, line) for line in lines), as_tuples=True, batch_size=LINES_AT_ONCE):
        document = f"{files.setdefault(line.path, len(files))}.{line.document}"
        for tree in find_trees(doc, line.path, line.number):
            sentence = make_sentence(tree, f"{document}.{next_number[document]}", left_out)
            next_number[document] += 1
            if sentence:
                yield sentence


def load_parser(pipeline: str) -> Any:
    """The spaCy pipeline of that name or folder, which must hold a dependency parser."""
    nlp = load_pipeline(pipeline)
    if not any("token.dep" in nlp.get_pipe_meta(name).assigns for name in nlp.pipe_names):
        parts = ", ".join(nlp.pipe_names) or "nothing"
        raise SettingError(
            f"The spaCy pipeline {pipeline} has no parser (it has {parts}). Take one that has, such as en_core_web_sm."
        )
    return nlp


def load_pipeline(pipeline: str) -> Any:
    """The spaCy pipeline of that name or folder."""
    spacy = import_spacy()
    try:
        return spacy.load(pipeline)
    except OSError as error:
        if Path(pipeline).exists():
            problem = f"{pipeline} holds no spaCy pipeline. Give the folder that has its config.cfg, or a name."
            raise SettingError(problem) from error
        raise SettingError(
            f"The spaCy pipeline {pipeline} is not installed. Install it: python -m spacy download {pipeline}; "
            "or give the folder of one."
        ) from error
    except (ImportError, ValueError) as error:
        problem = f"The spaCy pipeline {pipeline} does not load ({error}). Install what it needs, or fetch it again."
        raise SettingError(problem) from error
