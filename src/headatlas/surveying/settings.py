"""What decides the outcome of a survey, beside its model and corpora, and what of it cannot work."""

from __future__ import annotations

from dataclasses import dataclass

from headatlas.corpora.coreference import COREFERENCE_FORMATS, CoreferenceFormat
from headatlas.corpora.label_sets import LABEL_SETS
from headatlas.corpora.text import TEXT_FORMATS, TextFormat
from headatlas.corpora.treebank import TREEBANK_FORMATS, TreebankFormat
from headatlas.encoding.segments import SEGMENT_STYLES, SegmentStyle
from headatlas.errors import SettingError
from headatlas.statistics.words import FROM_TOKENS, FromTokens


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
    segment_style: SegmentStyle
    zero_token_types: bool
    smooth_entropy: bool
    parse_with: str | None
    label_set: str
    words_from: FromTokens
    least_count: int
    clamp_offsets: bool
    coreference_windows: bool
    bootstrap: int
    control: bool
    examples: int

    def check(self) -> None:
        """Refuse what cannot work before a model is loaded."""
        for name in ("segments", "max_tokens", "batch_tokens", "least_count", "bootstrap", "examples"):
            if (number := getattr(self, name)) < 1:
                raise SettingError(f"--{name.replace('_', '-')} must be at least 1, not {number}.")
        known: dict[str, tuple[str, ...]] = {
            "text_format": TEXT_FORMATS,
            "treebank_format": TREEBANK_FORMATS,
            "coreference_format": COREFERENCE_FORMATS,
            "segment_style": SEGMENT_STYLES,
            "label_set": ("auto", *LABEL_SETS),
            "words_from": FROM_TOKENS,
        }
        for name, words in known.items():
            if (word := getattr(self, name)) not in words:
                raise SettingError(f"--{name.replace('_', '-')} {word} is unknown. Use one of: {', '.join(words)}.")
