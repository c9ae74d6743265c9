"""The life of a run, shared by all commands that write a folder of results.

    with RunFolder(options.out, "layers") as run:
        model = options.load(options.model)
        if run.finished(model_identity(model, stack) | options.settings()):
            return Results(run.folder)
        run.begin(model=describe_model(model, stack))
        scores = run.compute_once("layer-1", lambda: {"accuracy": score_layer(1)})
        run.finish(tables=write_tables(run.folder, tables))

The same command resumes a run that was stopped or killed. Other settings, or another command, are refused.
"""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import fields
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack, cast

from numpy.typing import NDArray

from headatlas.checksums import pack_json, pack_tensors, unpack_json, unpack_tensors
from headatlas.engine.checkpoint import Checkpoint
from headatlas.engine.guards import KEPT, ctrl_c, output_folder
from headatlas.engine.settings import refuse_other
from headatlas.errors import AtlasError, SurveyInterruptedError
from headatlas.files import json_text, make_folder, parse_json, write_atomically, write_text
from headatlas.limits import LARGEST_JSON, LARGEST_STATE, read_within
from headatlas.manifest import FORMAT, MANIFEST, Manifest, Produced, moment, versions
from headatlas.models.stacks import parse_shape
from headatlas.progress import moved

STATE = "state"  # folder of what is finished while a run lasts
AGAIN = "Delete it and run the same command again."
Arrays = dict[str, NDArray[Any]]
_TYPES: dict[str, type] = {"complete": bool, "command": str} | dict.fromkeys(
    ("settings", "model", "versions", "corpora", "tables", "studies_skipped", "summary"), dict
)
RecordT = TypeVar("RecordT")


