"""The work of `survey`: one pass of a model over each corpus, all studies, and a folder of results at the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from headatlas.commands.survey.examples import choose_examples, make_example, stored_examples
from headatlas.commands.survey.options import SurveyOptions
from headatlas.commands.survey.sources import ModelSource, StoreSource, configured, setup_of
from headatlas.encoding.mention_segments import MentionSegment
from headatlas.encoding.segments import Segment
from headatlas.encoding.shards import Shard
from headatlas.encoding.word_segments import ParsedSegment, WordSegment
from headatlas.engine.corpora import KINDS, Corpus
from headatlas.engine.job import attempt, describe_failure, how_computed, is_own
from headatlas.engine.run import run_studies
from headatlas.engine.run_folder import RunFolder
from headatlas.errors import CorpusError, PluginError
from headatlas.models.model import Observable
from headatlas.models.stacks import HeadShape
from headatlas.plugins import packages_of
from headatlas.progress import stage
from headatlas.results.atlas import Atlas
from headatlas.results.example import (
    EXAMPLES,
    RELATION_EXAMPLES,
    Example,
    RelationExample,
    save_examples,
    save_relation_examples,
)
from headatlas.results.folder import write_tables
from headatlas.results.tables import TABLES
from headatlas.studies import STUDIES
from headatlas.studies.clear_mentions import ClearMentions
from headatlas.studies.kept_maps import ClearSentences, KeptMaps
from headatlas.studies.labels import BEHAVIOURS, Label, table_of_labels
from headatlas.studies.study import Frames, Study, check_sums
from headatlas.tables import Table

_OF_EXAMPLE = ("relation", "layer", "head", "direction", "accuracy")


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
        self.skipped.update(self.source.skipped)
        corpora = self._read_corpora()
        self.run.begin(model=self.source.about)
        chosen = self._choose_examples(corpora)
        made, names = Made(), list[str]()
        examples: list[Example] = []
        clear: list[RelationExample] = []
        computed_in: dict[str, str] = {}
        for kind, corpus in corpora.items():  # the sums of one corpus are turned into tables before the next is read
            studies, failures = configured(self.source, self.options, kind, corpus.about)
            keepers = self._keepers(corpus, chosen.get(kind, []), studies)
            failures |= self._observe(self.source.observed, corpus.segments, studies | keepers, kind)
            self._skip(studies, failures)
            computed_in[kind] = how_computed(self.source.observed, studies)
            self._observe_control(kind, corpus, studies)
            examples += self._make_examples(kind, corpus, chosen.get(kind, []), keepers.get(KeptMaps.name))
            if self.options.shard is None:
                made.add(studies)
                self._skip(studies, made.failures)
                clear += clear_examples(keepers.values(), made.frames)
            names += studies
        if not names:
            reasons = "; ".join(f"{name}: {why}" for name, why in self.skipped.items())
            raise PluginError(f"None of the chosen studies could run. {reasons}.")
        rows = write_tables(self.run.folder, made.frames, made.declared) if made.frames else {}
        if {ClearSentences.best_heads, ClearMentions.best_heads} & rows.keys():
            save_relation_examples(clear, self.run.folder / RELATION_EXAMPLES)
        if isinstance(self.source, StoreSource):
            examples = stored_examples(self.source.store, self.options.examples)
        save_examples(examples, self.run.folder / EXAMPLES)
        self.run.finish(
            corpora={kind: self._describe(kind, corpus) for kind, corpus in corpora.items()},
            computed_in=computed_in,
            studies_skipped=self.skipped,
            plugins=packages_of(STUDIES, names) | packages_of(KINDS, corpora),
            findings=made.findings,
            tables=rows,
        )

    def _read_corpora(self) -> dict[str, Corpus]:
        """Read every corpus that a study needs. A kind of another package that fails takes its studies with it."""
        read_by = {study.corpus for study in self.source.chosen.values()}
        corpora: dict[str, Corpus] = {}
        for kind in (kind for kind in KINDS if kind in read_by):
            try:
                with stage(f"Reading the {kind}"):
                    corpora[kind] = self.source.read(kind)
                corpora[kind].about["unknown"] = self.source.count_unknown(corpora[kind])
                if not KINDS.is_own(kind):
                    try_kind(kind, self._describe(kind, corpora[kind]), corpora[kind].segments)
            except Exception as error:
                if KINDS.is_own(kind) or isinstance(error, CorpusError):
                    raise
                corpora.pop(kind, None)
                failed = f"its kind of corpus '{kind}' of {KINDS.found[kind].source} failed: {describe_failure(error)}"
                self.skipped.update(
                    {name: failed for name, study in self.source.chosen.items() if study.corpus == kind}
                )
        if not corpora:
            raise PluginError(f"Nothing could be surveyed: {next(iter(self.skipped.values()))}.")
        return corpora

    def _choose_examples(self, corpora: Mapping[str, Corpus]) -> dict[str, list[Segment]]:
        """Choose the inputs to keep, if there is a model that can run on cut ones."""
        if isinstance(self.source, StoreSource):
            return {}
        heads = HeadShape(tuple(self.source.about["heads"])).total
        return choose_examples(corpora, self.options.examples, self.options.seed, heads)

    def _keepers(self, corpus: Corpus, chosen: list[Segment], studies: Mapping[str, Study]) -> dict[str, Study]:
        """Make what keeps maps during the pass: of examples that are whole, and of sentences for figure 5."""
        keepers: list[Study] = []
        if whole := self._whole(corpus, chosen):
            keepers.append(KeptMaps(whole))
        if self.options.shard is None:
            setup = setup_of(self.options, self.source.stack == "decoder", corpus.about)
            if "dependencies" in studies:
                sentences = [segment for segment in corpus.segments if isinstance(segment, ParsedSegment)]
                keepers.append(ClearSentences(sentences, setup))
            if "coreference" in studies:
                stretches = [segment for segment in corpus.segments if isinstance(segment, MentionSegment)]
                keepers.append(ClearMentions(stretches, setup))
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
        if cut:
            run_studies(
                self.source.observed,
                cut,
                {KeptMaps.name: of_cut},
                kinds=self.source.token_kinds,
                batch_tokens=1,
                stack=self.source.stack,
                checkpoint=self.run.checkpoint(f"{kind}-examples"),
                description="Observing examples",
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
            description=f"Surveying {name.replace('-', ', ')}",
        )

    def _observe_control(self, kind: str, corpus: Corpus, studies: Mapping[str, Study]) -> None:
        """Let the studies that compare with random weights see the same network with such weights."""
        takers = {name for name, study in studies.items() if study.takes_control}
        if not self.options.control or not takers or not isinstance(self.source, ModelSource):
            return
        blank, _ = configured(self.source, self.options, kind, corpus.about)
        controls = {name: blank[name] for name in takers}
        for control in controls.values():
            control.omit_replicates()
        failures = self._observe(self.source.load_control(), corpus.segments, controls, f"{kind}-control")
        for name in takers - failures.keys():
            studies[name].control = controls[name]

    def _skip(self, studies: dict[str, Study], failures: Mapping[str, str]) -> None:
        for name, failure in failures.items():
            studies.pop(name, None)
            self.skipped[name] = say_failed(self.source.chosen[name], failure)

    def _describe(self, kind: str, corpus: Corpus) -> dict[str, Any]:
        return {"files": self.source.files[kind], **corpus.about, "left_out": corpus.left_out}


def say_failed(study: Study, failure: str) -> str:
    """Say where a study comes from that failed, its package or the place of its class, and how it failed."""
    found = STUDIES.found.get(study.name)
    origin = found.source if found else f"{type(study).__module__}.{type(study).__qualname__}"
    return f"{origin} failed: {failure}"


@dataclass
class Made:
    """What studies make of their sums.

    Attributes:
        frames: The tables of every study, and what they say together about each head.
        declared: The declarations of these tables.
        findings: What the tables of studies of other packages show, in sentences.
        failures: The studies of other packages that failed, and how.
        labels: What the studies say about heads.
    """

    frames: Frames = field(default_factory=dict)
    declared: dict[str, Table] = field(default_factory=dict)
    findings: dict[str, list[str]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    labels: list[Label] = field(default_factory=list)

    def add(self, studies: Mapping[str, Study]) -> None:
        """Make every table of some studies, and of all so far what they say together about each head."""
        self.frames.pop(BEHAVIOURS.name, None)
        with stage("Estimating intervals", total=len(studies)) as bar:
            for name, study in studies.items():
                bar.begin(1, note=name.replace("_", " "))
                attempt(name, study, self.failures, partial(_make_of_study, study, self))
                bar.advance()
        self.frames[BEHAVIOURS.name] = table_of_labels(self.labels)
        self.declared[BEHAVIOURS.name] = BEHAVIOURS


def _make_of_study(study: Study, made: Made) -> None:
    """Add all that a study makes, or nothing if it fails."""
    tables = {table.name: table for table in study.tables}
    if not is_own(study):
        check_sums(study)
        if taken := [name for name, table in tables.items() if TABLES.get(name) is not table]:
            raise PluginError(f"a table called {taken[0]} exists already; rename it")
    of_study = study.frames()
    if wrong := sorted(tables.keys() ^ of_study.keys()) if not is_own(study) else []:
        raise PluginError(f"its tables are {', '.join(tables)}, but it makes or omits {', '.join(wrong)}")
    conformed = {table: tables[table].conform(frame) for table, frame in of_study.items()}
    available = made.frames | conformed
    labels_here = [Label(*label) for label in study.labels(available)]
    table_of_labels(labels_here)
    sentences = [] if is_own(study) else [str(sentence) for sentence in study.findings(available)]
    made.frames.update(conformed)
    made.declared.update(tables)
    made.findings.update({study.name: sentences} if sentences else {})
    made.labels.extend(labels_here)


def clear_examples(keepers: Iterable[Study], frames: Frames) -> list[RelationExample]:
    """The sentences on which the best heads are clearly right."""
    return [
        RelationExample(**{name: row[name] for name in _OF_EXAMPLE}, **sentence._asdict())
        for keeper in keepers
        if isinstance(keeper, ClearSentences | ClearMentions)
        for row, sentence in keeper.clearest(frames[keeper.best_heads])
    ]


def try_kind(kind: str, about: Mapping[str, Any], segments: Sequence[Segment]) -> None:
    """Let a kind of corpus do all that a survey will ask of it, so that it fails before anything long begins."""
    made = KINDS[kind]()
    made.describe(about)
    for example in [made.picture(segments[0]), *made.examples(segments)][:2]:
        if isinstance(example, WordSegment):
            made.gold(example, about)
