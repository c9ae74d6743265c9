"""What a kind of corpus is: everything that the rest of the package has to know about it.

A kind is imported for `--help`, so its module imports nothing heavy: what reads and encodes is imported when used.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from headatlas.choices import Definitions, SegmentStyle
from headatlas.errors import AtlasError
from headatlas.wording import counted

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from headatlas.corpora.coreference.mentions import Mention
    from headatlas.encoding.segments import Segment
    from headatlas.store.reading import Store


@dataclass(frozen=True)
class Reading:
    """How corpora are read.

    Attributes:
        max_tokens: Maximum length of an input in tokens, including special tokens.
        seed: Seed of every sample.
        formats: The format of each kind of corpus that was named; the others are detected.
        segments: How many segments to sample from plain text.
        segment_style: The special tokens of such a segment.
        sentences: How many sentences of a treebank to sample; None: all.
        parse_with: A spaCy pipeline that makes a treebank of plain text.
        definitions: Whose way of reading: ours, the paper's, or that of its released code.
    """

    max_tokens: int = 128
    seed: int = 0
    formats: Mapping[str, str] = field(default_factory=dict)
    segments: int = 1000
    segment_style: SegmentStyle = "auto"
    sentences: int | None = None
    parse_with: str | None = None
    definitions: Definitions = "ours"

    def format_of(self, kind: str) -> Any:
        """Return the format of a kind of corpus, "auto" if none was named."""
        return self.formats.get(kind, "auto")


@dataclass(frozen=True)
class Corpus:
    """A corpus as the model sees it.

    Attributes:
        segments: The inputs.
        about: Counts and facts for the manifest; studies read from it what they need to know. What the bootstrap
            resamples, and how many there are, is added: documents, whose inputs are alike, or single inputs. So is how
            many documents of equal size would vary as much (`resampled_equal`), as one long document may outweigh many.
        left_out: What was left out, reason -> how many.
    """

    segments: Sequence[Segment]
    about: dict[str, Any]
    left_out: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        from headatlas.encoding.segments import document_of
        from headatlas.statistics.resampling import FEWEST_DOCUMENTS

        inputs = Counter(document_of(segment) for segment in self.segments)
        few = len(inputs) < FEWEST_DOCUMENTS
        sizes = [1] * len(self.segments) if few else list(inputs.values())
        self.about["resampled_by"] = "input" if few else "document"
        self.about["resampled"] = len(sizes)
        self.about["resampled_equal"] = round(sum(sizes) ** 2 / max(sum(size**2 for size in sizes), 1), 1)


@dataclass(frozen=True)
class Tree:
    """The gold tree of an example's words."""

    heads: tuple[int, ...]  # index of each word's head, or ROOT
    relations: tuple[str, ...]
    counts_as: tuple[int, ...]  # the word whose prediction counts for this one; nearly always itself


@dataclass(frozen=True)
class Gold:
    """What a corpus says about the words of an example, for the page to show beside a head."""

    tree: Tree | None = None
    mentions: tuple[Mention, ...] = ()
    key: tuple[bool, ...] = ()  # whether each word is marked


class CorpusKind(ABC):
    """A kind of corpus. A subclass declares its name and words, and reads files into segments.

    Attributes:
        name: The option that gives its files, and what studies name as their corpus.
        help: The help of that option.
        called: What it is called in a sentence, after "the".
        formats: The type of its formats, "auto" first.
        folders: Whether a folder can be given in place of files.
        unit: What an input is called; the plural is a count in `Corpus.about`. A "segment" is cut by the tokenizer.
        read_by: Settings, besides the seed, that decide what the inputs are.
    """

    name: ClassVar[str]
    help: ClassVar[str]
    called: ClassVar[str]
    formats: ClassVar[Any] = Literal["auto"]
    folders: ClassVar[bool] = False
    unit: ClassVar[str] = "segment"
    read_by: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def read(self, files: Sequence[Path], tokenizer: PreTrainedTokenizerBase, reading: Reading) -> Corpus:
        """Read files and encode them as inputs of a model.

        Args:
            files: The files, which exist.
            tokenizer: The tokenizer of the model.
            reading: How to read.

        Returns:
            The inputs, with what the manifest says about them.

        Raises:
            CorpusError: A file is malformed, or nothing is left to see.
        """

    def sample(self) -> list[Path]:
        """Return small files of this kind, for `headatlas.testing`; none if it brings none."""
        return []

    def describe(self, about: Mapping[str, Any]) -> str:
        """Say in a phrase how much of the corpus the model saw. about: as in the manifest, with its files."""
        from headatlas.corpora.files import name_files

        units = counted(about.get(f"{self.unit}s", 0), self.unit)
        return f"{units} of the {self.called} in {name_files(about['files'])}"

    def why_not_stored(self, store: Store) -> str | None:
        """Say why stored maps cannot stand for this corpus; None if they can."""
        return f"stored inputs have no {self.name}; survey the model itself with --{self.name}."

    def from_store(self, store: Store, reading: Reading) -> Corpus:
        """Make the corpus from the inputs of stored maps, if `why_not_stored` allows it."""
        raise AtlasError(f"{store.folder}: {self.why_not_stored(store)}")

    def picture(self, segment: Segment) -> Segment:
        """Cut a segment to the length of a picture."""
        from headatlas.encoding.word_segments import shorten

        return shorten(segment)

    def examples(self, segments: Sequence[Segment]) -> list[Segment]:
        """Return what may be shown as an example, out of segments in random order, the best last."""
        return [self.picture(segment) for segment in segments]

    def gold(self, segment: Segment, about: Mapping[str, Any]) -> Gold:
        """Return what the corpus says about the words of an example."""
        return Gold()
