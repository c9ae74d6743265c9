"""What `probe` prints when it ends."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from headatlas.commands.shared.ending import as_warning, finish, with_omissions
from headatlas.commands.shared.printing import DrawingOptions
from headatlas.results.atlas import Atlas
from headatlas.results.rendering import render
from headatlas.views.published.views import view_of
from headatlas.views.words.probes import probe_sentences


def report_probe(results: Atlas, _options: object, printing: DrawingOptions) -> Iterator[str]:
    """Give the scores; draw figures."""
    return finish(results, with_omissions(_probe_report(results), results.manifest), draw=printing.figures, write=None)


def _probe_report(results: Atlas) -> Iterator[str]:
    """The scores of all probes, and how far the treebanks limit them."""
    yield render(view_of(results, "probes"), "terminal").rstrip("\n")
    for name, about in results.manifest["corpora"].items():
        if shared := about.get("also_in_train"):
            yield f"--{name}: {shared:,} of {about['sentences']:,} sentences are also in the training data"
        if unknown := about.get("without_vector", {"words": 0})["words"]:
            yield f"--{name}: {unknown:,} of {about['words']:,} words have no vector"
    yield from (f"  - {sentence}" for sentence in probe_sentences(results.tables))
    yield from map(as_warning, _limited(results.tables["probes"], results.manifest["settings"]["epochs"]))


def _limited(probes: pd.DataFrame, epochs: int) -> Iterator[str]:
    """Warn of probes whose training the limit of passes ended."""
    limited = probes[probes["at_limit"].fillna(False).astype(bool)]
    if len(limited):
        names = ", ".join(dict.fromkeys(limited["probe"]))
        yield (
            f"Training ended at the limit of {epochs} passes while the held-out loss still fell: {names}. Their scores "
            f"may rise; add --epochs {4 * epochs}."
        )
