"""The schema of manifest.json: every key that a command writes, and what it means.

Code that reads a manifest takes its keys from here. What a folder holds is said by `command`; a shard of a run is a
run whose settings name a shard. `versions` and `moment` say what made it, and when.
"""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, TypedDict

FORMAT = "headatlas-run-1"  # changes whenever folders made before cannot be read any more
MANIFEST = "manifest.json"
_DECIDE_NUMBERS = (
    *("headatlas", "torch", "transformers", "tokenizers", "safetensors"),
    *("numpy", "numba", "pandas", "scipy", "scikit-learn", "snowballstemmer"),
)


class Side(TypedDict):
    """One of the two atlases of a comparison."""

    folder: str  # where the atlas was
    model: dict[str, Any]  # as in its manifest
    tables: dict[str, int]  # its tables with a row per head, copied into this folder -> number of rows


class HeadsChosen(TypedDict):
    """Heads by which words are scored."""

    names: list[str]  # as layer-head, from 1
    pooling: str  # how the column of a word becomes one number: mean or max
    rows: str  # which rows of the column count: all or text
    origin: str  # named, shipped, or found on N training documents
    scoring: dict[str, Any]  # method -> sum or mean over the words of a phrase; sum where training did not decide
    on_training: dict[str, Any]  # the scores by which heads and scoring were chosen


class BeforeAndAfter(TypedDict, total=False):
    """A size of the model that was pruned and of the pruned one."""

    before: int
    after: int
    predicted: int  # what `after` should be, from the weights of the removed heads
    ratio: float  # after / before


class PrunedSizes(TypedDict, total=False):
    """What pruning saves."""

    parameters: BeforeAndAfter
    tensor_bytes: BeforeAndAfter  # of the weights in the file
    file_bytes: int  # of the file of weights
    weights_in_memory: dict[str, BeforeAndAfter]  # of the whole model and of its attention blocks, in bytes


class Produced(PrunedSizes, total=False):
    """What a run found; every command writes the keys that apply to it."""

    # All commands that read a model or a corpus
    model: dict[str, Any]  # name, source, commit or checksum of the weights, layers, heads per layer, tokens, dtype
    corpora: dict[str, Any]  # per corpus: its files with checksums, sizes, and what was left out and why
    computed_in: dict[
        str, str
    ]  # per corpus, how attention was computed: fused, plain or other tiles, whole, stored maps
    studies_skipped: dict[str, str]  # studies, probes, methods or figures that could not be made -> why
    plugins: dict[str, str]  # packages whose studies, kinds of corpus or tasks took part -> version
    findings: dict[str, list[str]]  # what studies of other packages found, in sentences, by study
    tables: dict[str, int]  # tables in tables/ -> number of rows
    # merge
    shards: list[str]  # the folders that were combined
    # ablate
    summary: dict[str, Any]  # per task: scores with all heads, how many heads matter
    pieces: int  # of a shard: files in state/ that belong to it
    # probe
    vectors: dict[str, Any] | None  # the word vectors: name, checksum, width; None if no probe uses them
    # layers
    tasks: dict[str, Any]  # per task: checksums of its files by part, and whether it links two spans
    # scoring words by heads
    heads_chosen: HeadsChosen
    tagger: dict[str, Any]  # fine-tuned: documents trained on and held back, heads pruned, what removing heads did
    # compare
    a: Side
    b: Side
    settings_that_differ: dict[str, Any]  # settings of the two surveys -> both values
    without_intervals: dict[str, str]  # a or b -> why it has no bootstrap replicates
    not_compared: dict[str, str]  # tables, or some of their columns or rows -> why
    rows_in_one_only: dict[str, Any]  # per table: how many rows only one of the two has
    distances: dict[str, Any]  # the text on which heads were matched; or `skipped`, the reason why they were not
    # prune, with PrunedSizes
    saved_as: str  # the class of the saved model
    removed: list[str]  # heads cut out, as layer-head, from 1
    base: dict[str, Any]  # what identifies the model that was pruned
    kept_heads: list[list[int]]  # per layer: the original numbers of the heads that are left, from 1
    speed: dict[str, Any]  # of both: seconds before and after, and their ratio
    peak_memory: BeforeAndAfter | None  # bytes, on CUDA alone
    measured_on: dict[str, Any]  # the inputs' shape and the device
    difference_from_gating: float  # largest difference of outputs from the whole model with these heads closed


class Manifest(Produced, total=False):
    """A whole manifest. An unfinished run has `complete` false, and neither `finished` nor `seconds`."""

    format: str  # FORMAT
    command: str  # as it is typed; survey also of demo, merge and reproduce
    settings: dict[str, Any]  # everything that determines the results; another run is refused
    complete: bool  # whether the run has finished
    started: str  # ISO 8601, UTC, of the call that began the run or resumed it last
    finished: str  # ISO 8601, UTC
    seconds: float  # duration of the call that finished the run
    versions: dict[str, str]  # of Python, headatlas and the libraries that decide numbers


def versions(*more: str) -> dict[str, str]:
    """Versions of Python, headatlas, the libraries that results depend on, and `more` packages."""
    return {"python": platform.python_version()} | {name: version(name) for name in (*_DECIDE_NUMBERS, *more)}


def moment() -> str:
    """The time now, in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
