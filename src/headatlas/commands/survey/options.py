"""`headatlas survey`, in Python `headatlas.survey`: options and entry point."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Literal, get_args

from cyclopts import Parameter

from headatlas.choices import MapDistance, StudyName
from headatlas.commands.shared.command import command
from headatlas.commands.shared.corpora import FormatOptions, SegmentOptions
from headatlas.commands.shared.models import SPREAD, ModelOptions, OptionalModel, RandomWeightsOptions
from headatlas.commands.shared.options import (
    DECIDES_MAPS,
    Files,
    Folder,
    Names,
    Options,
    Positive,
    PythonOnly,
    flag_of,
    flatten,
    list_names,
    list_options,
)
from headatlas.commands.shared.parallel import ShardOptions, WorkerOptions
from headatlas.errors import SettingError

if TYPE_CHECKING:
    from headatlas.results.atlas import Atlas

CORPORA = ("text", "treebank", "coreference", "keyphrases")


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
    control: Annotated[bool, DECIDES_MAPS] = False
    """Also run the same model with random weights over the treebank, as a baseline for its best heads."""
    as_published: bool = False
    """Compute every measure as the paper's released code does: token types all 0, smoothed entropies and distances,
    attention from the first token of a word, the map of heads from unrooted distances, and only the beginning of each
    coreference document."""

    @property
    def words_from(self) -> Literal["mean", "first"]:
        """How attention from a word follows from the attention of its tokens."""
        return "first" if self.as_published else "mean"

    @property
    def map_distance(self) -> MapDistance:
        """The distance that the map of heads preserves."""
        return "js" if self.as_published else "sqrt_js"

    @property
    def whole_documents(self) -> bool:
        """Whether coreference documents are read to their end, in windows, or only their first `max_tokens` tokens."""
        return not self.as_published


@dataclass(frozen=True, kw_only=True)
class ExampleOptions(Options, panel="Output"):
    """What to write besides tables."""

    examples: Positive = 60
    """Number of short inputs to save with all their attention maps, for the page."""


@dataclass(frozen=True, kw_only=True)
class SurveyOptions(
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
    out: Folder = "atlas"
    """Folder or URL to write to, for example s3://bucket/atlas. An unfinished survey resumes."""
    text: Annotated[Files | None, DECIDES_MAPS] = None
    """UTF-8 text, plain or gzipped: one sentence or paragraph per line, an empty line between documents."""
    treebank: Annotated[Files | None, DECIDES_MAPS] = None
    """Sentences with dependency trees: CoNLL-U, CoNLL-X, spaCy DocBin, or one word and its head-label per line."""
    coreference: Annotated[Files | None, DECIDES_MAPS] = None
    """Documents with coreference chains: CoNLL-2012, CoNLL-U with Entity=, or bracket columns."""
    keyphrases: Annotated[Files | None, DECIDES_MAPS] = None
    """Documents with keyphrases: Inspec or SemEval folders or zip files, or JSON lines."""
    maps: Folder | None = None
    """Folder of attention maps saved by `headatlas extract`, to read instead of running a model."""
    studies: Names | None = None
    """Studies to run: positions, token_kinds, entropy, max_attention, similarity, gradients, dependencies, coreference,
    keyphrases. Default: all that the model and the corpora support."""
    segments: Annotated[Positive, DECIDES_MAPS] = 1000
    """Number of segments to sample from the text."""
    max_tokens: Annotated[Positive, DECIDES_MAPS] = 128
    """Maximum length of a segment in tokens, including special tokens."""
    seed: int = 0
    """Seed for sampling, masking and random weights."""
    progress: PythonOnly = True
    """Show progress."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_studies()
        if self.maps is not None:
            self._check_maps()
        elif self.model is None:
            raise SettingError(
                "No model given. Put MODEL before all options, or pass stored attention maps with --maps."
            )
        else:
            self._check_corpora()
            self._check_random_weights()
        if self.device == SPREAD and self.workers is not None:
            raise SettingError("--device spread divides one model among all devices. Remove it, or remove --workers.")

    def _check_studies(self) -> None:
        names, known = list_names(self.studies), get_args(StudyName)
        if names == []:
            raise SettingError(f"No study is chosen. Choose from: {', '.join(known)}.")
        if unknown := sorted(set(names or ()) - set(known)):
            raise SettingError(f"Unknown study: {', '.join(unknown)}. Choose from: {', '.join(known)}.")

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

    def _check_corpora(self) -> None:
        if all(getattr(self, corpus) is None for corpus in CORPORA):
            raise SettingError("There is nothing to survey. Add --text, --treebank, --coreference or --keyphrases.")
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
        if self.treebank is None and self.parse_with is None:
            raise SettingError("--control is compared with the best heads on a treebank. Add --treebank.")
        if self.random_weights:
            raise SettingError("--control compares with random weights, and so the model needs its own. Remove one.")
        if not isinstance(self.model, str):
            raise SettingError("--control loads the model again with random weights. Pass the model by name.")


@command(SurveyOptions)
def survey(options: SurveyOptions) -> Atlas:
    """Run a model over your text once and describe every attention head.

    Writes tables (Parquet and CSV), figures and index.html into DIR. Press Ctrl-C to stop; the same command resumes.

        headatlas survey bert-base-uncased --text wiki.txt
        headatlas survey bert-base-uncased --text wiki.txt --treebank dev.conllu
        headatlas survey gpt2 --text a.txt b.txt.gz --segments 300 --out gpt2
        headatlas survey gpt2 --text wiki.txt --random-weights --out gpt2-random
        headatlas survey gpt2 --text wiki.txt --workers 4
        headatlas survey gpt2 --text wiki.txt --shard 2/8 --out part2
        headatlas survey --maps maps

    In Python: headatlas.survey("gpt2", text="wiki.txt", segments=300, out="gpt2")
    """
    from headatlas.commands.survey.run import run_survey  # imported here because it needs torch

    return run_survey(options)
