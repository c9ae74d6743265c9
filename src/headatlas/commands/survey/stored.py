"""A survey of stored maps: every study that attention alone can answer, without the model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headatlas.commands.shared.options import list_names
from headatlas.commands.survey.examples import FITTING_TOKENS
from headatlas.commands.survey.options import CORPORA, SurveyOptions
from headatlas.commands.survey.parts import Part, describe_treebank, label_set_of
from headatlas.commands.survey.studies import StudySettings
from headatlas.commands.survey.subject import Subject, choose_studies
from headatlas.corpora.treebanks.label_sets import possessive_clitic
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
from headatlas.studies import TEXT_STUDIES
from headatlas.studies.dependencies import Dependencies


def stored_subject(options: SurveyOptions) -> Subject:
    """Open stored maps, which take the place of a model and its corpora."""
    device, folder = choose_device(options.placed_on), Path(options.maps or "")
    store = open_store(folder)
    if store.level == "words" and options.as_published:
        raise SettingError(
            "--as-published needs the attention from the first token of each word, but these maps are between words. "
            "Extract maps with --level tokens, or remove --as-published."
        )
    chosen, skipped = _choose_studies(store, list_names(options.studies))
    observed = StoredMaps(store, device)
    records = [record for about in store.index.corpora.values() for record in about["files"]]
    if store.level == "tokens" and not any(len(example) <= FITTING_TOKENS for example in store.examples):
        skipped["figure 1"] = f"every stored input has over {FITTING_TOKENS} tokens, and only the model can cut one."
    return Subject(
        observed=observed,
        stack=observed.default_stack,
        kinds=OWN_KINDS,
        identity={"maps": sha256(folder / INDEX), "studies": chosen},
        about=store.model | {"maps": str(options.maps)},
        files=dict.fromkeys(("text", "treebank"), records),
        skipped=skipped,
        parts=lambda: _parts(store, chosen, options, causal=observed.default_stack == "decoder"),
        examples=lambda _parts: _examples(store, options.examples),
    )


def _choose_studies(store: Store, names: Sequence[str] | None) -> tuple[list[str], dict[str, str]]:
    """Return the studies that need nothing but maps, and why others cannot run."""
    reasons = {"gradients": "stored maps have no loss to differentiate; survey the model itself."}
    if store.level == "words":
        reason = "the stored maps are between words, and it asks about tokens; extract with --level tokens."
        reasons |= dict.fromkeys(set(TEXT_STUDIES) - {"gradients"}, reason)
    if not store.has_trees:
        reasons["dependencies"] = "the stored inputs have no dependency trees; extract from a --treebank."
    reasons["coreference"] = "stored inputs have no mentions; survey the model itself with --coreference."
    reasons["keyphrases"] = "stored inputs have no keyphrases; survey the model itself with --keyphrases."
    chosen, skipped = choose_studies(names, CORPORA, reasons)
    if not chosen:
        raise SettingError(f"No study can run on these maps: {' '.join(dict.fromkeys(reasons.values()))}")
    return chosen, skipped


def _parts(store: Store, chosen: Sequence[str], options: SurveyOptions, causal: bool) -> list[Part]:
    left_out = {reason: count for about in store.index.corpora.values() for reason, count in about["left_out"].items()}
    settings = StudySettings(options, options.seed, causal)
    parts = []
    if any(name in TEXT_STUDIES for name in chosen):
        segments = [text_segment(example) for example in store.examples]
        about = {
            "documents": len({example.document for example in store.examples}),
            "segments_available": len(segments),
            "segments": len(segments),
            "tokens": sum(map(len, segments)),
        }
        parts.append(Part("text", segments, settings.studies_of("text", chosen, about), about, left_out))
    if Dependencies.name in chosen:
        sample, about = _treebank(store, options)
        studies = settings.studies_of("treebank", chosen, about)
        parts.append(Part("treebank", sample.segments, studies, about, left_out, sample))
    for part in parts:
        part.about["unknown"] = stored_unknown(store)
    return parts


def stored_unknown(store: Store) -> UnknownCounts:
    """Count the stored tokens that the tokenizer did not know, by the name of its unknown token."""
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


def _treebank(store: Store, options: SurveyOptions) -> tuple[ParsedSample, dict[str, Any]]:
    """Return the stored sentences as inputs, and what the manifest says about them."""
    trees = _sentences(store)
    labels = label_set_of(trees, options)
    relations = tuple(sorted({relation for tree in trees for relation in tree.relations}))
    number = {relation: place for place, relation in enumerate(relations)}
    segments = [
        parsed_segment(example, store.level, number, possessive_clitic(tree, labels))
        for example, tree in zip(store.examples, trees, strict=True)
    ]
    documents = len({example.document for example in store.examples})
    sample = ParsedSample(segments, relations, documents, sum(segment.size for segment in segments))
    return sample, describe_treebank(sample, labels, sum(map(len, store.examples)), None)


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
    """Return the longest inputs that a picture shows whole. Maps between words have no tokens to show."""
    if store.level == "words":
        return []
    fitting = [number for number, example in enumerate(store.examples) if len(example) <= FITTING_TOKENS]
    longest = sorted(fitting, key=lambda number: (-len(store.examples[number]), number))[:count]
    return [_example(stored) for stored in (store[number] for number in longest) if isinstance(stored, TokenMaps)]


def _example(stored: TokenMaps) -> Example:
    """Return a stored input with its maps. Words that are stored without their text are spelled out of their tokens."""
    example = stored.example
    word_of = example.word_of
    if example.words is None:
        numbers = np.unique(word_of[word_of != SPECIAL])
        word_of = np.where(word_of == SPECIAL, SPECIAL, np.searchsorted(numbers, word_of))
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
        maps=stored.maps.astype(np.float32),
        words=example.words or tuple(spelled),
        corpus="text" if tree is None else "treebank",
        tree=tree,
    )
