"""The studies of a survey: made with its settings for each corpus, and all their tables together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import pandas as pd

from headatlas.commands.survey.options import StatisticsOptions
from headatlas.corpora.treebanks.label_sets import punctuation_of
from headatlas.studies import TEXT_STUDIES, Study
from headatlas.studies.coreference import Coreference
from headatlas.studies.dependencies import Dependencies
from headatlas.studies.keyphrases import Keyphrases
from headatlas.studies.similarity import SIMILARITY_SMOOTHING, Similarity
from headatlas.views.words.patterns import behaviours


@dataclass(frozen=True)
class StudySettings:
    """What decides the results of the studies, apart from the model and the corpora."""

    statistics: StatisticsOptions
    seed: int
    causal: bool

    @classmethod
    def of_manifest(cls, manifest: Mapping[str, Any]) -> Self:
        """Read the settings of a finished survey. Raises KeyError if one is missing."""
        settings = manifest["settings"]
        statistics = StatisticsOptions(**{option.name: settings[option.name] for option in fields(StatisticsOptions)})
        return cls(statistics, settings["seed"], manifest["model"]["attention"] == "decoder")

    def studies_of(self, corpus: str, chosen: Sequence[str], about: Mapping[str, Any]) -> dict[str, Study]:
        """Make the studies of one corpus, out of all that were chosen. about: what the manifest says of the corpus."""
        match corpus:
            case "text":
                return {name: self._of_text(name) for name in chosen if name in TEXT_STUDIES}
            case "treebank":
                return {Dependencies.name: self.dependencies(about)}
            case "coreference":
                return {Coreference.name: Coreference(how=self.statistics.words_from, **self._tested)}
            case "keyphrases":
                return {Keyphrases.name: Keyphrases(**self._usual)}
        raise ValueError(f"a survey has no {corpus}")

    def dependencies(self, about: Mapping[str, Any]) -> Dependencies:
        """Make the study of a treebank."""
        return Dependencies(
            about["relations"],
            punctuation=punctuation_of(about["label_set"]),
            how=self.statistics.words_from,
            least_count=self.statistics.least_count,
            folds_by=about["halved_by"],
            **self._tested,
        )

    def _of_text(self, name: str) -> Study:
        if name == Similarity.name:
            smoothing = SIMILARITY_SMOOTHING if self.statistics.as_published else 0.0
            return Similarity(**self._usual, smoothing=smoothing, map_distance=self.statistics.map_distance)
        return TEXT_STUDIES[name](**self._usual)

    @property
    def _usual(self) -> dict[str, Any]:
        return {"causal": self.causal, "seed": self.seed, "replicates": self.statistics.bootstrap}

    @property
    def _tested(self) -> dict[str, Any]:
        return self._usual | {"permutations": self.statistics.bootstrap}


def all_tables(studies: Iterable[Study], control: Dependencies | None = None) -> dict[str, pd.DataFrame]:
    """Return every table of every study, and what they say together about each head.

    Args:
        studies: The studies of all corpora, with their sums.
        control: The study of the same model with random weights. Its best accuracies go into the table of best heads.

    Returns:
        The tables by name.
    """
    tables: dict[str, pd.DataFrame] = {}
    for study in studies:
        tables |= study.tables()
    if "dependency_best" in tables:
        best = control.best().set_index("relation")["accuracy"] if control else pd.Series(dtype=float)
        table = tables["dependency_best"]
        tables["dependency_best"] = table.assign(control=table["relation"].map(best).astype(float))
    tables["behaviours"] = behaviours(tables)
    return tables
