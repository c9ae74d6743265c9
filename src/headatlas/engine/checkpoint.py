"""The state of a run on disk: the studies' sums and which batches they include, as a safetensors file with a checksum.

It is written atomically and read without executing anything. The settings of the run are saved beside the sums, so that
a run never resumes with other settings.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headatlas.checksums import unpack_tensors, write_tensors
from headatlas.engine.settings import refuse_other
from headatlas.errors import AtlasError
from headatlas.files import parse_json, safetensors_metadata, write_atomically
from headatlas.limits import LARGEST_STATE, read_within
from headatlas.studies.state import Arrays
from headatlas.studies.study import Study

FORMAT = "headatlas-state-4"
START_AGAIN = "Delete this file to start the survey again in this folder."


@dataclass(frozen=True)
class SavedRun:
    """The content of a state file."""

    batches: tuple[range, ...]
    states: dict[str, Arrays]
    settings: dict[str, Any]
    failures: dict[str, str]  # of studies without a state


class Checkpoint:
    """The state file of one run."""

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self.path = path
        self._settings = json.loads(json.dumps(settings))

    def save(
        self, studies: Mapping[str, Study], batches: Iterable[int], failures: Mapping[str, str] | None = None
    ) -> None:
        """Replace the saved state by the studies' current one, which includes the batches of these numbers.

        failures: the studies without a state, and how they failed.
        """
        arrays = {f"{name}/{key}": array for name, study in studies.items() for key, array in study.state().items()}
        metadata = {"format": FORMAT, "batches": json.dumps(_spans(batches)), "settings": json.dumps(self._settings)}
        metadata["failures"] = json.dumps(dict(failures or {}))
        write_atomically(self.path, lambda temporary: write_tensors(temporary, arrays, metadata))

    def resume(self, studies: Mapping[str, Study], batches: int) -> tuple[set[int], dict[str, str]]:
        """Restore the studies from the saved state, if there is one.

        Returns:
            Which of the run's batches it includes, and the studies that have failed before, with how.
        """
        if not self.path.exists():
            return set(), {}
        saved = read_state(self.path)
        refuse_other(self.path, "the state of another run", saved.settings, self._settings)
        for name, study in studies.items():
            if name in saved.failures:
                continue
            if not fits(study, saved.states.get(name, {})):
                raise _damaged(self.path, f"the sums of {name} do not have the shape of this model")
            study.restore(saved.states[name])
        if any(span.stop > batches for span in saved.batches):
            raise _damaged(self.path, f"it holds more than the {batches} batches of this run")
        return {number for span in saved.batches for number in span}, saved.failures


def read_state(path: Path, remedy: str = START_AGAIN) -> SavedRun:
    """Read a state file; AtlasError with `remedy` if it is damaged or of another version."""
    try:
        content = read_within(path, LARGEST_STATE)
        metadata = safetensors_metadata(content)
        if metadata["format"] != FORMAT:
            raise ValueError(f"its format is {metadata['format']!r}, not {FORMAT!r}")
        arrays = unpack_tensors(content)
        batches = tuple(range(first, end) for first, end in parse_json(metadata["batches"]))
        if any(span.start < 0 for span in batches):
            raise ValueError("it counts batches below 0")
        settings = parse_json(metadata["settings"])
        failures = parse_json(metadata["failures"])
        if not isinstance(settings, dict) or not isinstance(failures, dict):
            raise ValueError("its settings or failures are not an object")
    except (OSError, AttributeError, KeyError, ValueError, TypeError) as error:
        raise _damaged(path, f"{type(error).__name__}: {error}", remedy) from error
    states: dict[str, Arrays] = {}
    for key, array in arrays.items():
        study, _, name = key.partition("/")
        states.setdefault(study, {})[name] = array
    return SavedRun(batches, states, settings, failures)


def fits(study: Study, state: Arrays) -> bool:
    """Whether a saved state has the same sums as a started study, in shape and kind: integers may be wider."""
    return _layout(study.state()) == _layout(state)


def _layout(state: Arrays) -> dict[str, tuple[tuple[int, ...], str]]:
    return {key: (array.shape, array.dtype.kind) for key, array in state.items()}


def _spans(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Runs of successive numbers: the first of each, and its last plus one."""
    spans: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if spans and spans[-1][1] == number:
            spans[-1] = (spans[-1][0], number + 1)
        else:
            spans.append((number, number + 1))
    return spans


def _damaged(path: Path, why: str, remedy: str = START_AGAIN) -> AtlasError:
    return AtlasError(f"{path}: the saved state is damaged ({why}). {remedy}")
