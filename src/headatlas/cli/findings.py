"""What commands found, line by line, for the end of their output."""

from __future__ import annotations

from collections.abc import Iterator

from headatlas.results.atlas import Atlas
from headatlas.results.rendering import render
from headatlas.views.published.views import view_of


def probe_findings(results: Atlas) -> Iterator[str]:
    """The scores of all probes, and how far the treebanks limit them."""
    yield render(view_of(results, "probes"), "terminal").rstrip("\n")
    for name, about in results.manifest["corpora"].items():
        if shared := about.get("also_in_train"):
            yield f"--{name}: {shared:,} of {about['sentences']:,} sentences are also among those to train on"
        if unknown := about.get("without_vector", {"words": 0})["words"]:
            yield f"--{name}: {unknown:,} of {about['words']:,} words have no vector"
