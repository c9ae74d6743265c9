"""The work of `survey`: one pass of a model over each corpus, all studies, and a folder of results at the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headatlas.commands.survey.examples import choose_examples, make_example, stored_examples
from headatlas.commands.survey.options import SurveyOptions
from headatlas.commands.survey.sources import ModelSource, StoreSource, configured, setup_of
from headatlas.encoding.segments import Segment
from headatlas.encoding.shards import Shard
from headatlas.encoding.word_segments import ParsedSegment
from headatlas.engine.corpora import KINDS, Corpus
from headatlas.engine.job import describe_failure, is_own
from headatlas.engine.run import run_studies
from headatlas.engine.run_folder import RunFolder
from headatlas.errors import PluginError
from headatlas.models.model import Observable
from headatlas.plugins import packages_of
from headatlas.results.atlas import Atlas, write_examples, write_relation_examples
from headatlas.results.example import Example, RelationExample
from headatlas.results.folder import write_tables
from headatlas.studies import STUDIES
from headatlas.studies.kept_maps import ClearSentences, KeptMaps
from headatlas.studies.labels import BEHAVIOURS, Label, table_of_labels
from headatlas.studies.study import Frames, Study
from headatlas.tables import Table


def run_survey(options: SurveyOptions) -> Atlas:
    """Run a survey, or resume it; open it if it has finished."""
    with RunFolder(options.out, "survey") as run:
        source = ModelSource(options) if options.maps is None else StoreSource(options)
        if not run.finished(source.identity | options.settings() | {"batch_tokens": options.batch_tokens}):
            _Survey(options, source, run).observe_and_write()
        return Atlas(run.folder)


@dataclass(frozen=True)
class _Survey:
    """A survey that has not finished."""

    options: SurveyOptions
    source: ModelSource | StoreSource
    run: RunFolder
    skipped: dict[str, str] = field(default_factory=dict)  # studies without tables, and why

    def observe_and_write(self) -> None:
        """Read the corpora, let the model pass over each of them once, and write the results."""
        read_by = {study.corpus for study in self.source.chosen.values()}
        corpora = {kind: self.source.read(kind) for kind in KINDS if kind in read_by}
        for corpus in corpora.values():
            corpus.about["unknown"] = self.source.count_unknown(corpus)
        self.skipped.update(self.source.skipped)
        self.run.begin(model=self.source.about)
        chosen = self._choose_examples(corpora)
        studies: dict[str, Study] = {}
        examples: list[Example] = []
        clear: ClearSentences | None = None
        for kind, corpus in corpora.items():
            of_kind = configured(self.source, self.options, kind, corpus.about)
            keepers = self._keepers(corpus, chosen.get(kind, []), of_kind)
            failures = self._observe(self.source.observed, corpus.segments, of_kind | keepers, kind)
            self._skip(of_kind, failures)
            self._observe_control(kind, corpus, of_kind)
            examples += self._make_examples(kind, corpus, chosen.get(kind, []), keepers.get(KeptMaps.name))
            clear = next((keeper for keeper in keepers.values() if isinstance(keeper, ClearSentences)), clear)
            studies |= of_kind
        if not studies:
            reasons = "; ".join(f"{name}: {why}" for name, why in self.skipped.items())
            raise PluginError(f"None of the chosen studies could run. {reasons}.")
        rows = self._write_tables(studies, clear) if self.options.shard is None else {}
        if isinstance(self.source, StoreSource):
            examples = stored_examples(self.source.store, self.options.examples)
        write_examples(self.run.folder, examples)
        self.run.finish(
            corpora={kind: self._describe(kind, corpus) for kind, corpus in corpora.items()},
            studies_skipped=self.skipped,
            plugins=packages_of(STUDIES, studies) | packages_of(KINDS, corpora),
            tables=rows,
        )

    def _choose_examples(self, corpora: Mapping[str, Corpus]) -> dict[str, list[Segment]]:
        """Choose the inputs to keep, if there is a model that can run on cut ones."""
        if isinstance(self.source, StoreSource):
            return {}
        return choose_examples(corpora, self.options.examples, self.options.seed)

    def _keepers(self, corpus: Corpus, chosen: list[Segment], studies: Mapping[str, Study]) -> dict[str, Study]:
        """Make what keeps maps during the pass: of examples that are whole, and of sentences for figure 5."""
        keepers: list[Study] = []
        if whole := self._whole(corpus, chosen):
            keepers.append(KeptMaps(whole))
        if "dependencies" in studies and self.options.shard is None:
            setup = setup_of(self.options, self.source.stack == "decoder", corpus.about)
            sentences = [segment for segment in corpus.segments if isinstance(segment, ParsedSegment)]
            keepers.append(ClearSentences(sentences, setup))
        return {keeper.name: keeper for keeper in keepers}

    def _whole(self, corpus: Corpus, chosen: list[Segment]) -> list[Segment]:
        """The examples that the model sees anyway; a shard sees only some, so it runs its examples apart."""
        inputs = {id(segment) for segment in corpus.segments} if self.options.shard is None else set()
        return [segment for segment in chosen if id(segment) in inputs]

    def _make_examples(self, kind: str, corpus: Corpus, chosen: list[Segment], kept: Study | None) -> list[Example]:
        """Return the examples of a corpus in the order of choice; the model sees those that were cut one at a time."""
        if not chosen or not isinstance(self.source, ModelSource):
            return []
        whole = {segment.id for segment in self._whole(corpus, chosen)}
        cut = [segment for segment in chosen if segment.id not in whole]
        of_cut = KeptMaps(cut)
        run_studies(
            self.source.observed,
            cut,
            {KeptMaps.name: of_cut},
            kinds=self.source.token_kinds,
            batch_tokens=1,
            stack=self.source.stack,
            checkpoint=self.run.checkpoint(f"{kind}-examples"),
        )
        maps = {segment.id: of_cut.maps_of(segment) for segment in cut}
        if isinstance(kept, KeptMaps):
            maps |= {segment.id: kept.maps_of(segment) for segment in chosen if segment.id in whole}
        model = self.source.observed
        return [make_example(model, kind, corpus, segment, maps[segment.id]) for segment in chosen]

    def _observe(
        self, model: Observable, segments: Iterable[Segment], studies: Mapping[str, Study], name: str
    ) -> dict[str, str]:
        """Let some studies see a model on some inputs, or on those of this shard; return which failed, and how."""
        options, inputs = self.options, list(segments)
        return run_studies(
            model,
            inputs if options.shard is None else Shard.parse(options.shard).of_segments(inputs),
            studies,
            kinds=self.source.token_kinds,
            batch_tokens=options.batch_tokens,
            seed=options.seed,
            stack=self.source.stack,
            checkpoint=self.run.checkpoint(name),
            workers=options.pool(options.device),
            description=f"{Path(model.name).name}: {name}",
            show_progress=options.progress,
        )

    def _observe_control(self, kind: str, corpus: Corpus, studies: Mapping[str, Study]) -> None:
        """Let the studies that compare with random weights see the same network with such weights."""
        takers = {name for name, study in studies.items() if study.takes_control}
        if not self.options.control or not takers or not isinstance(self.source, ModelSource):
            return
        blank = configured(self.source, self.options, kind, corpus.about)
        controls = {name: blank[name] for name in takers}
        failures = self._observe(self.source.load_control(), corpus.segments, controls, f"{kind}-control")
        for name in takers - failures.keys():
            studies[name].control = controls[name]

    def _skip(self, studies: dict[str, Study], failures: Mapping[str, str]) -> None:
        for name, failure in failures.items():
            if name in studies:
                self.skipped[name] = f"{_origin(studies.pop(name))} failed: {failure}"

    def _write_tables(self, studies: dict[str, Study], clear: ClearSentences | None) -> dict[str, int]:
        """Write every table, and clear examples of the best heads; return the number of rows of each table."""
        frames, declared, failures = make_frames(studies)
        self._skip(studies, failures)
        rows = write_tables(self.run.folder, frames, declared)
        if clear is not None:
            examples = [
                RelationExample(
                    relation=row["relation"],
                    layer=row["layer"],
                    head=row["head"],
                    direction=row["direction"],
                    accuracy=row["accuracy"],
                    **sentence._asdict(),
                )
                for row, sentence in clear.clearest(frames["dependency_best"])
            ]
            write_relation_examples(self.run.folder, examples)
        return rows

    def _describe(self, kind: str, corpus: Corpus) -> dict[str, Any]:
        return {"files": self.source.files[kind], **corpus.about, "left_out": corpus.left_out}


def _origin(study: Study) -> str:
    """Where a study comes from: its package, or the place of its class."""
    if study.name in STUDIES:
        return STUDIES.found[study.name].source
    return f"{type(study).__module__}.{type(study).__qualname__}"


def make_frames(studies: Mapping[str, Study]) -> tuple[Frames, dict[str, Table], dict[str, str]]:
    """Make every table of every study, and what they say together about each head.

    Returns:
        The frames, the declarations of all tables, and the studies of other packages that failed, with how.
    """
    frames: Frames = {}
    declared: dict[str, Table] = {BEHAVIOURS.name: BEHAVIOURS}
    failures: dict[str, str] = {}
    labels: list[Label] = []
    for name, study in studies.items():
        try:
            of_study, tables = study.frames(), {table.name: table for table in study.tables}
            made = {table: tables[table].conform(frame) for table, frame in of_study.items()}
            if repeated := sorted(tables.keys() & declared.keys()):
                raise ValueError(f"another study makes a table {repeated[0]}")
            labels_here = list(study.labels(frames | made))
        except Exception as error:
            if is_own(study):
                raise
            failures[name] = describe_failure(error)
            continue
        frames |= made
        declared |= tables
        labels += labels_here
    frames[BEHAVIOURS.name] = table_of_labels(labels)
    return frames, declared, failures
