from __future__ import annotations

import gzip
import os
import threading
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from headatlas.corpora.text import TextFormat, read_text, split_sentences
from headatlas.errors import CorpusError
from headatlas.limits import LONGEST_LINE
from patience import SECONDS, cpu_seconds

WIKITEXT = """
 = Robert Boulter =

 Robert Boulter is an actor . He had a 1 @,@ 000 @.@ 5 part .
 A well @-@ known one .

 = = Career = =

 In 2006 he appeared .

 = Du Fu =

 Du Fu was a poet .
"""


def read(path: Path, layout: TextFormat = "auto") -> list[tuple[int, int, str]]:
    found = list(read_text([path], layout))
    assert {line.path for line in found} == {path}
    return [(line.document, line.number, line.text) for line in found]


def file_with(folder: Path, content: bytes | str, name: str = "corpus.txt") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# --- layouts


@pytest.mark.parametrize("layout", ["auto", "documents"])
def test_documents(tmp_path: Path, layout: TextFormat) -> None:
    path = file_with(tmp_path, "\n\nOne.\nTwo.\n\n \t\n\nThree.\n\nFour.")
    assert read(path, layout) == [(0, 3, "One."), (0, 4, "Two."), (1, 8, "Three."), (2, 10, "Four.")]


@pytest.mark.parametrize("layout", ["auto", "wikitext"])
def test_wikitext(tmp_path: Path, layout: TextFormat) -> None:
    assert read(file_with(tmp_path, WIKITEXT), layout) == [
        (0, 4, "Robert Boulter is an actor . He had a 1,000.5 part ."),
        (0, 5, "A well-known one ."),
        (0, 9, "In 2006 he appeared ."),
        (1, 13, "Du Fu was a poet ."),
    ]


def test_wikitext_before_the_first_title_and_titles_without_text(tmp_path: Path) -> None:
    path = file_with(tmp_path, "Lost.\n = A = \n = B = \nB's.\n = C = \n = = c = = \n")
    assert read(path, "wikitext") == [(0, 1, "Lost."), (1, 4, "B's.")]


def test_paragraphs(tmp_path: Path) -> None:
    path = file_with(tmp_path, "One here. Two here.\nThree.\n\nFour! Five?\n")
    assert read(path, "paragraphs") == [
        (0, 1, "One here."),
        (0, 1, "Two here."),
        (1, 2, "Three."),
        (2, 4, "Four!"),
        (2, 4, "Five?"),
    ]


def test_auto_is_decided_by_the_first_line_with_text_of_each_file(tmp_path: Path) -> None:
    wiki = file_with(tmp_path, "\n = A = \n\nText.\n\nMore.\n", "wiki.txt")
    plain = file_with(tmp_path, "x\n\n= A =\n", "plain.txt")
    section = file_with(tmp_path, "= = A = =\nx\n", "section.txt")
    assert read(wiki) == [(0, 4, "Text."), (0, 6, "More.")]
    assert read(plain) == [(0, 1, "x"), (1, 3, "= A =")]
    assert read(section) == [(0, 1, "= = A = ="), (0, 2, "x")]
    assert [(line.path.name, line.document) for line in read_text([plain, wiki])] == [
        ("plain.txt", 0),
        ("plain.txt", 1),
        ("wiki.txt", 0),
        ("wiki.txt", 0),
    ]


def test_a_heading_like_line_of_any_length_is_read_in_one_go(tmp_path: Path) -> None:
    """A pattern that tries every way to split the line would need 10^11 steps."""
    path = file_with(tmp_path, "= A =\n" + "= " * 400_000 + "x\n")
    with cpu_seconds():
        assert len(read(path)) == 1


# --- bytes


@pytest.mark.parametrize("name", ["corpus.txt.gz", "corpus.txt"])
def test_gzip_by_content_not_by_name(tmp_path: Path, name: str) -> None:
    assert read(file_with(tmp_path, gzip.compress("Eins.\nZwölf.\n".encode()), name)) == [
        (0, 1, "Eins."),
        (0, 2, "Zwölf."),
    ]


def test_plain_text_named_gz(tmp_path: Path) -> None:
    assert read(file_with(tmp_path, "One.\n", "corpus.gz")) == [(0, 1, "One.")]


