"""The studies of a finished survey as they were at its end, from the states in its folder.

So that what a table leaves out, such as bootstrap replicates, can still be had, without a model and without a corpus.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from headatlas.engine.checkpoint import read_state
from headatlas.errors import AtlasError
from headatlas.models.stacks import HeadShape
from headatlas.results.atlas import Atlas
from headatlas.studies import TEXT_STUDIES, Study
from headatlas.surveying.parts import coreference_study, dependency_study, keyphrase_study, text_studies
from headatlas.surveying.run import STATES
from headatlas.surveying.settings import SurveySettings


def reopen_studies(atlas: Atlas) -> Iterator[Study]:
    """Every study with its sums, one at a time."""
    manifest = atlas.manifest
    shape = HeadShape(tuple(manifest["model"]["heads"]))
    for corpus, studies in _studies(manifest).items():
        path = atlas.folder / STATES / f"{corpus}.safetensors"
        if not path.exists():
            raise AtlasError(f"{path}: is missing. Run the survey again to have its sums.")
        states = read_state(path).states
        for study in studies:
            study.start(shape)
            if study.name not in states or states[study.name].keys() != study.state().keys():
                raise AtlasError(f"{path}: has no sums of {study.name}, or those of another version. Survey again.")
            study.restore(states[study.name])
            yield study


def _studies(manifest: dict[str, Any]) -> dict[str, list[Study]]:
    """The studies of each corpus, without sums."""
    given = manifest["settings"]
    names = {field.name for field in fields(SurveySettings)}
    if missing := sorted(names - given.keys()):
        raise AtlasError(
            f"This atlas was made by another version: its settings lack {', '.join(missing)}. Survey again."
        )
    settings = SurveySettings(**{name: given[name] for name in names})
    causal = manifest["model"]["attention"] == "decoder"
    chosen, found = given["studies"], {}
    for corpus, about in manifest["corpora"].items():
        if corpus == "text":
            found[corpus] = list(
                text_studies([name for name in chosen if name in TEXT_STUDIES], settings, causal).values()
            )
        elif corpus == "treebank":
            found[corpus] = [dependency_study(about, settings, causal)]
        elif corpus == "keyphrases":
            found[corpus] = [keyphrase_study(settings, causal)]
        else:
            found[corpus] = [coreference_study(settings, causal)]
    return found
