"""The span tasks, which of them a file can answer, and how its texts are read.

A new task is a line in OWN, and one in TEXT_READERS with the reader of its files. A task that has a format of its own
says how to read it, and may be added from elsewhere (see ADDED).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from headatlas.corpora.coreference.read import detect_format
from headatlas.corpora.files import at_least_one, read_lines
from headatlas.corpora.spans.spans import BIO_TAG, SpanText, is_marked, read_bio, read_jiant, read_marked_relations
from headatlas.corpora.spans.targets import NONE, TREE_TASKS, tree_targets
from headatlas.corpora.treebanks.columns import COLUMNS, HEAD_LABEL
from headatlas.corpora.treebanks.read import is_doc_bin, read_treebank
from headatlas.errors import CorpusError, SettingError
from headatlas.plugins import Registry

ALL = "all"
COREFERENCE = "coreference"


@dataclass(frozen=True)
class SpanTask:
    """A question about spans."""

    name: str
    negative: str | None = None  # the label that means there is nothing
    links: bool = False  # asks whether two spans are joined, which attention between them can answer
    # Of a task with a format of its own: what its files are called, how they are read, and how one is recognised
    files: str = ""
    read: Callable[[Sequence[Path], Counter[str]], Iterator[SpanText]] | None = None
    holds: Callable[[Path], bool] = lambda _path: False


OWN = {
    task.name: task
    for task in (
        SpanTask("pos"),
        SpanTask("dependencies"),
        SpanTask("arcs", NONE, links=True),
        SpanTask("entities"),
        SpanTask(COREFERENCE, NONE, links=True),
        SpanTask("relations", "Other"),
    )
}
ADDED: Registry[SpanTask] = Registry("headatlas.spans", "span task", {})
"""Tasks with formats of their own, added by the folders of commands and by other packages."""

TEXT_READERS: dict[str, Callable[[Path, int, str], Iterator[SpanText]]] = {
    "entities": read_bio,
    "relations": read_marked_relations,
}


def choose_tasks(names: Sequence[str], parts: Sequence[Sequence[Path]]) -> list[SpanTask]:
    """The tasks of these names; `all` are those that the first file of every part can answer."""
    chosen = dict.fromkeys(names)
    if ALL in chosen:
        answered = [tasks_in(paths[0]) for paths in parts]
        shared = [name for name in answered[0] if all(name in others for others in answered[1:])]
        if not shared:
            files = " and ".join(
                f"{paths[0].name} ({', '.join(tasks)})" for paths, tasks in zip(parts, answered, strict=True)
            )
            raise SettingError(f"{files} have no task in common. Give two parts of one corpus.")
        chosen = dict.fromkeys(name for given in chosen for name in (shared if given == ALL else [given]))
    for name in chosen:
        if not re.fullmatch(r"\w[\w.-]*", name):
            raise SettingError(f"--task {name}: use only letters, digits, dots, hyphens and underscores in a name.")
        if name not in OWN and name not in ADDED and not all(is_json(path) for paths in parts for path in paths):
            known = ", ".join((*OWN, *ADDED, ALL))
            raise SettingError(f"--task {name} is unknown. Use one of: {known}; or any name with files in JSON lines.")
    return [OWN.get(name) or ADDED.get(name) or SpanTask(name) for name in chosen]


def tasks_in(path: Path) -> tuple[str, ...]:
    """The tasks that a file can answer, by its first lines."""
    if is_json(path):
        raise SettingError(f"{path}: JSON lines do not say which task they are for. Name it: --task NAME.")
    if added := tuple(name for name, task in ADDED.items() if task.holds(path)):
        return added
    if path.is_dir():
        raise CorpusError(_unknown_format(), path)
    if path.suffix == ".spacy" or is_doc_bin(path):
        return _tree_tasks(path)
    for _, raw in read_lines(path):
        line = raw.rstrip("\r\n")
        if not line.strip() or line.startswith("#"):
            if line.startswith("#begin document"):
                break
            continue
        if is_marked(line):
            return ("relations",)
        if HEAD_LABEL.fullmatch(line):
            return _tree_tasks(path)
        if line.count("\t") == COLUMNS - 1:
            marked = any("Entity=" in row for _, row in read_lines(path))
            return (*_tree_tasks(path), COREFERENCE) if marked else _tree_tasks(path)
        if len(line.split()) > 1 and BIO_TAG.fullmatch(line.split()[-1]):
            return ("entities",)
        break
    try:
        detect_format(path)
    except CorpusError as error:
        raise CorpusError(_unknown_format(), path, error.line) from error
    return (COREFERENCE,)


def _unknown_format() -> str:
    formats = ["a treebank", "coreference", "B- and I- tags in columns", "marked relations", "JSON lines"]
    known = ", ".join([*formats, *(task.files for task in ADDED.values())])
    return f"is in none of the formats of span tasks: {known}. Name its task with --task to see what is wrong."


def is_json(path: Path) -> bool:
    """Whether the name of the file says that it contains JSON lines."""
    return bool({".jsonl", ".json"} & set(path.suffixes))


def read_span_texts(
    paths: Iterable[Path], tasks: Sequence[str], seed: int, left_out: Counter[str]
) -> Iterator[SpanText]:
    """Stream the texts of all files with the targets of these tasks, except coreference, whose texts are documents.

    seed: of the sampled pairs of words that are not an arc. What is left out is counted by reason.
    """
    paths = list(paths)
    trees = [task for task in tasks if task in TREE_TASKS and not all(map(is_json, paths))]
    if trees:
        for sentence in read_treebank(paths, "auto", left_out):
            yield SpanText(sentence.id, sentence.path, sentence.words, tree_targets(sentence, trees, seed))
        return
    (task,) = tasks
    if (added := ADDED.get(task)) and added.read:
        yield from added.read(paths, left_out)
        return
    for file, path in enumerate(paths):
        texts = (read_jiant if is_json(path) else TEXT_READERS[task])(path, file, task)
        yield from at_least_one(texts, f"has no text for the task {task}. Give a file with labelled spans.", path)


def _tree_tasks(path: Path) -> tuple[str, ...]:
    """The tasks of a treebank that its first sentence can answer."""
    first = next(read_treebank([path], "auto", Counter()), None)
    return tuple(task for task in TREE_TASKS if task != "pos" or (first and all(first.tags)))
