"""One question per file: its numbers and its tables. A new study is a new file and a line in `STUDIES`."""

from __future__ import annotations

from headatlas.studies.coreference import Coreference
from headatlas.studies.dependencies import Dependencies
from headatlas.studies.entropy import Entropy
from headatlas.studies.gradients import Gradients
from headatlas.studies.keyphrases import Keyphrases
from headatlas.studies.max_attention import MaxAttention
from headatlas.studies.positions import Positions
from headatlas.studies.similarity import Similarity
from headatlas.studies.study import Study
from headatlas.studies.token_kinds import TokenKinds

STUDIES: dict[str, type[Study]] = {
    study.name: study
    for study in (
        *(Positions, TokenKinds, Entropy, MaxAttention, Similarity, Gradients),
        *(Dependencies, Coreference, Keyphrases),
    )
}

TEXT_STUDIES = {name: study for name, study in STUDIES.items() if study.corpus == "text"}

__all__ = ["STUDIES", "TEXT_STUDIES", "Study"]
