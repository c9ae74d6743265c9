"""Plain text, as segments in the style of pre-training (paper, section 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headatlas.corpora.files import name_files
from headatlas.corpora.sample import sample_text
from headatlas.corpora.text import TextFormat, has_two_lines, read_text
from headatlas.engine.corpora.kind import Corpus, CorpusKind, Reading
from headatlas.wording import counted

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from headatlas.store.reading import Store


class Text(CorpusKind):
    """Plain text."""

    name = "text"
    help = "UTF-8 text, plain or gzipped: one sentence or paragraph per line, an empty line between documents."
    called = "text"
    formats = TextFormat
    read_by = ("text_format", "max_tokens")

    def read(self, files: Sequence[Path], tokenizer: PreTrainedTokenizerBase, reading: Reading) -> Corpus:
        from headatlas.encoding.segments import sample_segments
        from headatlas.encoding.token_texts import common_tokens

        layout, style = reading.format_of("text"), reading.segment_style
        if style == "auto" and not has_two_lines(read_text(files, layout)):
            style = "single"  # no document has two lines to make a pair of
        sample = sample_segments(
            read_text(files, layout),
            tokenizer,
            count=reading.segments,
            max_tokens=reading.max_tokens,
            seed=reading.seed,
            style=style,
            zero_token_types=reading.definitions == "code",
        )
        about = {
            "documents": sample.documents,
            "lines": sample.lines,
            "segments_available": sample.available,
            "segments": len(sample.segments),
            "segment_style": sample.style,
            "tokens": sum(map(len, sample.segments)),
            "common_tokens": common_tokens(sample.segments, tokenizer),
        }
        return Corpus(sample.segments, about, sample.left_out)

    def sample(self) -> list[Path]:
        return [sample_text()]

    def describe(self, about: Mapping[str, Any]) -> str:
        return (
            f"{counted(about['segments'], 'segment')} ({counted(about['tokens'], 'token')}) of "
            f"{about['segments_available']:,} in {counted(about['documents'], 'document')} of "
            f"{name_files(about['files'])}"
        )

    def why_not_stored(self, store: Store) -> str | None:
        if store.level == "words":
            return "the stored maps are between words, and it asks about tokens; extract with --level tokens."
        return None

    def from_store(self, store: Store, reading: Reading) -> Corpus:
        from headatlas.store.stored_model import text_segment

        segments = [text_segment(example) for example in store.examples]
        about = {
            "documents": len({example.document for example in store.examples}),
            "segments_available": len(segments),
            "segments": len(segments),
            "tokens": sum(map(len, segments)),
        }
        return Corpus(segments, about, store.left_out)
