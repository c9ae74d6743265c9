"""`headatlas survey`, in Python `headatlas.survey`: options and entry point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from headatlas.choices import Definitions, RandomWeights
from headatlas.commands.shared.command import command
from headatlas.commands.shared.completing import complete_studies
from headatlas.commands.shared.corpora import CorpusOptions, FormatOptions, SegmentOptions
from headatlas.commands.shared.models import SPREAD, ModelOptions, OptionalModel, RandomWeightsOptions, split_revision
from headatlas.commands.shared.options import (
    DECIDES_MAPS,
    SEVERAL,
    UNRECORDED,
    Folder,
    Options,
    Positive,
    PythonOnly,
    ResultsFolder,
    ShardOptions,
    WorkerOptions,
    flag_of,
    flatten,
    list_names,
    list_options,
)
from headatlas.engine.corpora import KINDS
from headatlas.errors import SettingError
from headatlas.studies import STUDIES

if TYPE_CHECKING:
    from headatlas.results.atlas import Atlas
    from headatlas.studies.study import Study
else:

    class Study:
        """Stands in for the class in signatures: importing it would import torch, which --help must not wait for."""


STUDY_NAMES = Parameter(metavar="NAME...", completer=complete_studies)


@dataclass(frozen=True, kw_only=True)
class ParsingOptions(Options, panel="Corpora"):
    """Where dependency trees come from if there is no treebank."""

    parse_with: Annotated[str | None, Parameter(metavar="PIPELINE"), DECIDES_MAPS] = None
    """Parse the text with this spaCy pipeline, for example en_core_web_sm, instead of reading a treebank. These parses
    are marked as silver."""


@dataclass(frozen=True, kw_only=True)
class StatisticsOptions(Options, panel="Statistics"):
    """How to summarise and test the measurements."""

    bootstrap: Positive = 1000
    """Number of bootstrap replicates for intervals, and of permutations for tests."""
    least_count: Positive = 100
    """Name the best head only for relations with at least this many words."""
    control: Annotated[RandomWeights | None, DECIDES_MAPS] = None
    """Also run the same model with random weights, fresh or shuffled, and print what it reaches beside every finding.
    Takes twice as long."""
    as_published: bool = False
    """Compute every measure as the paper's released code does: token types all 0, smoothed entropies and distances,
    attention from the first token of a word, the map of heads from unrooted distances, and only the beginning of each
    coreference document."""

    @property
    def definitions(self) -> Definitions:
        """Whose definitions are followed."""
        return "code" if self.as_published else "ours"


@dataclass(frozen=True, kw_only=True)
class ExampleOptions(Options, panel="Output"):
    """What to write besides tables."""

    examples: Positive = 60
    """Number of short inputs to save with all their attention maps, for the page. Fewer are saved if their maps would
    take more than 128 MB, as those of thousands of heads do."""


@dataclass(frozen=True, kw_only=True)
class ChoiceOptions(Options):
    """What to survey, and how much of it."""

    maps: ResultsFolder | None = None
    """Folder of attention maps saved by `headatlas extract`, to read instead of running a model."""
    studies: Annotated[str | Sequence[str | Study] | None, SEVERAL, STUDY_NAMES, UNRECORDED] = None
    """Studies to run:"""
    segments: Annotated[Positive, DECIDES_MAPS] = 1000
    """Number of segments to sample from the text."""
    max_tokens: Annotated[Positive, DECIDES_MAPS] = 128
    """Maximum length of a segment in tokens, including special tokens."""
    seed: int = 0
    """Seed for sampling, masking and random weights."""
    progress: PythonOnly = True
    """Show progress."""

    @classmethod
    def help_of(cls, name: str, text: str) -> str:
        if name != "studies":
            return super().help_of(name, text)
        return f"{text} {', '.join(STUDIES)}. Default: all that the model and the corpora support."


@dataclass(frozen=True, kw_only=True)
class SurveyOptions(
    CorpusOptions,
    ChoiceOptions,
    ModelOptions,
    RandomWeightsOptions,
    FormatOptions,
    ParsingOptions,
    SegmentOptions,
    StatisticsOptions,
    ExampleOptions,
    WorkerOptions,
    ShardOptions,
):
    """The options of `survey`."""

    model: Annotated[OptionalModel, DECIDES_MAPS] = field(default=None, kw_only=False)
    """Name on the Hugging Face hub, optionally with @revision; a local folder; a .gguf file; or an embedded model
    (run `headatlas models` for a list). Omit it with --maps."""
    out: Folder = ""
    """Folder or URL to write to, for example s3://bucket/atlas. An unfinished survey resumes. Default: atlas- and the
    name of the model."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not str(self.out):
            object.__setattr__(self, "out", _folder_named_after(self.model if self.maps is None else self.maps))
        self._check_studies()
        if self.maps is not None:
            self._check_maps()
        elif self.model is None:
            raise SettingError(
                "No model given. Put MODEL before all options, or pass stored attention maps with --maps."
            )
        else:
            self._check_parsing()
            self._check_random_weights()
        if self.device == SPREAD and self.workers is not None:
            raise SettingError("--device spread divides one model among all devices. Remove it, or remove --workers.")

    @property
    def chosen_studies(self) -> list[str | Study] | None:
        """The studies that were asked for, by name or as objects; None if none were."""
        if self.studies is None:
            return None
        wanted: Sequence[str | Study] = [self.studies] if isinstance(self.studies, str) else self.studies
        return [item for one in wanted for item in ((list_names(one) or []) if isinstance(one, str) else [one])]

    def _check_studies(self) -> None:
        chosen = self.chosen_studies
        if chosen == []:
            raise SettingError(f"No study is chosen. Choose from: {', '.join(STUDIES)}.")
        for study in chosen or ():
            _check_object(study)
        names = [study if isinstance(study, str) else study.name for study in chosen or ()]
        if unknown := sorted({study for study in chosen or () if isinstance(study, str)} - set(STUDIES)):
            raise SettingError(f"Unknown study: {', '.join(unknown)}. Choose from: {', '.join(STUDIES)}.")
        taken = [study.name for study in chosen or () if not isinstance(study, str) and study.name in STUDIES.found]
        if taken or len(set(names)) < len(names):
            repeated = taken or [name for name in names if names.count(name) > 1]
            raise SettingError(f"Two studies are called '{repeated[0]}'. Rename one of them.")

    def _check_maps(self) -> None:
        """Refuse options that were decided when the maps were extracted."""
        defaults = {option.name: option.default for option in fields(self)}
        for option in list_options(type(self)):
            if DECIDES_MAPS in flatten(option.hint) and getattr(self, option.name) != defaults[option.name]:
                name = "MODEL" if option.name == "model" else flag_of(option.name)
                raise SettingError(f"{name} was decided when the maps were extracted. Remove it, or remove --maps.")
        if formats := set(self.format or ()) - {"labels"}:
            raise SettingError(f"--maps reads no {' or '.join(sorted(formats))}. Remove --format, or remove --maps.")
        if self.workers is not None:
            raise SettingError("--workers each run a model, but --maps are read by one process. Remove --workers.")

    @property
    def on_sample(self) -> bool:
        """Whether no corpus was given, so that the model reads the sample that comes with headatlas."""
        return self.maps is None and all(getattr(self, kind) is None for kind in KINDS)

    def _check_parsing(self) -> None:
        if self.parse_with is not None and (self.treebank is not None or self.text is None):
            problem = "--treebank already has parses" if self.treebank is not None else "--text is missing"
            raise SettingError(f"--parse-with {self.parse_with} parses the text, but {problem}.")

    def _check_random_weights(self) -> None:
        """Refuse random weights that cannot be drawn, and a control without anything to compare it with."""
        if self.device == SPREAD and (self.control or self.random_weights):
            flag = "--control" if self.control else "--random-weights"
            raise SettingError(f"{flag} draws random weights on a single device. Remove --device spread.")
        if not self.control:
            return
        if self.random_weights:
            raise SettingError("--control compares with random weights, and so the model needs its own. Remove one.")
        if not isinstance(self.model, str):
            raise SettingError("--control loads the model again with random weights. Pass the model by name.")


