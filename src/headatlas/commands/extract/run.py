"""`extract`: the maps of a model on a treebank or a text, kept in a store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from headatlas.choices import DeviceMap
from headatlas.commands.extract.storing import SHARD_MEGABYTES, Advance, fill_store
from headatlas.commands.survey.settings import ExtractSettings
from headatlas.corpora.files import Files, describe_files, find_files
from headatlas.corpora.text import TextFormat, read_text
from headatlas.corpora.treebanks.read import TreebankFormat, read_treebank
from headatlas.corpora.treebanks.sentence import Sentence
from headatlas.encoding.segments import Segment, SegmentStyle, sample_segments
from headatlas.encoding.shards import Shard
from headatlas.encoding.word_segments import parsed_segments
from headatlas.engine.locking import alone_in_out
from headatlas.errors import SettingError
from headatlas.models.identity import describe_model, model_identity
from headatlas.models.loading import choose_device, choose_dtype, open_model
from headatlas.models.model import Model, check_length
from headatlas.models.stacks import Stack
from headatlas.remote import local_folder, send
from headatlas.store.examples import Level, StoredExample, Tensors, example_of
from headatlas.store.index import Index
from headatlas.store.reading import Store
from headatlas.store.word_maps import observe_maps
from headatlas.versions import versions

PLACES = "places"  # of a shard's examples in the whole, in its index


@alone_in_out("extract")
def extract(
    model: str | Model,
    *,
    treebank: Files | None = None,
    text: Files | None = None,
    out: str | Path,
    level: Level | None = None,
    hidden_states: bool = False,
    dtype_stored: str = "float16",
    shard_megabytes: int = SHARD_MEGABYTES,
    segments: int = 1000,
    sentences: int | None = None,
    max_tokens: int = 128,
    batch_tokens: int = 4096,
    device: str = "auto",
    dtype: str = "float32",
    seed: int = 0,
    revision: str | None = None,
    random_weights: bool = False,
    text_format: TextFormat = "auto",
    treebank_format: TreebankFormat = "auto",
    segment_style: SegmentStyle = "auto",
    stack: Stack | None = None,
    trust_remote_code: bool = False,
    device_map: DeviceMap | None = None,
    shard: str | None = None,
    progress: bool = True,
) -> Store:
    """Keep a model's attention maps on disk, and its hidden states if asked for; return the store, opened.

    >>> store = extract("bert-base-uncased", treebank="train.conllu", out="maps")   # doctest: +SKIP
    >>> store[0].words, store[0].maps.shape                                          # doctest: +SKIP

    An extraction that was stopped continues when called again with the same arguments; a finished one is opened.
    level: "words" (what a treebank gives by default) or "tokens" (what text gives).
    dtype_stored: float16, or float32 for maps exactly as the model gives them.
    shard_megabytes: about how large each file becomes.
    shard: "2/8" keeps the second eighth of the inputs; `merge` makes one store of all.
    sentences: so many of the treebank's, drawn by the seed; by default all.
    The other arguments are those of `survey`.
    """
    corpus, files = _choose_corpus(treebank, text)
    level = level or ("words" if corpus == "treebank" else "tokens")
    if level == "words" and corpus == "text":
        raise SettingError("--words needs the words of a --treebank; --text gives maps between --tokens.")
    settings = ExtractSettings(
        level=level,
        hidden_states=hidden_states,
        dtype_stored=dtype_stored,
        shard_megabytes=shard_megabytes,
        segments=segments,
        sentences=sentences,
        max_tokens=max_tokens,
        batch_tokens=batch_tokens,
        seed=seed,
        text_format=text_format,
        treebank_format=treebank_format,
        segment_style=segment_style,
        shard=shard,
    )
    settings.check()
    choose_device(device), choose_dtype(dtype)
    described = describe_files(files)
    options: dict[str, Any] = {"revision": revision, "device": device, "dtype": dtype, "seed": seed}
    options |= {"random_weights": random_weights, "trust_remote_code": trust_remote_code}
    model = open_model(model, **options, device_map=device_map)
    stack = model.choose_stack(stack)
    check_length(max_tokens, model.longest_input, model.name)
    inputs, relations, left_out = _read(model, corpus, files, settings)
    about: dict[str, Any] = {"files": described, "left_out": left_out}
    if shard is not None:
        mine = Shard.parse(shard).of_segments(inputs)
        place_of = {segment.id: place for place, segment in enumerate(inputs)}
        about[PLACES], inputs = [place_of[segment.id] for segment in mine], mine
    store = keep_inputs(
        model,
        inputs,
        relations,
        corpora={corpus: about},
        settings={"corpus": {corpus: [record["sha256"] for record in described]}} | asdict(settings),
        out=local_folder(out),
        level=level,
        hidden_states=hidden_states,
        dtype_stored=dtype_stored,
        shard_megabytes=shard_megabytes,
        batch_tokens=batch_tokens,
        stack=stack,
        progress=progress,
    )
    send(store.folder, out)
    return store


def keep_inputs(
    model: Model,
    inputs: Sequence[Segment],
    relations: Sequence[str],
    *,
    corpora: dict[str, Any],
    settings: dict[str, Any],
    out: Path,
    level: Level,
    maps: bool = True,
    hidden_states: bool,
    dtype_stored: str = "float16",
    shard_megabytes: int = SHARD_MEGABYTES,
    batch_tokens: int,
    stack: Stack,
    progress: bool,
) -> Store:
    """Keep what a model says of these inputs. settings: beside the model's identity, what decides the numbers.

    relations: the names that parsed inputs number theirs by. maps, hidden_states: which of the two are kept.
    """
    index = Index(
        level=level,
        dtype=dtype_stored,
        states=model.width if hidden_states else 0,
        maps=maps,
        shard_bytes=shard_megabytes * 10**6,
        model=describe_model(model, stack),
        settings=model_identity(model, stack) | settings,
        corpora=corpora,
        versions=versions(),
        examples=_examples(model, inputs, relations),
    )
    reading: dict[str, Any] = {"batch_tokens": batch_tokens, "stack": stack, "maps": maps, "states": hidden_states}

    def produce(places: range, advance: Advance) -> Iterator[Tensors]:
        run = inputs[places.start : places.stop]
        return observe_maps(model, run, level, **reading, dtype=dtype_stored, advance=advance)

    return fill_store(out, index, produce, progress=progress)


def _choose_corpus(treebank: Files | None, text: Files | None) -> tuple[str, list[Path]]:
    if (treebank is None) == (text is None):
        problem = "Both a treebank and a text are" if text is not None else "Nothing is"
        raise SettingError(f"{problem} given to extract maps from. Give either --treebank or --text FILE.")
    return (
        ("text", find_files(text, "text")) if text is not None else ("treebank", find_files(treebank or (), "treebank"))
    )


def _read(
    model: Model, corpus: str, files: list[Path], settings: ExtractSettings
) -> tuple[Sequence[Segment], Sequence[str], dict[str, int]]:
    """The inputs, the names of the relations they number, and what was left out."""
    if corpus == "treebank":
        left_out: Counter[str] = Counter()
        trees = draw_sentences(
            read_treebank(files, settings.treebank_format, left_out), settings.sentences, settings.seed, left_out
        )
        parsed = parsed_segments(trees, model.tokenizer, max_tokens=settings.max_tokens)
        return parsed.segments, parsed.relations, {**left_out, **parsed.left_out}
    sample = sample_segments(
        read_text(files, settings.text_format),
        model.tokenizer,
        count=settings.segments,
        max_tokens=settings.max_tokens,
        seed=settings.seed,
        style=settings.segment_style,
    )
    return sample.segments, (), sample.left_out


def draw_sentences(
    trees: Iterable[Sentence], count: int | None, seed: int, left_out: Counter[str]
) -> Sequence[Sentence]:
    """So many sentences drawn at random, in their order; all where there are no more. Counts those not drawn."""
    found = list(trees)
    if count is None or count >= len(found):
        return found
    left_out["sentence_not_drawn"] += len(found) - count
    return [found[place] for place in sorted(np.random.default_rng(seed).permutation(len(found))[:count].tolist())]


def _examples(model: Model, inputs: Sequence[Segment], relations: Sequence[str]) -> list[StoredExample]:
    names = model.tokenizer.convert_ids_to_tokens
    return [example_of(segment, names(segment.ids.tolist()), model.kinds(segment.ids), relations) for segment in inputs]
