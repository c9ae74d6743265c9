"""What the tables of a folder show, in sentences fit for a paper: a number, its baseline, its uncertainty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from headatlas.results.comparison import Comparison
from headatlas.results.folder import Results
from headatlas.studies import STUDIES
from headatlas.studies.findings import Finding
from headatlas.views.words.about import common_tokens
from headatlas.views.words.comparison import comparison_findings
from headatlas.views.words.layers import layer_sentences

Tables = Mapping[str, pd.DataFrame]


def all_findings(results: Results) -> list[Finding | str]:
    """What is said of a folder, in the order of its studies; nothing for folders of which only their command speaks."""
    if isinstance(results, Comparison):
        return list(comparison_findings(results))
    manifest = results.manifest
    found = findings(results.tables, manifest.get("findings"))
    return [*found, *common_tokens(manifest)] if found else []


def findings(tables: Tables, of_others: Mapping[str, list[str]] | None = None) -> list[Finding | str]:
    """Return one sentence for each observation that the tables allow.

    Args:
        tables: The tables of a folder.
        of_others: The sentences of studies of other packages, by study. A survey saves them in its manifest, so that
            they can be read where the package is not installed.
    """
    own = [STUDIES[name] for name in STUDIES if STUDIES.is_own(name)]
    sentences: list[Finding | str] = [
        replace(sentence, study=study.name) if isinstance(sentence, Finding) else sentence
        for study in own
        if all(table.name in tables for table in study.tables)
        for sentence in study.findings(tables)
    ]
    sentences += [sentence for of_study in (of_others or {}).values() for sentence in of_study]
    return [*sentences, *(layer_sentences(tables) if "layer_summary" in tables else ())]