def test_byte_order_mark_and_carriage_returns(tmp_path: Path) -> None:
    path = file_with(tmp_path, b"\xef\xbb\xbf = A = \r\n\r\nOne.\r\n\r\n = B = \r\nTwo.\r\n")
    assert read(path) == [(0, 3, "One."), (1, 6, "Two.")]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("zipped", [False, True])
def test_a_pipe_can_be_read(tmp_path: Path, zipped: bool) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    content = b"One.\nTwo.\n" * 2000
    writer = threading.Thread(
        target=lambda: path.write_bytes(gzip.compress(content) if zipped else content), daemon=True
    )
    writer.start()
    assert len(read(path)) == 4000
    writer.join(SECONDS)
    assert not writer.is_alive()


def test_streams(tmp_path: Path) -> None:
    path = file_with(tmp_path, b"A line of text.\n" * 40_000)
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_text([path])) == 40_000
        assert tracemalloc.get_traced_memory()[1] < path.stat().st_size / 3
    finally:
        tracemalloc.stop()


# --- what is no text

GZIPPED = gzip.compress(b"".join(b"Line %d of many.\n" % number for number in range(5000)))


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (b"", None, "has no text.*Give a UTF-8 file"),
        (b"\n \n\t\n", None, "has no text.*Give a UTF-8 file"),
        (b"\xef\xbb\xbf", None, "has no text"),
        (gzip.compress(b"", mtime=0), None, "has no text"),
        (b"One.\nTw\0o.\n", 2, "zero bytes.*Give plain text"),
        ("One.\nTwo.\n".encode("utf-16"), 1, "UTF-16.*iconv -f UTF-16"),
        ("One.\nTwo.\n".encode("utf-16-be"), 1, "zero bytes"),
        ("One.\nZwölf.\n".encode("latin-1"), 2, "not UTF-8 .byte 3 of the line is 0xf6.*iconv -f LATIN1"),
        (b"One.\n" + b"x" * (LONGEST_LINE + 1), 2, "more than 1,000,000 bytes.*fold -s"),
        (b"\xe2\x82\xac" * (LONGEST_LINE // 3 + 1), 1, "more than 1,000,000 bytes"),
        (GZIPPED[:5000], ..., "compressed data are damaged or cut short.*Fetch the file again"),
        (GZIPPED[:-4], ..., "compressed data are damaged or cut short.*Fetch the file again"),
        (GZIPPED[:10] + b"\x07" + GZIPPED[11:], 1, "compressed data are damaged or cut short"),
        (GZIPPED[:-8] + bytes(8), ..., "compressed data are damaged or cut short"),
        (b"\x1f\x8bno gzip at all", 1, "compressed data are damaged or cut short"),
    ],
    ids=[
        "empty", "blank", "only a mark", "empty gzip", "binary", "UTF-16", "UTF-16 without mark", "Latin-1",
        "giant line", "giant line of wide letters", "cut gzip", "gzip without its end", "damaged gzip",
        "gzip with a wrong sum", "no gzip",
    ],
)  # fmt: skip
def test_what_is_no_text_is_named_with_a_remedy(tmp_path: Path, content: bytes, line: object, problem: str) -> None:
    path = file_with(tmp_path, content)
    with pytest.raises(CorpusError, match=problem) as caught:
        list(read_text([path]))
    assert str(path) in str(caught.value)
    assert caught.value.path == path
    if line is not ...:
        assert caught.value.line == line
    if caught.value.line is not None:
        assert f", line {caught.value.line}: " in str(caught.value)


def test_the_longest_line_allowed_is_read(tmp_path: Path) -> None:
    path = file_with(tmp_path, b"x" * (LONGEST_LINE - 1) + b"\ny\n")
    assert [len(text) for _, _, text in read(path)] == [LONGEST_LINE - 1, 1]


@pytest.mark.parametrize("zipped", [False, True])
def test_a_giant_line_is_not_read_whole(tmp_path: Path, zipped: bool) -> None:
    content = b"x" * (30 * LONGEST_LINE)
    path = file_with(tmp_path, gzip.compress(content, 1) if zipped else content)
    del content
    tracemalloc.start()
    try:
        with pytest.raises(CorpusError, match="more than"):
            list(read_text([path]))
        assert tracemalloc.get_traced_memory()[1] < 6 * LONGEST_LINE
    finally:
        tracemalloc.stop()


