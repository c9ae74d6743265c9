"""One question per file: its numbers, tables, labels, sentences. A new study is a new file and a line in `STUDIES`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headatlas.plugins import Registry

if TYPE_CHECKING:
    from headatlas.studies.study import Study

STUDIES: Registry[type[Study]] = Registry(
    "headatlas.studies",
    "study",
    {
        "positions": "headatlas.studies.positions:Positions",
        "token_kinds": "headatlas.studies.token_kinds:TokenKinds",
        "entropy": "headatlas.studies.entropy:Entropy",
        "max_attention": "headatlas.studies.max_attention:MaxAttention",
        "similarity": "headatlas.studies.similarity:Similarity",
        "gradients": "headatlas.studies.gradients:Gradients",
        "dependencies": "headatlas.studies.dependencies:Dependencies",
        "coreference": "headatlas.studies.coreference:Coreference",
    },
)
"""The studies by name, in the order of their tables. Each is imported when it is first used."""
