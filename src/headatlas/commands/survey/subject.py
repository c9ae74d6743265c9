"""What a survey looks at: a model over corpora, chosen and checked before anything long begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headatlas.commands.survey.choices import check_control, check_studies, choose_corpora, choose_studies
from headatlas.commands.survey.examples import choose_examples, make_examples
from headatlas.commands.survey.parts import Part, read_parts
from headatlas.commands.survey.settings import SurveySettings
from headatlas.corpora.files import Files, describe_files
from headatlas.encoding.kinds import KindTable
from headatlas.errors import SettingError
from headatlas.models.identity import describe_model, model_identity
from headatlas.models.loading import choose_device, choose_dtype, load_model, open_model
from headatlas.models.model import Model, Observable, check_length
from headatlas.models.stacks import Stack
from headatlas.results.example import Example


@dataclass(frozen=True)
class Subject:
    """Whose heads are surveyed, and where."""

    observed: Observable
    stack: Stack
    kinds: KindTable
    identity: dict[str, Any]  # what decides the outcome beside the settings
    about: dict[str, Any]  # the model, for the manifest
    files: dict[str, list[dict[str, Any]]]  # of each corpus, for the manifest
    skipped: dict[str, str]  # studies that cannot run, and why
    parts: Callable[[], list[Part]]  # reads the corpora
    examples: Callable[[Sequence[Part]], list[Example]]  # short inputs with all their maps
    control: Callable[[], Model] | None = None  # loads the same network with random weights


def model_subject(
    model: str | Model | None,
    corpora: Mapping[str, Files | None],
    studies: Sequence[str] | None,
    settings: SurveySettings,
    *,
    random_weights: bool,
    stack: Stack | None,
    loading: dict[str, Any],
) -> Subject:
    """A model with the corpora that are given. loading: options of `load_model`, where the model is a name."""
    if model is None:
        raise SettingError("There is no MODEL to survey. Name one, or give maps that were extracted with --maps DIR.")
    files = choose_corpora(corpora, settings.parse_with)
    check_control(settings.control, model, random_weights, files)
    check_studies(studies, files)
    choose_device(loading["device"]), choose_dtype(loading["dtype"])
    described = {name: describe_files(paths) for name, paths in files.items()}
    loaded = open_model(model, random_weights=random_weights, **loading)
    chosen_stack = loaded.choose_stack(stack)
    check_length(settings.max_tokens, loaded.longest_input, loaded.name)
    chosen, skipped = choose_studies(loaded, studies, files)
    return Subject(
        observed=loaded,
        stack=chosen_stack,
        kinds=loaded.kinds,
        identity=model_identity(loaded, chosen_stack)
        | {
            "corpora": {name: [record["sha256"] for record in records] for name, records in described.items()},
            "studies": chosen,
        },
        about=describe_model(loaded, chosen_stack),
        files=described,
        skipped=skipped,
        parts=lambda: read_parts(loaded, files, chosen, settings, causal=chosen_stack == "decoder"),
        examples=lambda parts: _examples(loaded, chosen_stack, parts, settings),
        control=lambda: load_model(loaded.name, random_weights=True, **loading),
    )


def _examples(model: Model, stack: Stack, parts: Sequence[Part], settings: SurveySettings) -> list[Example]:
    """Short inputs of every corpus."""
    shown = choose_examples({part.name: part.segments for part in parts}, settings.examples, settings.seed)
    relations = next((part.trees.relations for part in parts if part.trees is not None), ())
    return make_examples(model, shown, relations, kinds=model.kinds, stack=stack)
