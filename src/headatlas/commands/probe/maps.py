"""The attention maps that probes read: from two given stores, or extracted beside the results; and the control's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headatlas.commands.extract.options import extract
from headatlas.commands.probe.options import ProbeOptions
from headatlas.corpora.files import PARTS, describe_files
from headatlas.corpora.treebanks.label_sets import LabelSet, labels_of
from headatlas.engine.settings import differences
from headatlas.errors import SettingError
from headatlas.models.model import Model
from headatlas.store.reading import Store, open_store
from headatlas.store.stored_model import stored_sentences, stored_unknown

FLAGS = {"train": "--treebank", "eval": "--eval"}
MAPS = "maps"
_OF_THE_MODEL = ("model", "weights", "random_weights", "dtype", "attention")
_OF_THE_SAMPLE = ("sentences", "seed", "max_tokens", "format")

Stores = Mapping[str, Store]  # of each of PARTS
PartFiles = Mapping[str, Sequence[Path]]


def open_maps(options: ProbeOptions, files: PartFiles, folder: Path, states: bool) -> Stores:
    """Open the given stores, or extract maps into a folder, with hidden states if the structural probe needs them."""
    if options.maps_train is not None and options.maps_eval is not None:
        return _open_given({"train": options.maps_train, "eval": options.maps_eval}, files)
    if options.model is None:
        raise SettingError("No model given.")
    loaded = options.load(options.model, seed=options.seed)
    sample = {"max_tokens": options.max_tokens, "format": options.format, "seed": options.seed}
    limits = {"train": options.sentences, "eval": None}
    return {
        part: _extract(loaded, options, files[part], folder / MAPS / part, states, sample | {"sentences": limits[part]})
        for part in PARTS
    }


def extract_control(options: ProbeOptions, files: PartFiles, folder: Path, stores: Stores) -> Stores:
    """Extract the maps of the same network with random weights on the same sentences."""
    random_model = options.load(str(options.model), seed=options.seed, random_weights=True)
    controls = {}
    for part, store in stores.items():
        sample = {name: store.index.settings[name] for name in _OF_THE_SAMPLE}
        maps = folder / MAPS / f"{part}-random"
        controls[part] = _extract(random_model, options, files[part], maps, False, sample)
        if _sentences(controls[part]) != _sentences(store):
            raise SettingError(
                f"{controls[part].folder}: the control reads other sentences than {store.folder}, so the two cannot "
                "be compared. Is MODEL the model that these maps come from?"
            )
    return controls


def _extract(
    model: Model, options: ProbeOptions, files: Sequence[Path], folder: Path, states: bool, sample: Mapping[str, Any]
) -> Store:
    return extract(
        model,
        treebank=files,
        out=folder,
        hidden_states=states,
        batch_tokens=options.batch_tokens,
        attention=options.attention,
        progress=options.progress,
        **sample,
    )


def _open_given(folders: Mapping[str, str | Path], files: PartFiles) -> Stores:
    """Open two stores of one model; treebanks given as well must be those that the maps were made from."""
    stores = {part: open_store(folder) for part, folder in folders.items()}
    for part, store in stores.items():
        store.word_maps()  # refuses maps between tokens
        if part in files:
            _check_belonging(part, store, files[part])
    if differing := differences(_model_of(stores["train"]), _model_of(stores["eval"])):
        raise SettingError(
            f"{stores['train'].folder} and {stores['eval'].folder} come from different models "
            f"({'; '.join(differing)}). Extract both from the same one."
        )
    return stores


def _check_belonging(part: str, store: Store, files: Sequence[Path]) -> None:
    made_from = [record for about in store.index.corpora.values() for record in about["files"]]
    if [record["sha256"] for record in describe_files(files)] != [record["sha256"] for record in made_from]:
        names = ", ".join(Path(record["file"]).name for record in made_from)
        raise SettingError(
            f"{store.folder}: these maps were made from {names or 'no treebank'}, not from what {FLAGS[part]} gives "
            f"({', '.join(map(str, files))}). Omit {FLAGS[part]}, or extract its maps."
        )


def check_stores(stores: Stores, force: bool) -> LabelSet:
    """Return the label set of both treebanks; refuse two that differ, and sentences that are all the same."""
    label_sets = {part: labels_of(stored_sentences(store)) for part, store in stores.items()}
    if label_sets["train"] != label_sets["eval"]:
        raise SettingError(
            f"The treebanks have different relations: {label_sets['train'].name} to train on, "
            f"{label_sets['eval'].name} to score on. Give two parts of one treebank."
        )
    if not force and also_in_train(stores) == len(stores["eval"]):
        raise SettingError(
            "Every sentence to score on is also one to train on. Give another file with --eval, or add --force."
        )
    return label_sets["eval"]


def also_in_train(stores: Stores) -> int:
    """Count the sentences to score on that have the same words as one to train on."""
    known = {example.words for example in stores["train"].examples}
    return sum(example.words in known for example in stores["eval"].examples)


def describe_part(store: Store) -> dict[str, Any]:
    """Describe the sentences of a store for the manifest."""
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


def _sentences(store: Store) -> list[tuple[str, tuple[str, ...] | None]]:
    return [(example.id, example.words) for example in store.examples]


def _model_of(store: Store) -> dict[str, Any]:
    return {name: store.index.settings.get(name) for name in _OF_THE_MODEL} | {"heads": store.index.model["heads"]}
