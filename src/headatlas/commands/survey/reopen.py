"""The studies of a finished survey as they were at its end, from the states in its folder.

They give what the tables omit, such as bootstrap replicates, without a model and without a corpus.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from headatlas.commands.survey.options import StatisticsOptions
from headatlas.engine.checkpoint import fits, read_state
from headatlas.engine.run_folder import STATE
from headatlas.errors import AtlasError, SettingError
from headatlas.manifest import Manifest
from headatlas.models.stacks import HeadShape
from headatlas.results.atlas import Atlas
from headatlas.studies import STUDIES
from headatlas.studies.state import Arrays
from headatlas.studies.study import Setup, Study


def reopen_studies(atlas: Atlas) -> Iterator[Study]:
    """Yield every study with its sums, one at a time."""
    manifest = atlas.manifest
    shape = HeadShape(tuple(manifest["model"]["heads"]))
    for corpus, studies in blank_studies(manifest, atlas.folder).items():
        path = atlas.folder / STATE / f"{corpus}.safetensors"
        start_studies(studies.values(), shape, atlas.folder)
        states = check_states(path, read_states(path), studies) if studies else {}
        for name, study in studies.items():
            study.restore(states[name])
            yield study


def read_states(path: Path) -> dict[str, Arrays]:
    """Read the state of each study from the state file of a finished run."""
    remedy = _survey_again(path.parent.parent)
    if not path.exists():
        raise AtlasError(f"{path}: is missing. {remedy}")
    return read_state(path, remedy).states


def check_states(path: Path, states: dict[str, Arrays], studies: Mapping[str, Study]) -> dict[str, Arrays]:
    """Return the states that were read from a file, if they are those of some started studies."""
    for name, study in studies.items():
        if not fits(study, states.get(name, {})):
            remedy = _survey_again(path.parent.parent)
            raise AtlasError(f"{path}: has no sums of {name}, or those of another version. {remedy}")
    return states


def _survey_again(folder: Path) -> str:
    """Return the remedy for a finished run, which the same command alone would not repeat."""
    return f"Delete the folder {folder} and run its survey, or that shard of it, again."


def blank_studies(manifest: Manifest, folder: Path) -> dict[str, dict[str, Study]]:
    """Make the studies of each corpus, without sums, with the settings in the manifest of a folder.

    Studies that failed are left out, and so are those that are not installed here (see `not_installed`).

    Raises:
        AtlasError: The settings are missing or damaged.
        PluginError: The package of a study or of its kind of corpus cannot be imported.
    """
    settings = manifest["settings"]
    needed = {"seed", "studies", *(option.name for option in fields(StatisticsOptions))}
    if missing := sorted(needed - settings.keys()):
        raise AtlasError(
            f"{folder}: was made by another version: its settings lack {', '.join(missing)}. Survey again."
        )
    with _check_manifest(folder):
        for relation in manifest["corpora"].get("treebank", {}).get("relations", ()):
            if not isinstance(relation, str):
                raise ValueError(f"{relation} is not the name of a relation")
        names = [name for name in settings["studies"] if name in STUDIES and name not in manifest["studies_skipped"]]
        studies: dict[str, dict[str, Study]] = {corpus: {} for corpus in manifest["corpora"]}
        for name in names:
            study = STUDIES[name]()
            study.configure(_setup(manifest, manifest["corpora"][study.corpus]))
            studies[study.corpus][name] = study
        return studies


def not_installed(manifest: Manifest) -> list[str]:
    """The studies of a survey that come from a package which is not installed here."""
    return [name for name in manifest["settings"].get("studies", ()) if name not in STUDIES]


def _setup(manifest: Manifest, about: dict[str, Any]) -> Setup:
    settings = manifest["settings"]
    chosen = {name: settings[name] for name in ("seed", "bootstrap", "least_count")}
    chosen["definitions"] = settings.get("definitions", "code" if settings["as_published"] else "ours")
    return Setup(causal=manifest["model"]["attention"] == "decoder", corpus=about, **chosen)


def start_studies(studies: Iterable[Study], shape: HeadShape, folder: Path) -> None:
    """Start studies that were made from the manifest of a folder."""
    with _check_manifest(folder):
        for study in studies:
            study.start(shape)


@contextmanager
def _check_manifest(folder: Path) -> Iterator[None]:
    """Raise AtlasError if studies cannot be made with the settings in a manifest."""
    try:
        yield
    except (SettingError, AttributeError, LookupError, TypeError, ValueError, MemoryError, OverflowError) as error:
        problem = f"{folder / 'manifest.json'}: its settings are damaged ({type(error).__name__}: {error})"
        raise AtlasError(f"{problem}. {_survey_again(folder)}") from error
