"""Maps that others made: the paper's released pickles, and .npz files.

- A pickle (``*_attn.pkl``) is a list of dicts. ``attns`` [layers, heads, n, n]; ``tokens`` with ``[CLS]`` and ``[SEP]``
  among them; or, of a treebank, ``words``, ``heads`` (from 1, 0 the root) and ``relns`` with maps between words,
  n = words + 2, since ``[CLS]`` stands before and ``[SEP]`` after them.
- An ``.npz`` file is one example: ``attn`` [layers, heads, n, n] and ``tokens``.

There is no tokenizer beside such maps, so special tokens are known by their spelling, as in the paper's own code.
"""

from __future__ import annotations

import math
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headatlas.choices import Level
from headatlas.corpora.treebanks.sentence import ROOT, tree_defect
from headatlas.encoding.kinds import PERIODS_AND_COMMAS, TokenKind
from headatlas.encoding.template import SPECIAL
from headatlas.errors import CorpusError
from headatlas.limits import LARGEST_NPZ, RAISE
from headatlas.models.stacks import MOST_HEADS, MOST_LAYERS
from headatlas.store.checking import find_defect
from headatlas.store.examples import SPECIAL_UNITS, StoredExample, Tensors
from headatlas.store.pickles import load_numbers

SPELLED = {"[CLS]": TokenKind.CLS, "<s>": TokenKind.CLS, "[SEP]": TokenKind.SEP, "</s>": TokenKind.SEP}
_SPACES = "Ġ▁ "  # how tokenizers write a space before a word
_PIECE = "##"  # how WordPiece marks a token within a word


@dataclass(frozen=True)
class ImportedMaps:
    """The maps of one example and what is known of it."""

    example: StoredExample
    maps: NDArray[np.floating]  # [L, H, n, n] as the file has them, words between [CLS] and [SEP]

    def tensors(self, dtype: str) -> Tensors:
        """The maps as a store has them, [CLS] and [SEP] after the words."""
        rows = self.maps.shape[-1]
        maps = self.maps.reshape(-1, rows, rows)
        if self.example.words is not None:
            order = [*range(1, rows - 1), 0, rows - 1]
            maps = maps[:, order][..., order]
        return Tensors(np.ascontiguousarray(maps, dtype=dtype), None)


class _Place(NamedTuple):
    """The example of a file that is being read, for errors."""

    path: Path
    what: str

    def error(self, problem: str) -> CorpusError:
        return CorpusError(f"{self.what}: {problem}", self.path)


@dataclass(frozen=True)
class Import:
    """Everything read from files of maps of one model."""

    level: Level
    causal: bool
    examples: list[ImportedMaps]
    left_out: dict[str, int]


def read_maps(files: Sequence[Path]) -> Import:
    """Read and check all examples of the files, which must be of one model and one kind."""
    left_out: Counter[str] = Counter()
    examples: list[ImportedMaps] = []
    causal: bool | None = None
    for number, path in enumerate(files):
        for row, (maps, record) in enumerate(_read_file(path)):
            place = _Place(path, f"example {row}")
            _check_maps(maps, place)
            if examples and maps.shape[:2] != examples[0].maps.shape[:2]:
                sizes = ("{} layers x {} heads".format(*given.shape) for given in (maps, examples[0].maps))
                raise _unlike(path, "{} has {}, the first one {}".format(place.what, *sizes))
            if maps.shape[-1] > 1:
                seen = not np.triu(maps, 1).any()
                causal = seen if causal is None else causal
                if seen != causal:
                    raise _unlike(path, f"{place.what} {_sight(seen)}, the first one {_sight(causal)}")
            if (example := _imported(maps, record, f"{number}.0.{row}", place, left_out)) is not None:
                examples.append(example)
    if not examples:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in left_out.items())
        raise CorpusError(
            f"No example is left to import ({reasons or 'the files are empty'}). Trees are needed beside maps between "
            "words; the released Penn Treebank maps come with dummy labels in their place.",
            files[0],
        )
    levels = {"words" if example.example.words is not None else "tokens" for example in examples}
    if len(levels) > 1:
        raise _unlike(files[-1], "some maps are between words, others between tokens")
    return Import("words" if levels == {"words"} else "tokens", bool(causal), examples, dict(left_out))


