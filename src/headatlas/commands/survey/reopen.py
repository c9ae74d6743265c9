"""The studies of a finished survey as they were at its end, from the states in its folder.

So that what a table leaves out, such as bootstrap replicates, can still be had, without a model and without a corpus.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from headatlas.commands.survey.parts import coreference_study, dependency_study, keyphrase_study, text_studies
from headatlas.commands.survey.run import STATES
from headatlas.commands.survey.settings import SurveySettings
from headatlas.engine.checkpoint import fits, read_state
from headatlas.errors import AtlasError, SettingError
from headatlas.models.stacks import HeadShape
from headatlas.results.atlas import Atlas
from headatlas.studies import TEXT_STUDIES, Study
from headatlas.studies.coreference import Coreference
from headatlas.studies.dependencies import Dependencies
from headatlas.studies.keyphrases import Keyphrases
from headatlas.studies.study import State


def reopen_studies(atlas: Atlas) -> Iterator[Study]:
    """Every study with its sums, one at a time."""
    manifest = atlas.manifest
    shape = HeadShape(tuple(manifest["model"]["heads"]))
    for corpus, studies in blank_studies(manifest, atlas.folder).items():
        path = atlas.folder / STATES / f"{corpus}.safetensors"
        start_studies(studies.values(), shape, atlas.folder)
        states = check_states(path, read_states(path), studies)
        for name, study in studies.items():
            study.restore(states[name])
            yield study


def read_states(path: Path) -> dict[str, State]:
    """What the state file of a finished run holds of each study."""
    remedy = _survey_again(path.parent.parent)
    if not path.exists():
        raise AtlasError(f"{path}: is missing. {remedy}")
    return read_state(path, remedy).states


def check_states(path: Path, states: dict[str, State], studies: Mapping[str, Study]) -> dict[str, State]:
    """The states that were read there, if they are those of some started studies."""
    for name, study in studies.items():
        if not fits(study, states.get(name, {})):
            remedy = _survey_again(path.parent.parent)
            raise AtlasError(f"{path}: has no sums of {name}, or those of another version. {remedy}")
    return states


def _survey_again(folder: Path) -> str:
    """The remedy for a finished run, which the same command alone would not begin anew."""
    return f"Delete the folder {folder} and run its survey, or that shard of it, again."


def blank_studies(manifest: dict[str, Any], folder: Path) -> dict[str, dict[str, Study]]:
    """The studies of each corpus, without sums, as the manifest of that folder tells them."""
    given = manifest["settings"]
    names = {field.name for field in fields(SurveySettings)}
    if missing := sorted(names - given.keys()):
        raise AtlasError(
            f"{folder}: was made by another version: its settings lack {', '.join(missing)}. Survey again."
        )
    with _told_by(folder):
        return _studies(manifest, SurveySettings(**{name: given[name] for name in names}))


def start_studies(studies: Iterable[Study], shape: HeadShape, folder: Path) -> None:
    """Start the studies that the manifest of a folder told."""
    with _told_by(folder):
        for study in studies:
            study.start(shape)


@contextmanager
def _told_by(folder: Path) -> Iterator[None]:
    """What studies make of settings that no survey can have had is an AtlasError."""
    try:
        yield
    except (SettingError, AttributeError, LookupError, TypeError, ValueError, MemoryError, OverflowError) as error:
        problem = f"{folder / 'manifest.json'}: its settings are damaged ({type(error).__name__}: {error})"
        raise AtlasError(f"{problem}. {_survey_again(folder)}") from error


def _studies(manifest: dict[str, Any], settings: SurveySettings) -> dict[str, dict[str, Study]]:
    settings.check()
    causal = manifest["model"]["attention"] == "decoder"
    chosen = manifest["settings"]["studies"]
    found: dict[str, dict[str, Study]] = {}
    for corpus, about in manifest["corpora"].items():
        if corpus == "text":
            found[corpus] = text_studies([name for name in chosen if name in TEXT_STUDIES], settings, causal)
        elif corpus == "treebank":
            if not all(isinstance(relation, str) for relation in about["relations"]):
                raise ValueError("a relation of the treebank is no text")
            found[corpus] = {Dependencies.name: dependency_study(about, settings, causal)}
        elif corpus == "keyphrases":
            found[corpus] = {Keyphrases.name: keyphrase_study(settings, causal)}
        else:
            found[corpus] = {Coreference.name: coreference_study(settings, causal)}
    return found
