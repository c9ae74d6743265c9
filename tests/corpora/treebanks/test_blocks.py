from __future__ import annotations

from pathlib import Path

import pytest

from headatlas.corpora.files import read_blocks
from headatlas.corpora.treebanks.columns import is_document_mark


def test_blocks_are_the_lines_between_empty_ones(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\xef\xbb\xbf\n\na\t\r\nb \n \t\n\n# c\n\nd")
    assert list(read_blocks(path)) == [[(3, "a\t"), (4, "b ")], [(7, "# c")], [(9, "d")]]


@pytest.mark.parametrize("line", ["# newdoc", "#newdoc", "# newdoc id = x", "#\tnewdoc"])
def test_document_marks(line: str) -> None:
    assert is_document_mark(line)


@pytest.mark.parametrize("line", ["# newdocs", "# newpar", "newdoc", "# 3-newdoc", "# text = newdoc", ""])
def test_no_document_marks(line: str) -> None:
    assert not is_document_mark(line)
