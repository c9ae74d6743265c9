"""A survey of stored maps: every study that attention alone can answer, without the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headatlas.commands.survey.examples import FITTING_TOKENS
from headatlas.commands.survey.parts import Part, dependency_study, halved_by, text_studies
from headatlas.commands.survey.settings import SurveySettings
from headatlas.commands.survey.subject import Subject
from headatlas.corpora.treebanks.label_sets import LABEL_SETS, labels_of, possessive_clitic
from headatlas.corpora.treebanks.sentence import Sentence
from headatlas.encoding.template import SPECIAL
from headatlas.encoding.unknown import UnknownCounts, add_up, count_in_input
from headatlas.encoding.word_segments import ParsedSample
from headatlas.errors import SettingError
from headatlas.files import sha256
from headatlas.models.loading import choose_device
from headatlas.results.example import Example, Tree
from headatlas.store.examples import TokenMaps
from headatlas.store.index import INDEX
from headatlas.store.reading import Store, open_store
from headatlas.store.stored_model import OWN_KINDS, StoredMaps, parsed_segment, text_segment
from headatlas.studies import STUDIES, TEXT_STUDIES

# What the maps have decided already, each with the value that asks for nothing.
FROM_THE_STORE: dict[str, Any] = {
    "model": None,
    "text": None,
    "treebank": None,
    "coreference": None,
    "keyphrases": None,
    "parse_with": None,
    "segments": 1000,
    "max_tokens": 128,
    "text_format": "auto",
    "treebank_format": "auto",
    "coreference_format": "auto",
    "keyphrase_format": "auto",
    "segment_style": "auto",
    "coreference_windows": False,
    "zero_token_types": False,
    "random_weights": False,
    "revision": None,
    "dtype": "float32",
    "stack": None,
    "control": False,
    "trust_remote_code": False,
}


def stored_subject(
    folder: str | Path,
    given: Mapping[str, Any],
    studies: Sequence[str] | None,
    settings: SurveySettings,
    device: str,
) -> Subject:
    """A store in place of a model and its corpora. given: the survey's arguments that the store decides."""
    for name, nothing in FROM_THE_STORE.items():
        if given[name] != nothing:
            option = "MODEL" if name == "model" else f"--{'attention' if name == 'stack' else name.replace('_', '-')}"
            raise SettingError(
                f"{option} cannot be given beside --maps: the maps were made without asking. Leave it out."
            )
    target = choose_device(device)
    store = open_store(folder)
    if store.level == "words" and settings.words_from != "mean":
        problem = "the maps are between words already, which attend as the mean of their tokens"
        raise SettingError(f"--words-from {settings.words_from} cannot be had: {problem}. Extract with --tokens.")
    chosen, skipped = _choose_studies(store, studies)
    observed = StoredMaps(store, target)
    records = [record for about in store.index.corpora.values() for record in about["files"]]
    if store.level == "tokens" and not any(len(example) <= FITTING_TOKENS for example in store.examples):
        skipped["figure 1"] = f"every stored input has over {FITTING_TOKENS} tokens, and only the model can cut one."
    return Subject(
        observed=observed,
        stack=observed.default_stack,
        kinds=OWN_KINDS,
        identity={"maps": sha256(Path(folder) / INDEX), "studies": chosen},
        about=store.model | {"maps": str(folder)},
        files=dict.fromkeys(("text", "treebank"), records),
        skipped=skipped,
        parts=lambda: _parts(store, chosen, settings, causal=observed.default_stack == "decoder"),
        examples=lambda _parts: _examples(store, settings.examples),
    )


def _choose_studies(store: Store, names: Sequence[str] | None) -> tuple[list[str], dict[str, str]]:
    """The studies that the maps can answer, and why others cannot; one asked for by name is never skipped silently."""
    if names is not None and (unknown := set(names) - set(STUDIES)):
        raise SettingError(f"Unknown study: {', '.join(sorted(unknown))}. There are: {', '.join(STUDIES)}.")
    reasons = {"gradients": "stored maps have no loss to differentiate; survey the model itself."}
    if store.level == "words":
        reason = "the stored maps are between words, and it asks about tokens; extract with --tokens."
        reasons |= dict.fromkeys(set(TEXT_STUDIES) - {"gradients"}, reason)
    if not store.has_trees:
        reasons["dependencies"] = "the stored inputs have no dependency trees; extract from a --treebank."
    reasons["coreference"] = "stored inputs have no mentions; survey the model itself with --coreference."
    reasons["keyphrases"] = "stored inputs have no keyphrases; survey the model itself with --keyphrases."
    for name in names or ():
        if name in reasons:
            raise SettingError(f"The study '{name}' cannot run: {reasons[name]}")
    chosen = [name for name in STUDIES if name not in reasons and (names is None or name in names)]
    if not chosen:
        raise SettingError(f"No study is chosen. There are: {', '.join(STUDIES)}.")
    return chosen, {name: reasons[name] for name in STUDIES if name in reasons} if names is None else {}