def test_missing_file_and_folder(tmp_path: Path) -> None:
    for path, problem in ((tmp_path / "none.txt", "No such file"), (tmp_path, "directory|denied")):
        with pytest.raises(CorpusError, match=f"cannot be read .*({problem}).*Check the path") as caught:
            list(read_text([path]))
        assert caught.value.path == path


def test_a_second_file_without_text_is_named_too(tmp_path: Path) -> None:
    good, empty = file_with(tmp_path, "x\n", "good.txt"), file_with(tmp_path, "", "empty.txt")
    with pytest.raises(CorpusError, match=r"empty\.txt: has no text"):
        list(read_text([good, empty]))


def test_a_file_given_twice_is_refused(tmp_path: Path) -> None:
    path = file_with(tmp_path, "x\ny\n")
    with pytest.raises(CorpusError, match=r"given twice.*Name it once"):
        list(read_text([path, path]))


# --- sentences


@pytest.mark.parametrize(
    "pieces",
    [
        ["It rained.", "Nobody minded!", "Why would they?"],
        ['"Go!" he said.', "(She did.)", "“Why?”", "‘No.’"],  # noqa: RUF001
        ["It was 3.5 m, etc. and so on.", "9 came."],
        ["Er ging.", "Über Nacht schneite es.", "„Gut.“ sagte er."],
        ["Elle est là, p. ex. à côté.", "Étienne part.", "«Oui.»", "Bien."],
        ["Hola.", "¿Qué tal?", "¡Bien!", "Adiós."],
        ["Он ушёл, т. е. исчез.", "Она осталась."],  # noqa: RUF001
        ["Πήγε. κι έτσι.", "Ήρθε."],
        ["ذهب الولد.", "هل عاد؟", "نعم."],
        ["यह एक घर है।", "वह बड़ा है।"],
    ],
)
def test_sentences(pieces: list[str]) -> None:
    assert split_sentences(" ".join(pieces)) == pieces


@pytest.mark.parametrize(
    "pieces",
    [
        ["他走了。", "她留下了！", "为什么？"],  # noqa: RUF001
        ["他说：“好。”", "然后走了。"],  # noqa: RUF001
        ["本当？！", "はい。"],  # noqa: RUF001
        ["「そうです。」", "終わり。"],
    ],
)
def test_sentences_without_blanks(pieces: list[str]) -> None:
    assert split_sentences("".join(pieces)) == pieces


def test_abbreviations_before_a_capital_are_cut() -> None:
    assert split_sentences("Dr. Smith left.") == ["Dr.", "Smith left."]


def test_no_sentences() -> None:
    assert split_sentences("") == split_sentences(" \t") == []
    assert split_sentences("no end") == ["no end"]


# --- properties

prose = st.text(st.sampled_from("aAéÉбБ09 .!?。！？”\"'()[]«¿_-\t\u3000") | st.characters(exclude_categories=["Cs"]))  # noqa: RUF001


@given(prose)
@example('A. "B" c. (D)')
@settings(max_examples=300)
def test_sentences_lose_nothing_but_white_space(text: str) -> None:
    pieces = split_sentences(text)
    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert all(piece and piece == piece.strip() for piece in pieces)


line = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\0@"), min_size=1, max_size=20)
documents = st.lists(
    st.lists(line.map(str.strip).filter(bool), min_size=1, max_size=4).map(tuple), min_size=1, max_size=5
)


@given(corpus=documents, blank=st.sampled_from(["\n", "\n\n\n", "\r\n", " \n"]), zipped=st.booleans())
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_documents_come_back(tmp_path: Path, corpus: list[tuple[str, ...]], blank: str, zipped: bool) -> None:
    content = ("\n" + blank).join("\n".join(document) for document in corpus).encode()
    if content.startswith(b"\xef\xbb\xbf"):
        content = b"\n" + content
    path = file_with(tmp_path, gzip.compress(content) if zipped else content)
    found: dict[int, list[str]] = {}
    for text_line in read_text([path], "documents"):
        found.setdefault(text_line.document, []).append(text_line.text)
    assert [tuple(texts) for texts in found.values()] == corpus
    assert list(found) == list(range(len(corpus)))