def _read_file(path: Path) -> Iterator[tuple[NDArray[Any], Mapping[str, Any]]]:
    if not path.stat().st_size:
        raise CorpusError("is an empty file. Give a pickle, or .npz with attn and tokens.", path)
    if zipfile.is_zipfile(path):
        yield _read_npz(path)
        return
    examples = load_numbers(path)
    if not isinstance(examples, list) or not all(isinstance(example, dict) for example in examples):
        raise CorpusError(f"holds a {type(examples).__name__}, not a list of dicts with attns and tokens.", path)
    for place, example in enumerate(examples):
        if not isinstance(example.get("attns"), np.ndarray):
            raise CorpusError(f"example {place} has no array attns. Its keys: {_keys(example)}.", path)
        yield example["attns"], example


def _read_npz(path: Path) -> tuple[NDArray[Any], Mapping[str, Any]]:
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
            if unpacked > LARGEST_NPZ:
                problem = f"unpacks to {unpacked:,} bytes, over {LARGEST_NPZ:,}. Save one example a file."
                raise CorpusError(f"{problem} {RAISE}", path)
            _check_headers(archive, path)
        with np.load(path, allow_pickle=False) as arrays:
            return arrays["attn"], {"tokens": arrays["tokens"].tolist()}
    except CorpusError:
        raise
    except Exception as error:  # a damaged zip, or an array's damaged header, fails in many ways
        raise CorpusError(
            f"cannot be read as .npz ({str(error)[:80]}). Save plain arrays, no objects.", path
        ) from error


def _check_headers(archive: zipfile.ZipFile, path: Path) -> None:
    """What the arrays say of themselves, before any is unpacked: a small file may hold a very large one."""
    names = [name.removesuffix(".npy") for name in archive.namelist()]
    if not names:
        raise CorpusError("is an empty archive. Save the arrays attn and tokens into it.", path)
    if missing := {"attn", "tokens"} - set(names):
        problem = f"has no {' and no '.join(sorted(missing))}. Its arrays: {', '.join(names)[:80]}."
        raise CorpusError(problem, path)
    (shape, dtype), (tokens, text) = (_header(archive, f"{name}.npy") for name in ("attn", "tokens"))
    _check_shape(shape, dtype, _Place(path, "attn"))
    if text.kind not in "US" or len(tokens) != 1:
        problem = f"the tokens are {text} of the shape {tokens}, not text. Save one string for each row of the maps"
        raise CorpusError(f"{problem}, for example np.array(tokenizer.convert_ids_to_tokens(ids)).", path)
    if tokens[0] != shape[-1]:
        raise CorpusError(f"the maps have {shape[-1]} rows, but there are {tokens[0]:,} tokens.", path)


