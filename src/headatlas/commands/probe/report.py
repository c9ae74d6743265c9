"""What `probe` prints when it ends."""

from __future__ import annotations

from collections.abc import Iterator

from headatlas.commands.shared.ending import finish, with_omissions
from headatlas.commands.shared.printing import DrawingOptions
from headatlas.results.atlas import Atlas
from headatlas.results.rendering import render
from headatlas.views.published.views import view_of


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