def _folder_named_after(source: object) -> str:
    """Name a folder after a model, by its name, path or object, or after a folder of maps."""
    if isinstance(source, tuple):
        source = source[0]  # a network, with its tokenizer
    name = source if isinstance(source, str | Path) else getattr(source, "name", getattr(source, "name_or_path", ""))
    return f"atlas-{Path(split_revision(str(name))[0]).name or type(source).__name__}"


def _check_object(study: object) -> None:
    """Refuse what is neither a name nor a study."""
    if isinstance(study, str):
        return
    from headatlas.studies.study import Study  # slow, and names do not need it

    if not isinstance(study, Study):
        name = study.__name__ if isinstance(study, type) else type(study).__name__
        raise SettingError(f"{name} is not a study. Pass names of studies, or objects such as {name}().")
    if missing := [part for part in ("name", "tables") if not hasattr(study, part)]:
        raise SettingError(f"The study {type(study).__name__} does not declare its {missing[0]}.")


@command(SurveyOptions)
def survey(options: SurveyOptions) -> Atlas:
    """Run a model over your text once and describe every attention head.

    Writes tables (Parquet and CSV), figures and index.html into DIR. Press Ctrl-C to stop; the same command resumes.
    Without a corpus, the model reads the sample that comes with headatlas: enough for a first look.

        headatlas survey gpt2
        headatlas survey bert-base-uncased --text wiki.txt --treebank dev.conllu
        headatlas survey gpt2 --text a.txt b.txt.gz --segments 300 --out gpt2
        headatlas survey gpt2 --text wiki.txt --random-weights fresh --out gpt2-random
        headatlas survey gpt2 --text wiki.txt --workers 4
        headatlas survey gpt2 --text wiki.txt --shard 2/8 --out part2
        headatlas survey --maps maps

    In Python: headatlas.survey("gpt2", text="wiki.txt", segments=300, out="gpt2")

    >>> import headatlas as ha
    >>> documents = ["The cat saw its shadow. It ran.", "Nobody came. The dog barked all night."]
    >>> atlas = ha.survey("embedded", text=documents, studies="positions", out="atlas", progress=False)
    >>> positions = atlas.tables["positions"]
    >>> positions.query("offset == -1").nlargest(2, "value")[["layer", "head"]]
         layer  head
    6        1     3
    105      3    12
    """
    from headatlas.commands.survey.run import run_survey  # imported here because it needs torch

    return run_survey(options)