def _header(archive: zipfile.ZipFile, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of an array in the archive; ValueError where it has objects, or claims more than is there."""
    with archive.open(name) as file:
        readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        version = np.lib.format.read_magic(file)
        if version not in readers:
            raise ValueError(f"{name} has an unknown version")
        shape, _, dtype = readers[version](file)
    if dtype.hasobject or math.prod(shape) * dtype.itemsize > archive.getinfo(name).file_size:
        raise ValueError(f"{name} holds objects, or less than it claims")
    return shape, dtype


def _check_shape(shape: tuple[int, ...], dtype: np.dtype[Any], place: _Place) -> None:
    if len(shape) != 4 or shape[2] != shape[3] or 0 in shape or dtype.kind != "f":
        raise place.error(f"the maps are {dtype} of the shape {shape}. Give floats [layers, heads, n, n].")
    if shape[0] > MOST_LAYERS or shape[0] * shape[1] > MOST_HEADS:
        count = f"{shape[0]:,} layers of {shape[1]:,} heads, more than any model has"
        raise place.error(f"the maps are of {count}. Give floats [layers, heads, n, n].")


def _check_maps(maps: NDArray[Any], place: _Place) -> None:
    _check_shape(maps.shape, maps.dtype, place)
    _, heads, rows, _ = maps.shape
    if defect := find_defect(maps.reshape(-1, rows, rows)):
        head, problem = defect
        raise place.error(
            f"head {head // heads + 1}-{head % heads + 1} (layer-head) {problem}. Attention must be stored after the "
            "softmax, without padding, as [layers, heads, from, to]."
        )


def _unlike(path: Path, what: str) -> CorpusError:
    return CorpusError(f"{what}: not of one model and kind. Import each model's maps into a folder of its own.", path)


def _sight(causal: bool) -> str:
    return "attends to no later token" if causal else "attends to later tokens"


def _imported(
    maps: NDArray[Any], record: Mapping[str, Any], name: str, place: _Place, left_out: Counter[str]
) -> ImportedMaps | None:
    """The example by what its maps lie between: tokens, or words; None where it is left out and counted."""
    rows = maps.shape[-1]
    words = _strings(record.get("words"))
    tokens = _strings(record.get("tokens"))
    if words is not None and rows == len(words) + SPECIAL_UNITS:
        example = _between_words(words, record, name, place, left_out)
        return None if example is None else ImportedMaps(example, maps)
    if tokens is None or len(tokens) != rows:
        given = f"{len(tokens):,} tokens" if tokens else f"{len(words):,} words" if words else "no tokens"
        raise place.error(f"the maps have {rows} rows, but there are {given}. Keys: {_keys(record)}.")
    if words is not None:
        left_out["tree_beside_maps_between_tokens"] += 1
    return ImportedMaps(_between_tokens(tokens, name), maps)


def _between_tokens(tokens: Sequence[str], name: str) -> StoredExample:
    kinds = np.array([_kind(token) for token in tokens], dtype=np.uint8)
    starts = np.array([token not in SPELLED and not token.startswith(_PIECE) for token in tokens])
    special = np.array([token in SPELLED for token in tokens])
    return StoredExample(
        id=name,
        document=name.rpartition(".")[0],
        tokens=tuple(tokens),
        kinds=kinds,
        word_of=np.where(special, SPECIAL, np.maximum(np.cumsum(starts) - 1, 0)).astype(np.int32),
    )


def _between_words(
    words: Sequence[str], record: Mapping[str, Any], name: str, place: _Place, left_out: Counter[str]
) -> StoredExample | None:
    """Each word stands for its tokens, which such files do not tell apart."""
    given, relations = record.get("heads"), _strings(record.get("relns"))
    heads = given.tolist() if isinstance(given, np.ndarray) else given
    if not isinstance(heads, list) or not all(type(head) is int for head in heads) or relations is None:
        raise place.error(f"maps between words need lists heads and relns. Keys: {_keys(record)}.")
    if not len(heads) == len(relations) == len(words):
        counts = f"{len(words)} words, {len(heads)} heads and {len(relations)} relations"
        raise place.error(f"there are {counts}. Give one of each for every word.")
    heads = [head - 1 if head else ROOT for head in heads]
    if defect := tree_defect(heads):
        left_out[defect.reason] += 1
        return None
    return StoredExample(
        id=name,
        document=name.rpartition(".")[0],
        tokens=("[CLS]", *words, "[SEP]"),
        kinds=np.array([TokenKind.CLS, *map(_kind, words), TokenKind.SEP], dtype=np.uint8),
        word_of=np.array([SPECIAL, *range(len(words)), SPECIAL], dtype=np.int32),
        words=tuple(words),
        heads=np.array(heads, dtype=np.int64),
        relations=tuple(relations),
    )


def _kind(token: str) -> TokenKind:
    if token in SPELLED:
        return SPELLED[token]
    return (
        TokenKind.PERIOD_COMMA if token.removeprefix(_PIECE).strip(_SPACES) in PERIODS_AND_COMMAS else TokenKind.OTHER
    )


def _strings(given: Any) -> list[str] | None:
    """A list of strings, which Python 2 may have written as bytes, ? for what is not UTF-8; None if it is not one."""
    if not isinstance(given, (list, tuple)) or not all(isinstance(text, (str, bytes)) for text in given):
        return None
    encoded = (text if isinstance(text, bytes) else text.encode("utf-8", "replace") for text in given)
    return [text.decode("utf-8", "replace") for text in encoded]


def _keys(record: Mapping[str, Any]) -> str:
    return ", ".join(map(str, record))[:80] or "none"
