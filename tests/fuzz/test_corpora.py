"""Every reader of a corpus, on files that went bad: an error with file and remedy, or words that can be used."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headatlas as ha
from headatlas.corpora.coreference.read import COREFERENCE_FORMATS, read_coreference
from headatlas.corpora.labelled import read_labelled, read_translations
from headatlas.corpora.minimal_pairs import read_minimal_pairs
from headatlas.corpora.spans.tasks import read_span_texts, tasks_in
from headatlas.corpora.text import TEXT_FORMATS, read_text
from headatlas.corpora.treebanks.read import TREEBANK_FORMATS, read_treebank
from mutations import many, mutated, only_headatlas_errors

TEXT = b"The old man saw a dog. It ran!\n\nShe sat by the river.\nIt was night.\n"
WIKITEXT = b" = Title = \n\n The dog @-@ like cat ran . \n\n = = Part = = \n\n It was 3 @.@ 5 . \n"
CONLLU = (
    b"".join(ha.sample_treebank().read_bytes().partition(b"\n\n")[:2])
    + (
        "# newdoc id = a\n# text = dogs bark\n1-2\tdogsbark\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "1\tdogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\tEntity=(e1-animal-1)\n1.1\tØ\t_\t_\t_\t_\t_\t_\t_\tEntity=(e1\n"
        "2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\tEntity=e1)|SpaceAfter=No\n\n"
    ).encode()
)
CONLLX = b"1\tdogs\t_\tNNS\tNNS\t_\t2\tnsubj\t_\t_\n2\tbark\t_\tVBP\tVBP\t_\t0\troot\t_\t_\n\n"
HEAD_LABEL = b"# newdoc\ndogs 2-nsubj\nbark 0-root\n\nshe 2-nsubj\nran 0-root\n"
COREFUD = (
    b"# newdoc id = d\n# global.Entity = eid-etype-head\n1\tMary\t_\tPROPN\tNNP\t_\t2\tnsubj\t_\tEntity=(e1-person-1)\n"
    b"2\tsaw\t_\tVERB\tVBD\t_\t0\troot\t_\t_\n3\tthe\t_\tDET\tDT\t_\t4\tdet\t_\tEntity=(e2[1/2]-thing-2\n"
    b"4\tdog\t_\tNOUN\tNN\t_\t2\tobj\t_\tEntity=e2[1/2])(e3)\n\n1\tShe\t_\tPRON\tPRP\t_\t2\tnsubj\t_\tEntity=(e1)\n"
    b"2\tran\t_\tVERB\tVBD\t_\t0\troot\t_\tEntity=(e2[2/2])\n\n"
)
CONLL2012 = (
    b"#begin document (a); part 000\na 0 0 Mary NNP (TOP(S(NP*) - - - - * (1)\na 0 1 saw VBD (VP* - - - - * -\n"
    b"a 0 2 her PRP$ (NP* - - - - * (1)|(2\na 0 3 dog NN *)))) - - - - * 2)\n\na 0 0 It PRP (TOP(NP*)) - - - - * (2)\n"
    b"\n#end document\n"
)
BRACKETS = b"#begin document x\n0\tMary\t(1)\n1\tsaw\t_\n2\tthe\t(2\n3\tdog\t2)\n\n4\tIt\t(2)(1)\n"
TSV = b'text\ttext2\tlabel\nThe dog ran.\tIt ran.\t1\n"Yes\tno\t0\n'
CSV = b'text,label\n"The dog, ""big"", ran.\nFar.",1\nplain,2\n'
JSONL = b'{"text": "The dog ran.", "label": 1}\n{"text": "It \\u00e9t\\ud83d\\ude00", "label": "no"}\n'
PAIRS = b'{"sentence_good": "Dogs bark.", "sentence_bad": "Dogs barks."}\n{"sentence_good": "a", "sentence_bad": "b"}\n'
TRANSLATIONS = b"source\ttarget\nDogs bark.\tHunde bellen.\nYes\tJa\n"


BIO = b"-DOCSTART- -X- O\n\nMary B-PER\nsaw O\nNew B-LOC\nYork I-LOC\n\nIt\tO\n"
MARKED = (
    b'1\t"A <e1>dog</e1> of the <e2>old man</e2>."\nMember(e1,e2)\nComment: none\n\n2\t"<e2>a</e2> <e1>b</e1>"\nOther\n'
)
JIANT = b'{"text": "He saw Toronto", "targets": [{"span1": [2, 3], "span2": [0, 1], "label": ["ORG", "LOC"]}]}\n'
SPAN_FILES = {"entities": ("a.txt", BIO), "relations": ("a.txt", MARKED), "mine": ("a.jsonl", JIANT)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("bad")


def usable(strings: Iterable[str]) -> None:
    """UTF-8 can carry it, as tokenizers and tables ask."""
    for string in strings:
        assert isinstance(string, str)
        string.encode()


def zip_of(content: bytes, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("data/agreement.jsonl", content)
    return file.getvalue()


@many
@given(mutated([TEXT, WIKITEXT, gzip.compress(TEXT)]))
def test_text(folder, content):
    (folder / "a.txt").write_bytes(content)
    for layout in TEXT_FORMATS:
        with only_headatlas_errors():
            usable(line.text for line in read_text([folder / "a.txt"], layout))


@many
@given(mutated([CONLLU, CONLLX, HEAD_LABEL]))
def test_treebanks(folder, content):
    (folder / "a.conll").write_bytes(content)
    for layout in TREEBANK_FORMATS[:-1]:
        for left_out in (None, Counter()):
            with only_headatlas_errors():
                for sentence in read_treebank([folder / "a.conll"], layout, left_out):
                    usable((*sentence.words, *sentence.relations, *sentence.tags))
                    assert len(sentence.words) == len(sentence.heads) == len(sentence.relations) == len(sentence.tags)
                    assert sentence.heads.count(-1) == 1
                    assert all(-1 <= head < len(sentence.words) for head in sentence.heads)


@many
@given(mutated([CONLL2012, COREFUD, BRACKETS, CONLLU]))
def test_coreference(folder, content):
    (folder / "a.conll").write_bytes(content)
    for layout in COREFERENCE_FORMATS:
        with only_headatlas_errors():
            for document in read_coreference([folder / "a.conll"], layout):
                usable((*document.words, *document.tags, *(mention.entity for mention in document.mentions)))
                size = len(document.words)
                assert all(0 <= one.start <= one.head < one.end <= size for one in document.mentions)


@many
@given(mutated([TSV, CSV, JSONL, TRANSLATIONS]))
def test_rows(folder, content):
    for suffix in (".tsv", ".csv", ".jsonl"):
        path = folder / f"a{suffix}"
        path.write_bytes(content)
        for columns in (None, ("text", "label")):
            with only_headatlas_errors():
                usable(text for row in read_labelled([path], columns) for text in (*row.texts, row.label))
        with only_headatlas_errors():
            usable(text for row in read_translations([path]) for text in (row.source, row.target))


@many
@given(mutated([BIO, MARKED, JIANT, CONLLU, HEAD_LABEL]))
def test_tasks_on_spans(folder, content):
    for task, (name, _) in SPAN_FILES.items():
        path = folder / name
        path.write_bytes(content)
        with only_headatlas_errors():
            for text in read_span_texts([path], [task], 0, Counter()):
                usable(text.words)
                for target in text.targets[task]:
                    usable(target.labels)
                    assert all(0 <= start < end <= len(text.words) for start, end in target.spans)
    with only_headatlas_errors():
        assert tasks_in(folder / "a.txt")


@pytest.mark.parametrize("task", SPAN_FILES)
def test_whole_files_of_spans_are_read(folder, task):
    name, content = SPAN_FILES[task]
    (folder / name).write_bytes(content)
    assert [text.targets[task] for text in read_span_texts([folder / name], [task], 0, Counter())]


@many
@given(mutated([PAIRS, zip_of(PAIRS), zip_of(PAIRS, zipfile.ZIP_STORED), zip_of(PAIRS, zipfile.ZIP_LZMA)]))
def test_minimal_pairs(folder, content):
    path = folder / "pairs.jsonl"
    path.write_bytes(content)
    with only_headatlas_errors():
        usable(text for pair in read_minimal_pairs([path]) for text in (pair.id, pair.good, pair.bad))


@pytest.fixture(scope="module")
def doc_bin():
    """What a DocBin holds, unpacked: two small documents."""
    spacy = pytest.importorskip("spacy")
    docs = [
        spacy.tokens.Doc(spacy.blank("xx").vocab, ["Dogs", " ", "bark", "."], heads=[2, 0, 2, 2], deps=list("abcd")),
        spacy.tokens.Doc(spacy.blank("xx").vocab, ["She", "ran"], heads=[1, 1], deps=["nsubj", "ROOT"]),
    ]
    return zlib.decompress(spacy.tokens.DocBin(docs=docs).to_bytes())


@many
@given(st.data())
def test_doc_bins(folder, doc_bin, data):
    content = data.draw(mutated([doc_bin]))
    packed = zlib.compress(content) if data.draw(st.integers(0, 3)) else data.draw(mutated([zlib.compress(content)]))
    (folder / "a.spacy").write_bytes(packed)
    with only_headatlas_errors():
        for sentence in read_treebank([folder / "a.spacy"], "spacy", Counter()):
            usable((*sentence.words, *sentence.relations, *sentence.tags))
            assert sentence.heads.count(-1) == 1
