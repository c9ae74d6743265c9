"""The work of `survey`: one pass of a model over each corpus, all studies, and a folder of results at the end."""

from __future__ import annotations

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
from headatlas.engine.run import run_studies
from headatlas.engine.run_folder import RunFolder
from headatlas.models.model import Observable
from headatlas.results.atlas import RELATION_EXAMPLES, Atlas, write_examples
from headatlas.results.example import save_relation_examples
from headatlas.results.folder import write_tables
from headatlas.studies import Study
from headatlas.studies.entropy import ENTROPY_SMOOTHING


def run_survey(options: SurveyOptions) -> Atlas:
    """Run a survey, or resume it; open it if it has finished."""
    with RunFolder(options.out, "survey") as run:
        subject = model_subject(options) if options.maps is None else stored_subject(options)
        settings = subject.identity | options.settings() | {"batch_tokens": options.batch_tokens}
        if not run.finished(settings):
            _Survey(options, subject, run).observe_and_write()
        return Atlas(run.folder)


@dataclass(frozen=True)
class _Survey:
    """A survey that has not finished."""

    options: SurveyOptions
    subject: Subject
    run: RunFolder

    def observe_and_write(self) -> None:
        """Run every study and write the results."""
        parts = self.subject.parts()
        self.run.begin(model=self.subject.about)
        for part in parts:
            self._observe(self.subject.observed, part, part.studies, part.name)
            if part.control is not None and self.subject.control is not None:
                control = self.subject.control()
                self._observe(control, part, {part.control.name: part.control}, f"{part.name}-control")
        rows = self._write_tables(parts) if self.options.shard is None else {}
        write_examples(self.run.folder, self.subject.examples(parts))
        self.run.finish(
            corpora={part.name: self._describe(part) for part in parts},
            studies_skipped=self.subject.skipped,
            tables=rows,
        )

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
            checkpoint=self.run.checkpoint(name),
            workers=options.pool(options.device),
            description=f"{Path(model.name).name}: {name}",
            show_progress=options.progress,
        )

    def _write_tables(self, parts: Sequence[Part]) -> dict[str, int]:
        """Write every table, and clear examples of the best heads; return the number of rows of each table."""
        control = next((part.control for part in parts if part.control is not None), None)
        tables = all_tables((study for part in parts for study in part.studies.values()), control)
        rows = write_tables(self.run.folder, tables)
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
            save_relation_examples(examples, self.run.folder / RELATION_EXAMPLES)
        return rows

    def _describe(self, part: Part) -> dict[str, Any]:
        return {"files": self.subject.files[part.name], **part.about, "left_out": part.left_out}
