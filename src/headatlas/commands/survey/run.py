"""The work of `survey`: one pass of a model over each corpus, all studies, and a folder of results at the end."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headatlas.commands.survey.examples import relation_examples
from headatlas.commands.survey.options import SurveyOptions
from headatlas.commands.survey.parts import Part
from headatlas.commands.survey.stored import stored_subject
from headatlas.commands.survey.studies import all_tables
from headatlas.commands.survey.subject import Subject, model_subject
from headatlas.encoding.shards import Shard
from headatlas.engine.checkpoint import Checkpoint
from headatlas.engine.run import run_studies
from headatlas.files import make_folder
from headatlas.models.model import Observable
from headatlas.remote import local_folder, send
from headatlas.results.atlas import (
    ATLAS,
    RELATION_EXAMPLES,
    SHARD,
    Atlas,
    already_done,
    write_examples,
    write_manifest,
    write_tables,
)
from headatlas.results.example import save_relation_examples
from headatlas.studies.entropy import ENTROPY_SMOOTHING
from headatlas.studies.study import Study
from headatlas.versions import moment, versions

STATES = "state"


def run_survey(options: SurveyOptions) -> Atlas:
    """Run a survey, or resume it; open it if it has finished."""
    started, folder = time.monotonic(), local_folder(options.out)
    subject = model_subject(options) if options.maps is None else stored_subject(options)
    settings = subject.identity | options.settings() | {"batch_tokens": options.batch_tokens}
    if not already_done(folder, settings, ATLAS if options.shard is None else SHARD):
        _Survey(options, subject, folder, settings).run(started)
    send(folder, options.out)
    return Atlas(folder)


def begin_manifest(settings: dict[str, Any], model: dict[str, Any]) -> dict[str, Any]:
    """Return the manifest of a survey that has just started."""
    made_with = versions("numba", "pandas")
    return {"complete": False, "started": moment(), "settings": settings, "model": model, "versions": made_with}


@dataclass(frozen=True)
class _Survey:
    """A survey that has not finished. settings: what determines its results."""

    options: SurveyOptions
    subject: Subject
    folder: Path
    settings: dict[str, Any]

    def run(self, started: float) -> None:
        """Run every study and write the results."""
        parts = self.subject.parts()
        make_folder(self.folder / STATES)
        manifest = begin_manifest(self.settings, self.subject.about)
        self._write_manifest(manifest)
        for part in parts:
            self._observe(self.subject.observed, part, part.studies, part.name)
            if part.control is not None and self.subject.control is not None:
                control = self.subject.control()
                self._observe(control, part, {part.control.name: part.control}, f"{part.name}-control")
        rows = self._write_tables(parts) if self.options.shard is None else {}
        write_examples(self.folder, self.subject.examples(parts))
        manifest |= {
            "complete": True,
            "finished": moment(),
            "seconds": round(time.monotonic() - started, 1),
            "corpora": {part.name: self._describe(part) for part in parts},
            "studies_skipped": self.subject.skipped,
            "tables": rows,
        }
        self._write_manifest(manifest)

    def _observe(self, model: Observable, part: Part, studies: dict[str, Study], name: str) -> None:
        """Let some studies see a model on one part."""
        options, segments = self.options, part.segments
        run_studies(
            model,
            segments if options.shard is None else Shard.parse(options.shard).of_segments(segments),
            studies,
            kinds=self.subject.kinds,
            batch_tokens=options.batch_tokens,
            seed=options.seed,
            stack=self.subject.stack,
            smoothing=ENTROPY_SMOOTHING if options.as_published else 0.0,
            checkpoint=Checkpoint(self.folder / STATES / f"{name}.safetensors", self.settings),
            workers=options.pool(options.device),
            description=f"{Path(model.name).name}: {name}",
            show_progress=options.progress,
        )

    def _write_tables(self, parts: Sequence[Part]) -> dict[str, int]:
        """Write every table, and clear examples of the best heads; return the number of rows of each table."""
        control = next((part.control for part in parts if part.control is not None), None)
        tables = all_tables((study for part in parts for study in part.studies.values()), control)
        rows = write_tables(self.folder, tables)
        for trees in (part.trees for part in parts if part.trees is not None):
            examples = relation_examples(
                self.subject.observed,
                trees.segments,
                trees.relations,
                tables["dependency_best"],
                kinds=self.subject.kinds,
                how=self.options.words_from,
                stack=self.subject.stack,
                batch_tokens=self.options.batch_tokens,
            )
            save_relation_examples(examples, self.folder / RELATION_EXAMPLES)
        return rows

    def _describe(self, part: Part) -> dict[str, Any]:
        return {"files": self.subject.files[part.name], **part.about, "left_out": part.left_out}

    def _write_manifest(self, manifest: dict[str, Any]) -> None:
        write_manifest(self.folder, manifest, ATLAS if self.options.shard is None else SHARD)
