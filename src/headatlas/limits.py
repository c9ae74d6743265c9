"""How much of a file is held at once. A file may be of any size; what lies beyond these bounds is refused.

What exceeds them is most often a file without line breaks, a document without end, or a small packed file made to fill
the memory. HEADATLAS_LIMITS=10 in the environment makes every bound ten times as large.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

from headatlas.errors import SettingError

VARIABLE = "HEADATLAS_LIMITS"
RAISE = f"If the file is correct, set {VARIABLE}=10 to allow ten times as much."


def _factor() -> float:
    given = os.environ.get(VARIABLE, "1")
    try:
        factor = float(given)
    except ValueError:
        factor = math.nan
    if not 1 <= factor <= 1_000_000:
        raise SettingError(f"{VARIABLE}={given} in the environment: give a number from 1 to 1000000, such as 10.")
    return factor


def _bound(usual: int) -> int:
    return int(usual * _FACTOR)


_FACTOR = _factor()
LONGEST_LINE = _bound(1_000_000)  # bytes, with the line break, of any text format, plain or unpacked
LARGEST_RECORD = _bound(10_000_000)  # characters of a sentence in columns, or of a row of CSV over several lines
LARGEST_DOCUMENT = _bound(50_000_000)  # characters in columns, bytes in a file; a long novel has half of it
MOST_WORDS = _bound(500_000)  # of a document of CorefUD; a long novel has as many
MOST_COVERED = _bound(20_000_000)  # words of all mentions of a document, each counted as often as it is in one
LARGEST_DOC_BIN = _bound(500_000_000)  # bytes unpacked, which spaCy does in one piece
LARGEST_MEMBER = _bound(200_000_000)  # bytes unpacked, of one file in a zip; BLiMP's are half a megabyte
LARGEST_NPZ = _bound(1_000_000_000)  # bytes unpacked
LARGEST_JSON = _bound(1_000_000_000)  # bytes of a manifest, or of a store's index
LARGEST_MAPS = _bound(4_000_000_000)  # bytes in float32: of one layer's maps of one input, or of its hidden states
LARGEST_STATE = _bound(10_000_000_000)  # bytes of what a survey or an ablation has summed up
LARGEST_EXAMPLES = _bound(1_000_000_000)  # bytes of the examples in an atlas; those of 24 x 16 heads take 30 MB
MOST_CELLS = _bound(200_000_000)  # of a table; the distances of 1,024 heads make 8 million


def read_within(path: Path, most: int) -> bytes:
    """A file's bytes; ValueError, before anything is read, if there are more than `most`."""
    if (size := path.stat().st_size) > most:
        raise ValueError(f"it has {size:,} bytes, more than {most:,}. {RAISE.rstrip('.')}")
    return path.read_bytes()
