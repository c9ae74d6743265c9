"""Texts with their targets and the hidden states of their tokens, read once for all tasks of one corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headatlas.commands.extract.run import keep_inputs
from headatlas.commands.layers.options import LayerOptions
from headatlas.corpora.coreference.read import read_coreference
from headatlas.corpora.files import PARTS, describe_files
from headatlas.corpora.sampling import draw
from headatlas.corpora.spans.targets import TREE_TASKS
from headatlas.corpora.spans.tasks import COREFERENCE, SpanTask, is_json, read_span_texts
from headatlas.encoding.span_segments import SpanSegment, coreference_segments, span_segments
from headatlas.encoding.unknown import count_unknown
from headatlas.errors import CorpusError, SettingError
from headatlas.models.model import Model
from headatlas.probes.training import FEWEST_SENTENCES
from headatlas.store.reading import Store

MapFiles = Mapping[str, Sequence[Path]]


@dataclass(frozen=True)
class Part:
    """The texts to train on, or those to score on."""

    segments: list[SpanSegment]
    about: dict[str, Any]  # for the manifest


@dataclass(frozen=True)
class Source:
    """The texts that some tasks share."""

    tasks: tuple[SpanTask, ...]
    parts: Mapping[str, Part]

    @property
    def name(self) -> str:
        """Its name in folders."""
        return "+".join(task.name for task in self.tasks)


def families(tasks: Sequence[SpanTask], files: MapFiles) -> list[tuple[SpanTask, ...]]:
    """Group the tasks by texts: those of a treebank together, every other by itself."""
    if all(is_json(path) for paths in files.values() for path in paths):
        return [(task,) for task in tasks]
    trees = tuple(task for task in tasks if task.name in TREE_TASKS)
    return [*([trees] if trees else []), *((task,) for task in tasks if task not in trees)]


def read_source(tasks: tuple[SpanTask, ...], files: MapFiles, model: Model, options: LayerOptions) -> Source:
    """Read and encode both parts; refuse what cannot be trained or scored."""
    parts = {part: _read_part(tasks, part, files[part], model, options) for part in PARTS}
    known = {segment.text for segment in parts["train"].segments}
    parts["eval"].about["also_in_train"] = sum(segment.text in known for segment in parts["eval"].segments)
    for task in tasks:
        _check_task(task.name, parts)
    return Source(tasks, parts)


def keep_states(source: Source, part: str, model: Model, folder: Path, options: LayerOptions) -> Store:
    """Store the hidden states of a part's texts, and their maps if heads are mixed; open them if they are stored."""
    about = source.parts[part].about
    return keep_inputs(
        model,
        source.parts[part].segments,
        (),
        corpora={source.name: {name: about[name] for name in ("files", "left_out")}},
        settings={
            "corpus": [record["sha256"] for record in about["files"]],
            "tasks": source.name,
            "max_tokens": options.max_tokens,
            "limit": options.limit(part),
            "seed": options.seed,
            "batch_tokens": options.batch_tokens,
        },
        out=folder,
        level="tokens",
        maps=options.heads and any(task.links for task in source.tasks),
        hidden_states=True,
        batch_tokens=options.batch_tokens,
        stack=model.choose_stack(options.attention),
        progress=options.progress,
    )


def _read_part(
    tasks: tuple[SpanTask, ...], part: str, files: Sequence[Path], model: Model, options: LayerOptions
) -> Part:
    left_out: Counter[str] = Counter()
    reading: dict[str, Any] = {"max_tokens": options.max_tokens, "left_out": left_out}
    names = [task.name for task in tasks]
    if names == [COREFERENCE] and not any(map(is_json, files)):
        documents = read_coreference(files, left_out=left_out)
        segments = coreference_segments(documents, model.tokenizer, COREFERENCE, seed=options.seed, **reading)
    else:
        texts = read_span_texts(files, names, options.seed, left_out)
        segments = span_segments(texts, model.tokenizer, **reading)
    chosen = draw(segments, options.limit(part), options.seed, key=lambda segment: f"limit {segment.id}")
    left_out["text_beyond_the_limit"] += len(segments) - len(chosen)
    about = {
        "kind": "spans",
        "files": describe_files(list(files)),
        "texts": len(chosen),
        "words": sum(segment.size for segment in chosen),
        "tokens": sum(map(len, chosen)),
        "unknown": count_unknown(chosen, model.tokenizer),
        "targets": {name: sum(len(segment.targets[name]) for segment in chosen) for name in names},
        "left_out": {reason: count for reason, count in sorted(left_out.items()) if count},
    }
    return Part(chosen, about)


def _check_task(task: str, parts: Mapping[str, Part]) -> None:
    """Refuse a task without enough texts, two labels, or the same kind of targets in both parts."""
    texts = {part: [segment for segment in parts[part].segments if segment.targets[task]] for part in PARTS}
    for part in PARTS:
        if not texts[part]:
            names = ", ".join(record["file"] for record in parts[part].about["files"])
            reasons = ", ".join(f"{reason} {count:,}" for reason, count in parts[part].about["left_out"].items())
            raise SettingError(
                f"--{part} {names}: has no target for the task {task}{f' ({reasons})' if reasons else ''}."
            )
    if len(texts["train"]) < FEWEST_SENTENCES:
        raise SettingError(
            f"{len(texts['train'])} texts with targets are too few to train on for the task {task}: give at least "
            f"{FEWEST_SENTENCES} with --train. A useful probe needs thousands."
        )
    spans = None
    for part in PARTS:
        for target in (target for segment in texts[part] for target in segment.targets[task]):
            spans = spans or len(target.spans)
            if len(target.spans) != spans:
                problem = f"has a target of {len(target.spans)} spans, while others of the task {task} have {spans}"
                raise CorpusError(f"{problem}. Give one kind of target.", target.path, target.line)
    labels = {
        part: {label for segment in texts[part] for target in segment.targets[task] for label in target.labels}
        for part in PARTS
    }
    if len(labels["train"]) < 2:
        only = next(iter(labels["train"]), "none")
        raise SettingError(f"The task {task} has only one label in training ({only}). Give texts with at least two.")
    if not labels["train"] & labels["eval"]:
        names_of_eval = ", ".join(sorted(labels["eval"])[:5])
        raise SettingError(
            f"No label of --eval ({names_of_eval}) occurs in --train: these are two tasks. Give parts of one corpus."
        )
