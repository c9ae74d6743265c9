"""Small surveys of tiny models on the same text, treebank and coreference corpus."""

from __future__ import annotations

import pytest

import headatlas as ha

LINES = (
    "The old man saw a little dog, and the dog ran.",
    "She sat by the river.",
    "They have not been there, but the child was in the big red house by the water.",
    "It was night, and the fire was red.",
    "A cat ate.",
)
SENTENCE = """\
1\tThe\t_\tDET\tDT\t_\t2\tdet\t_\t_
2\tman\t_\tNOUN\tNN\t_\t3\tnsubj\t_\t_
3\tsaw\t_\tVERB\tVBD\t_\t0\troot\t_\t_
4\tthe\t_\tDET\tDT\t_\t6\tdet\t_\t_
5\t{adjective}\t_\tADJ\tJJ\t_\t6\tamod\t_\t_
6\t{noun}\t_\tNOUN\tNN\t_\t3\tobj\t_\t_

"""
MENTIONS = """\
# begin document {document}
0\tThe\t(1
1\tman\t1)
2\tsaw\t_
3\tthe\t(2
4\tdog\t2)
5\t.\t_
6\tHe\t({he})
7\tsaw\t_
8\tit\t({it})
9\t.\t_
"""


@pytest.fixture(scope="session")
def corpora(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpora")
    documents = ("\n".join(LINES[start:] + LINES[:start]) for start in range(5))
    (folder / "text.txt").write_text("\n\n".join(documents) + "\n", encoding="utf-8")
    words = [(adjective, noun) for adjective in ("red", "big", "old", "little") for noun in ("house", "dog", "river")]
    trees = "".join(
        f"# newdoc id = {number}\n{SENTENCE.format(adjective=adjective, noun=noun)}"
        for number, (adjective, noun) in enumerate(words)
    )
    (folder / "trees.conllu").write_text(trees, encoding="utf-8")
    mentions = "".join(MENTIONS.format(document=number, he=1 + number % 2, it=2 - number % 2) for number in range(5))
    (folder / "mentions.conll").write_text(mentions, encoding="utf-8")
    return {
        "text": folder / "text.txt",
        "treebank": folder / "trees.conllu",
        "coreference": folder / "mentions.conll",
    }


@pytest.fixture(scope="session")
def compare(tmp_path_factory):
    """Compare two atlases quietly; keyword arguments change the call."""

    def call(a, b, **options):
        out = tmp_path_factory.mktemp("comparison") / "out"
        return ha.compare(a, b, **{"out": out, "device": "cpu", "progress": False} | options)

    return call


@pytest.fixture(scope="session")
def survey(corpora, tmp_path_factory):
    """Survey a model's folder quietly; keyword arguments change the call."""

    def call(model, **options):
        out = tmp_path_factory.mktemp("atlas") / "atlas"
        defaults = {"segments": 8, "max_tokens": 40, "device": "cpu", "bootstrap": 60, "least_count": 5}
        return ha.survey(str(model), progress=False, out=out, **defaults | corpora | options)

    return call


@pytest.fixture(scope="session")
def atlas(survey, tiny_folder):
    return survey(tiny_folder("bert"))


@pytest.fixture(scope="session")
def other(survey, save_tiny):
    """Of a model of the same shape with other weights."""
    return survey(save_tiny("bert", seed=1))


@pytest.fixture(scope="session")
def deeper(survey, save_tiny):
    studies = ["positions", "similarity", "dependencies"]
    return survey(save_tiny("bert", seed=2, num_hidden_layers=3), studies=studies, coreference=None)


@pytest.fixture(scope="session")
def causal(survey, tiny_folder):
    """Of a model with another tokenizer."""
    return survey(tiny_folder("gpt2"), studies=["positions", "token_kinds", "dependencies", "coreference"])
