"""What decides the outcome of a survey or an extraction, beside model and corpora, and what of it cannot work."""

from __future__ import annotations

from dataclasses import dataclass

from headatlas.corpora.coreference.read import COREFERENCE_FORMATS, CoreferenceFormat
from headatlas.corpora.keyphrases.read import KEYPHRASE_FORMATS, KeyphraseFormat
from headatlas.corpora.text import TEXT_FORMATS, TextFormat
from headatlas.corpora.treebanks.label_sets import LABEL_SETS
from headatlas.corpora.treebanks.read import TREEBANK_FORMATS, TreebankFormat
from headatlas.encoding.segments import SEGMENT_STYLES, SegmentStyle
from headatlas.encoding.shards import Shard
from headatlas.errors import SettingError
from headatlas.statistics.words import FROM_TOKENS, FromTokens
from headatlas.store.examples import Level
from headatlas.store.word_maps import STORED_TYPES
from headatlas.studies.similarity import MAP_DISTANCES, MapDistance


@dataclass(frozen=True)
class SurveySettings:
    """The settings of a survey, by the names of its options."""

    segments: int
    max_tokens: int
    batch_tokens: int
    seed: int
    text_format: TextFormat
    treebank_format: TreebankFormat
    coreference_format: CoreferenceFormat
    keyphrase_format: KeyphraseFormat
    segment_style: SegmentStyle
    zero_token_types: bool
    smooth_entropy: bool
    smooth_similarity: bool
    per_token: bool
    clusters: int
    map_distance: MapDistance
    parse_with: str | None
    label_set: str
    words_from: FromTokens
    least_count: int
    clamp_offsets: bool
    coreference_windows: bool
    bootstrap: int
    control: bool
    examples: int
    shard: str | None = None

    def check(self) -> None:
        """Refuse what cannot work before a model is loaded."""
        _at_least_one(
            self, "segments", "max_tokens", "batch_tokens", "least_count", "bootstrap", "clusters", "examples"
        )
        _known(self, text_format=TEXT_FORMATS, treebank_format=TREEBANK_FORMATS, coreference_format=COREFERENCE_FORMATS)
        _known(self, segment_style=SEGMENT_STYLES, label_set=("auto", *LABEL_SETS), words_from=FROM_TOKENS)
        _known(self, map_distance=MAP_DISTANCES, keyphrase_format=KEYPHRASE_FORMATS)
        if self.shard is not None:
            Shard.parse(self.shard)


@dataclass(frozen=True)
class ExtractSettings:
    """What decides the outcome of an extraction, beside its model and corpus, by the names of its options."""

    level: Level
    hidden_states: bool
    dtype_stored: str
    shard_megabytes: int
    segments: int
    sentences: int | None  # of a treebank; None for all
    max_tokens: int
    batch_tokens: int
    seed: int
    text_format: TextFormat
    treebank_format: TreebankFormat
    segment_style: SegmentStyle
    shard: str | None = None

    def check(self) -> None:
        """Refuse what cannot work before a model is loaded."""
        _at_least_one(self, "shard_megabytes", "segments", "max_tokens", "batch_tokens")
        if self.sentences is not None:
            _at_least_one(self, "sentences")
        _known(self, text_format=TEXT_FORMATS, treebank_format=TREEBANK_FORMATS, segment_style=SEGMENT_STYLES)
        _known(self, dtype_stored=tuple(STORED_TYPES))
        if self.shard is not None:
            Shard.parse(self.shard)


@dataclass(frozen=True)
class ImportSettings:
    """What decides the outcome of an import, beside its files, by the names of its options."""

    dtype_stored: str
    shard_megabytes: int

    def check(self) -> None:
        """Refuse what cannot work."""
        _at_least_one(self, "shard_megabytes")
        _known(self, dtype_stored=tuple(STORED_TYPES))


def _at_least_one(settings: object, *names: str) -> None:
    for name in names:
        if (number := getattr(settings, name)) < 1:
            raise SettingError(f"--{name.replace('_', '-')} must be at least 1, not {number}.")


def _known(settings: object, **choices: tuple[str, ...]) -> None:
    for name, words in choices.items():
        if (word := getattr(settings, name)) not in words:
            raise SettingError(f"--{name.replace('_', '-')} {word} is unknown. Use one of: {', '.join(words)}.")
