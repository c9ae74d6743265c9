"""What a survey describes: a model over corpora, chosen and checked before anything long begins."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headatlas.commands.shared.options import list_names
from headatlas.commands.survey.examples import choose_examples, make_examples
from headatlas.commands.survey.options import CORPORA, SurveyOptions
from headatlas.commands.survey.parts import Part, read_parts
from headatlas.corpora.files import describe_files, find_files
from headatlas.encoding.kinds import KindTable
from headatlas.errors import SettingError
from headatlas.models.identity import describe_model, model_identity
from headatlas.models.loading import choose_device
from headatlas.models.model import Model, Observable, check_length
from headatlas.models.stacks import Stack
from headatlas.results.example import Example
from headatlas.studies import STUDIES

READ_FOLDERS = frozenset({"keyphrases"})
NO_HEAD = (
    "{name} has no {kind} head, so the loss that figure 3 differentiates cannot be computed. Survey a checkpoint saved "
    "with its head (for BERT: bert-base-uncased and not a sentence encoder or classifier made from it){fit}."
)


@dataclass(frozen=True)
class Subject:
    """The model, or its stored maps, and the corpora that it reads."""

    observed: Observable
    stack: Stack
    kinds: KindTable
    identity: dict[str, Any]  # what determines the results besides the settings
    about: dict[str, Any]  # the model, for the manifest
    files: dict[str, list[dict[str, Any]]]  # of each corpus, for the manifest
    skipped: dict[str, str]  # studies that cannot run, and why
    parts: Callable[[], list[Part]]  # reads the corpora
    examples: Callable[[Sequence[Part]], list[Example]]  # short inputs with all their maps
    control: Callable[[], Model] | None = None  # loads the same model with random weights


def model_subject(options: SurveyOptions) -> Subject:
    """Load the model and find the corpora."""
    files = _find_corpora(options)
    wanted = list_names(options.studies)
    check_studies(wanted, files)
    choose_device(options.placed_on)
    described = {corpus: describe_files(paths) for corpus, paths in files.items()}
    model = options.load(options.model or "", seed=options.seed, random_weights=options.random_weights)
    stack = model.choose_stack(options.attention)
    check_length(options.max_tokens, model.longest_input, model.name)
    problem = why_no_gradients(model)
    chosen, skipped = choose_studies(wanted, files, {"gradients": problem} if problem else {})
    hashes = {corpus: [record["sha256"] for record in records] for corpus, records in described.items()}
    return Subject(
        observed=model,
        stack=stack,
        kinds=model.kinds,
        identity=model_identity(model, stack) | {"corpora": hashes, "studies": chosen},
        about=describe_model(model, stack),
        files=described,
        skipped=skipped,
        parts=lambda: read_parts(model, files, chosen, options, causal=stack == "decoder"),
        examples=lambda parts: _examples(model, stack, parts, options),
        control=lambda: options.load(options.model or "", seed=options.seed, random_weights=True),
    )


def _find_corpora(options: SurveyOptions) -> dict[str, list[Path]]:
    """Find the files of each corpus that was given."""
    given = {corpus: paths for corpus in CORPORA if (paths := getattr(options, corpus)) is not None}
    files = {corpus: find_files(paths, corpus, folders=corpus in READ_FOLDERS) for corpus, paths in given.items()}
    return files | ({"treebank": files["text"]} if options.parse_with is not None else {})


def _examples(model: Model, stack: Stack, parts: Sequence[Part], options: SurveyOptions) -> list[Example]:
    """Make short examples of every corpus."""
    shown = choose_examples({part.name: part.segments for part in parts}, options.examples, options.seed)
    relations = next((part.trees.relations for part in parts if part.trees is not None), ())
    return make_examples(model, shown, relations, kinds=model.kinds, stack=stack)


def check_studies(names: Sequence[str] | None, corpora: Collection[str]) -> None:
    """Refuse studies that do not exist or whose corpus is not given, and corpora that no chosen study reads."""
    if names is None:
        return
    needed = {name: STUDIES[name].corpus for name in names}
    for name, corpus in needed.items():
        if corpus not in corpora:
            raise SettingError(f"The study '{name}' cannot run without --{corpus} FILE.")
    if unread := [f"--{corpus}" for corpus in corpora if corpus not in needed.values()]:
        raise SettingError(f"None of the chosen studies reads {' or '.join(unread)}: {', '.join(names)}.")


def choose_studies(
    names: Sequence[str] | None, corpora: Collection[str], problems: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """Return the studies to run, and why others are skipped. A study that is named is never skipped silently."""
    for name in names or ():
        if name in problems:
            raise SettingError(f"The study '{name}' cannot run: {problems[name]}")
    possible = [name for name, study in STUDIES.items() if study.corpus in corpora]
    chosen = [name for name in possible if name not in problems and (names is None or name in names)]
    return chosen, {name: problems[name] for name in possible if name in problems} if names is None else {}


def why_no_gradients(model: Model) -> str | None:
    """Say why no loss can be differentiated; None if it can."""
    if model.is_encoder_decoder:
        return "an encoder-decoder has no masked or next-token loss; survey an encoder or a decoder."
    if model.language_model is None:
        kind = "masked language model" if "encoder" in model.shapes else "next-token (causal language model)"
        fit = ", or fit one: headatlas fit-mlm" if "encoder" in model.shapes else ""
        fit = ", or embedded-mlm, which is this model with a fitted head" if model.name == "embedded" else fit
        return NO_HEAD.format(name=model.name, kind=kind, fit=fit)
    if model.language_model == "masked" and model.tokenizer.mask_token_id is None:
        return f"the tokenizer of {model.name} has no mask token; save the model with its own tokenizer."
    return None