class RunPart:
    """A part of a run, with a folder of its own for what is finished of it.

    Every file is written atomically with a checksum. The settings that determine its numbers are in the manifest of the
    run, which refuses other settings before anything is asked for.
    """

    def __init__(self, state: Path, stop: threading.Event) -> None:
        self.state, self._stop = state, stop

    def part(self, name: str) -> RunPart:
        """Return a part of this part, whose names are its own."""
        return RunPart(self.state / name, self._stop)

    def check_stop(self) -> None:
        """Stop here if Ctrl-C was pressed; everything that was finished is saved. The progress display moves."""
        moved()
        if self._stop.is_set():
            raise SurveyInterruptedError(f"Stopped. {KEPT}")

    def compute_once(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """Load arrays that were saved before, or compute and save them, and stop then if Ctrl-C was pressed.

        Args:
            name: Identifies the arrays within this part.
            make: Computes the arrays.

        Returns:
            The arrays by name.

        Raises:
            AtlasError: The saved arrays cannot be read or have changed.
            SurveyInterruptedError: Ctrl-C was pressed while the arrays were computed. They are saved.
        """
        path = self.state / f"{name}.safetensors"
        if path.exists():
            try:
                return _SavedArrays(unpack_tensors(read_within(path, LARGEST_STATE)), path)
            except (OSError, ValueError) as error:
                raise AtlasError(f"{path}: cannot be read ({error}). {AGAIN}") from error
        arrays = make()
        content = pack_tensors(arrays, {})
        make_folder(self.state)
        write_atomically(path, lambda temporary: temporary.write_bytes(content))
        self.check_stop()
        return arrays

    def record(self, name: str, record_class: type[RecordT]) -> RecordT | None:
        """Return a saved record, a dataclass of what JSON can hold; None if there is none."""
        path = self.state / f"{name}.json"
        if not path.exists():
            return None
        try:
            content = unpack_json(path.read_text(encoding="utf-8"))
            return record_class(**{field.name: content[field.name] for field in fields(record_class)})  # type: ignore[arg-type]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise AtlasError(f"{path}: cannot be read ({error}). {AGAIN}") from error

    def record_once(self, name: str, record_class: type[RecordT], make: Callable[[], RecordT]) -> RecordT:
        """Return a record as `compute_once` returns arrays."""
        if (saved := self.record(name, record_class)) is not None:
            return saved
        record = make()
        make_folder(self.state)
        write_text(self.state / f"{name}.json", pack_json(vars(record)))
        self.check_stop()
        return record


class _Unsaved(RunPart):
    """Work outside of a run: nothing is saved."""

    def part(self, _name: str) -> RunPart:
        return self

    def compute_once(self, _name: str, make: Callable[[], Arrays]) -> Arrays:
        return make()


UNSAVED: RunPart = _Unsaved(Path(), threading.Event())


class RunFolder(RunPart):
    """A folder of results that one command fills. Within the context, no other process writes into it.

    Attributes:
        folder: Where the results are made: the given folder, or one on this machine that is sent to the given URL at
            the end.
        earlier: The manifest that an earlier call of the command left; None if there is none.
        settings: Everything that determines the results, as JSON returns it.
    """

    folder: Path
    earlier: Manifest | None
    settings: dict[str, Any]

    def __init__(self, out: str | Path, command: str) -> None:
        """Describe a run without touching the disk.

        Args:
            out: The folder to write to, or its URL.
            command: The command as typed.
        """
        self._out, self._command = out, command
        self._results: Produced = {}

    def __enter__(self) -> Self:
        self._entered, self._started = time.monotonic(), moment()
        with ExitStack() as stack:
            self.folder = stack.enter_context(output_folder(self._out, self._command))
            super().__init__(self.folder / STATE, threading.Event())
            self.earlier = self._read_earlier()
            self._guards = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._guards.__exit__(kind, error, traceback)

    def _read_earlier(self) -> Manifest | None:
        if not (self.folder / MANIFEST).exists():
            return None
        manifest = read_manifest(self.folder, self._command)
        if manifest["command"] != self._command:
            raise AtlasError(
                f"{self.folder}: holds the results of {manifest['command']}, not of {self._command}. "
                "Choose another --out folder."
            )
        return manifest

    def finished(self, settings: Mapping[str, Any]) -> bool:
        """Tell whether an earlier call has finished this run.

        Args:
            settings: Everything that determines the results.

        Raises:
            AtlasError: The folder holds a run with other settings.
        """
        self.settings = json.loads(json.dumps(settings))
        if self.earlier is None:
            return False
        version = self.earlier.get("versions", {}).get("headatlas")
        refuse_other(self.folder, "other results", self.earlier.get("settings", {}), self.settings, version)
        return bool(self.earlier.get("complete"))

    def begin(self, **known: Unpack[Produced]) -> None:
        """Write the manifest of an unfinished run. From here on, Ctrl-C stops at the next safe point.

        Args:
            **known: What is known before the work starts.
        """
        self._stop = self._guards.enter_context(ctrl_c())
        self._write({"complete": False}, known)

    def checkpoint(self, name: str) -> Checkpoint:
        """Return the file for sums that grow while studies see batches."""
        make_folder(self.state)
        return Checkpoint(self.state / f"{name}.safetensors", self.settings)

    def finish(self, *, keep_state: bool = True, **found: Unpack[Produced]) -> None:
        """Write the manifest of the finished run.

        Args:
            keep_state: Whether what was saved on the way is needed any more.
            **found: What the run found.
        """
        seconds = round(time.monotonic() - self._entered, 1)
        self._write({"complete": True, "finished": moment(), "seconds": seconds}, found)
        if not keep_state:
            shutil.rmtree(self.state, ignore_errors=True)

    def _write(self, end: Manifest, results: Produced) -> None:
        self._results |= results
        beginning: Manifest = {"command": self._command, "started": self._started, "settings": self.settings}
        write_manifest(self.folder, cast(Manifest, {**beginning, **end, **self._results, "versions": versions()}))


class _SavedArrays(Arrays):
    """Arrays read from disk; a missing one is an AtlasError."""

    def __init__(self, arrays: Arrays, path: Path) -> None:
        super().__init__(arrays)
        self._path = path

    def __missing__(self, name: str) -> NDArray[Any]:
        raise AtlasError(f"{self._path}: has no {name}. {AGAIN}")


def read_manifest(folder: Path, command: str = "") -> Manifest:
    """Read the manifest of a folder.

    Args:
        folder: The folder of a run.
        command: The command that makes what is wanted, if that is known, for the error message.

    Returns:
        The manifest. A key that it lacks raises AtlasError when it is asked for.

    Raises:
        AtlasError: It is missing or damaged, or not a manifest of this version.
    """
    path = folder / MANIFEST
    try:
        manifest = _parse(read_within(path, LARGEST_JSON).decode("utf-8"), path)
    except FileNotFoundError as error:
        remedy = f"Make some with: headatlas {command}" if command else "Give the folder of a finished run."
        raise AtlasError(f"{folder}: there are no results here (no {MANIFEST}). {remedy}") from error
    except (OSError, ValueError) as error:
        raise AtlasError(f"{path}: cannot be read ({error}). Delete the folder and run its command again.") from error
    if manifest.get("format") != FORMAT or "command" not in manifest:
        raise AtlasError(f"{path}: not a manifest that this version of headatlas can read. Run again.")
    return manifest


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write a manifest, readable by people."""
    write_text(folder / MANIFEST, json_text({"format": FORMAT} | manifest, indent=2) + "\n")


class _Part(dict[str, Any]):
    """An object within a manifest. A missing key raises AtlasError, which names the file and the key."""

    def __init__(self, entries: dict[str, Any], path: Path) -> None:
        super().__init__(entries)
        self._path = path

    def __missing__(self, key: str) -> Any:
        raise AtlasError(f"{self._path}: {key!r} is missing. The file is damaged, or from another version: run again.")


def _parse(text: str, path: Path) -> Manifest:
    """The content of a manifest; ValueError if it is not a JSON object, or if one of its main parts is malformed."""
    manifest = parse_json(text, partial(_Part, path=path))
    if not isinstance(manifest, dict):
        raise ValueError("it is not an object")
    for name, expected in _TYPES.items():
        if not isinstance(manifest.get(name, expected()), expected):
            raise ValueError(f"{name} is a {type(manifest[name]).__name__}")
    model = manifest.get("model", {})
    if not isinstance(model.get("name", ""), str):
        raise ValueError("the model's name is not text")
    parse_shape(model.get("heads", [1]))
    if not all(isinstance(about, dict) for about in manifest.get("corpora", {}).values()):
        raise ValueError("the description of a corpus is not an object")
    if not all(name.isidentifier() and type(rows) is int for name, rows in manifest.get("tables", {}).items()):
        raise ValueError("its tables are not names with numbers of rows")
    return cast(Manifest, manifest)