def _parts(store: Store, chosen: Sequence[str], settings: SurveySettings, causal: bool) -> list[Part]:
    left_out = {reason: count for about in store.index.corpora.values() for reason, count in about["left_out"].items()}
    parts = []
    if names := [name for name in chosen if name in TEXT_STUDIES]:
        segments = [text_segment(example) for example in store.examples]
        about = {
            "documents": len({example.document for example in store.examples}),
            "segments_available": len(segments),
            "segments": len(segments),
            "tokens": sum(map(len, segments)),
        }
        parts.append(Part("text", segments, text_studies(names, settings, causal), about, left_out))
    if "dependencies" in chosen:
        parts.append(_treebank(store, settings, causal, left_out))
    for part in parts:
        part.about["unknown"] = stored_unknown(store)
    return parts


def stored_unknown(store: Store) -> UnknownCounts:
    """What of the stored inputs the tokenizer did not know, by the name of its unknown token."""
    special = store.model.get("special_tokens")
    name = special.get("unk") if isinstance(special, dict) else None
    return add_up(
        count_in_input(
            example.word_of,
            np.array([token == name for token in example.tokens], dtype=np.bool_),
            None if example.words is None else len(example.words),
        )
        for example in store.examples
    )


def _treebank(store: Store, settings: SurveySettings, causal: bool, left_out: dict[str, int]) -> Part:
    trees = _sentences(store)
    labels = labels_of(trees) if settings.label_set == "auto" else LABEL_SETS[settings.label_set]
    relations = tuple(sorted({relation for tree in trees for relation in tree.relations}))
    number = {relation: place for place, relation in enumerate(relations)}
    segments = [
        parsed_segment(example, store.level, number, possessive_clitic(tree, labels))
        for example, tree in zip(store.examples, trees, strict=True)
    ]
    documents = len({example.document for example in store.examples})
    sample = ParsedSample(segments, relations, documents, sum(segment.size for segment in segments))
    about: dict[str, Any] = {
        "documents": documents,
        "sentences": len(segments),
        "words": sample.words,
        "tokens": sum(map(len, store.examples)),
        "label_set": labels.name,
        "relations": list(relations),
        "halved_by": halved_by(sample),
        "parsed_by": None,
    }
    study = dependency_study(about, settings, causal)
    return Part("treebank", segments, {study.name: study}, about, left_out, sample)


def _sentences(store: Store) -> list[Sentence]:
    return [
        Sentence(
            id=example.id,
            path=store.folder / INDEX,
            line=0,
            words=example.words or (),
            heads=tuple(example.heads.tolist()) if example.heads is not None else (),
            relations=example.relations or (),
            tags=("",) * len(example.words or ()),
        )
        for example in store.examples
    ]


def _examples(store: Store, count: int) -> list[Example]:
    """The longest inputs that a picture shows whole; maps between words have no tokens to show."""
    if store.level == "words":
        return []
    fitting = [number for number, example in enumerate(store.examples) if len(example) <= FITTING_TOKENS]
    longest = sorted(fitting, key=lambda number: (-len(store.examples[number]), number))[:count]
    return [_example(found) for found in (store[number] for number in longest) if isinstance(found, TokenMaps)]


def _example(found: TokenMaps) -> Example:
    """A stored input; words that have no text of their own are spelled out of their tokens."""
    example = found.example
    word_of = example.word_of
    if example.words is None:
        kept = np.unique(word_of[word_of != SPECIAL])
        word_of = np.where(word_of == SPECIAL, SPECIAL, np.searchsorted(kept, word_of))
    spelled = [
        "".join(token.removeprefix("##") for token, word in zip(example.tokens, word_of, strict=True) if word == number)
        for number in range(word_of.max(initial=SPECIAL) + 1)
    ]
    tree = None
    if example.heads is not None and example.relations is not None:
        tree = Tree(tuple(example.heads.tolist()), example.relations, tuple(range(len(example.heads))))
    return Example(
        tokens=list(example.tokens),
        word_of=word_of.tolist(),
        maps=found.maps.astype(np.float32),
        words=example.words or tuple(spelled),
        corpus="text" if tree is None else "treebank",
        tree=tree,
    )
