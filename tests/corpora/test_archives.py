"""Zips that are not whole end in words, however they are packed and whoever reads them."""

from __future__ import annotations

import zipfile

import pytest

from headatlas.commands.keyphrases.reading import read_keyphrases
from headatlas.corpora.minimal_pairs import read_minimal_pairs
from headatlas.errors import CorpusError

PAIR = '{"sentence_good": "the dog ran", "sentence_bad": "dog the ran"}\n' * 40


@pytest.mark.parametrize("packed", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_member(tmp_path, packed):
    path = tmp_path / "packed.zip"
    with zipfile.ZipFile(path, "w", packed) as archive:
        archive.writestr("1.abstr", "A title\nAn abstract of dogs. " * 40)
        archive.writestr("1.uncontr", "dogs")
        archive.writestr("pairs.jsonl", PAIR)
        places = {one.filename: one.header_offset + 30 + len(one.filename) for one in archive.infolist()}
        sizes = {one.filename: one.compress_size for one in archive.infolist()}
    content = bytearray(path.read_bytes())
    for name in ("1.abstr", "pairs.jsonl"):
        middle = places[name] + sizes[name] // 2
        content[middle : middle + 4] = bytes(byte ^ 0xFF for byte in content[middle : middle + 4])
    path.write_bytes(content)
    with pytest.raises(CorpusError, match="cannot be read from the zip"):
        list(read_keyphrases([path]))
    with pytest.raises(CorpusError, match=r"cannot be read from the zip|line \d"):
        read_minimal_pairs([path])
