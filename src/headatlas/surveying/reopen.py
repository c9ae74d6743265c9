"""The studies of a finished survey as they were at its end, from the states in its folder.

So that what a table leaves out, such as bootstrap replicates, can still be had, without a model and without a corpus.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from headatlas.engine.checkpoint import fits, read_state
from headatlas.errors import AtlasError
from headatlas.models.stacks import HeadShape
from headatlas.results.atlas import Atlas
from headatlas.studies import TEXT_STUDIES, Study
from headatlas.studies.coreference import Coreference
from headatlas.studies.dependencies import Dependencies
from headatlas.studies.keyphrases import Keyphrases
from headatlas.studies.study import State
from headatlas.surveying.parts import coreference_study, dependency_study, keyphrase_study, text_studies
from headatlas.surveying.run import STATES
from headatlas.surveying.settings import SurveySettings


def reopen_studies(atlas: Atlas) -> Iterator[Study]:
    """Every study with its sums, one at a time."""
    manifest = atlas.manifest
    shape = HeadShape(tuple(manifest["model"]["heads"]))
    for corpus, studies in blank_studies(manifest).items():
        path = atlas.folder / STATES / f"{corpus}.safetensors"
        for study in studies.values():
            study.start(shape)
        states = states_of(path, studies)
        for name, study in studies.items():
            study.restore(states[name])
            yield study


def states_of(path: Path, studies: Mapping[str, Study]) -> dict[str, State]:
    """What a state file holds of some started studies."""
    if not path.exists():
        raise AtlasError(f"{path}: is missing. Run the survey again to have its sums.")
    states = read_state(path).states
    for name, study in studies.items():
        if not fits(study, states.get(name, {})):
            raise AtlasError(f"{path}: has no sums of {name}, or those of another version. Survey again.")
    return states


def blank_studies(manifest: dict[str, Any]) -> dict[str, dict[str, Study]]:
    """The studies of each corpus, without sums."""
    given = manifest["settings"]
    names = {field.name for field in fields(SurveySettings)}
    if missing := sorted(names - given.keys()):
        raise AtlasError(
            f"This atlas was made by another version: its settings lack {', '.join(missing)}. Survey again."
        )
    settings = SurveySettings(**{name: given[name] for name in names})
    causal = manifest["model"]["attention"] == "decoder"
    chosen = given["studies"]
    found: dict[str, dict[str, Study]] = {}
    for corpus, about in manifest["corpora"].items():
        if corpus == "text":
            found[corpus] = text_studies([name for name in chosen if name in TEXT_STUDIES], settings, causal)
        elif corpus == "treebank":
            found[corpus] = {Dependencies.name: dependency_study(about, settings, causal)}
        elif corpus == "keyphrases":
            found[corpus] = {Keyphrases.name: keyphrase_study(settings, causal)}
        else:
            found[corpus] = {Coreference.name: coreference_study(settings, causal)}
    return found
