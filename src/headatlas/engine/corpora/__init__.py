"""The kinds of corpus, one per file: reader, encoder, what is said of it, examples, what stored maps can answer."""

from __future__ import annotations

from headatlas.engine.corpora.kind import Corpus, CorpusKind, Gold, Reading, Tree
from headatlas.plugins import Registry

KINDS: Registry[type[CorpusKind]] = Registry(
    "headatlas.corpora",
    "kind of corpus",
    {
        "text": "headatlas.engine.corpora.text:Text",
        "treebank": "headatlas.engine.corpora.treebank:Treebank",
        "coreference": "headatlas.engine.corpora.coreference:CoreferenceCorpus",
    },
)
"""The kinds of corpus by name, which is also the option that gives its files."""

__all__ = ["KINDS", "Corpus", "CorpusKind", "Gold", "Reading", "Tree"]
