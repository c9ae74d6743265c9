"""Where the maps of a probing run come from: stores that are given, or extracted from a model beside the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headatlas.commands.survey.stored import stored_unknown
from headatlas.corpora.files import PARTS, describe_files
from headatlas.corpora.treebanks.label_sets import LabelSet
from headatlas.engine.settings import differences
from headatlas.errors import SettingError
from headatlas.store.examples import label_set_of
from headatlas.store.reading import Store, open_store

OPTIONS = {"train": "--treebank", "eval": "--eval"}
_OF_THE_MODEL = ("model", "weights", "random_weights", "dtype", "attention")


@dataclass(frozen=True)
class Pair:
    """Maps to train on and maps to score on."""

    train: Store
    eval: Store


def open_pair(folders: Mapping[str, str | Path], files: Mapping[str, Sequence[Path]]) -> Pair:
    """Stores that are given. files: treebanks given beside them, which must be those the maps were made from."""
    stores = {part: open_store(folder) for part, folder in folders.items()}
    for part, store in stores.items():
        store.word_maps()  # refuses maps between tokens
        _check_belonging(part, store, files.get(part))
    if differing := differences(_model_of(stores["train"]), _model_of(stores["eval"])):
        raise SettingError(
            f"{stores['train'].folder} and {stores['eval'].folder} come from different models "
            f"({'; '.join(differing)}). Extract both from the same one."
        )
    return Pair(stores["train"], stores["eval"])


def check_pair(pair: Pair, force: bool) -> LabelSet:
    """The label set of both treebanks; refused where they differ or the sentences are the same."""
    found = {part: label_set_of(getattr(pair, part).examples) for part in PARTS}
    if found["train"] != found["eval"]:
        raise SettingError(
            f"The treebanks speak of different relations: {found['train'].name} to train on, {found['eval'].name} to "
            "score on. Give two parts of one treebank."
        )
    if not force and also_in_train(pair) == len(pair.eval):
        raise SettingError(
            "Every sentence to score on is one to train on too. Give another file with --eval, or --force."
        )
    return found["eval"]


def also_in_train(pair: Pair) -> int:
    """How many sentences to score on have the very words of one to train on."""
    known = {example.words for example in pair.train.examples}
    return sum(example.words in known for example in pair.eval.examples)


def describe_part(store: Store) -> dict[str, Any]:
    """What the manifest says of the sentences of a store."""
    about = store.index.corpora.get("treebank", {"files": [], "left_out": {}})
    return {
        "files": about["files"],
        "documents": len({example.document for example in store.examples}),
        "sentences": len(store),
        "words": sum(len(example.words or ()) for example in store.examples),
        "tokens": sum(map(len, store.examples)),
        "unknown": stored_unknown(store),
        "left_out": about["left_out"],
        "maps": str(store.folder),
    }


def _check_belonging(part: str, store: Store, files: Sequence[Path] | None) -> None:
    if files is None:
        return
    given = [record["sha256"] for record in describe_files(files)]
    made_from = [record["sha256"] for about in store.index.corpora.values() for record in about["files"]]
    if given != made_from:
        names = ", ".join(
            Path(record["file"]).name for about in store.index.corpora.values() for record in about["files"]
        )
        raise SettingError(
            f"{store.folder}: these maps were made from {names or 'no treebank'}, not from what {OPTIONS[part]} gives "
            f"({', '.join(map(str, files))}). Leave {OPTIONS[part]} out, or extract its maps."
        )


def _model_of(store: Store) -> dict[str, Any]:
    return {name: store.index.settings.get(name) for name in _OF_THE_MODEL} | {"heads": store.index.model["heads"]}
