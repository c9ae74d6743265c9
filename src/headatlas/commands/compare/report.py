"""What `compare` prints when it ends."""

from __future__ import annotations

from collections.abc import Iterator

from headatlas.commands.shared.ending import finish
from headatlas.commands.shared.printing import FigureOptions
from headatlas.commands.shared.report import Item, as_item, as_warning
from headatlas.results.atlas import Comparison
from headatlas.results.naming import layers_and_heads
from headatlas.views.words.comparison import comparison_warnings, models_of, not_compared
from headatlas.views.words.findings import all_findings


def report_compare(comparison: Comparison, _options: object, printing: FigureOptions) -> Iterator[Item]:
    """Say what differs; draw figures and the page."""
    return finish(comparison, _comparison_report(comparison), draw=printing.figures)


def _comparison_report(comparison: Comparison) -> Iterator[Item]:
    """What differs, and what was not compared."""
    manifest = comparison.manifest
    for end, side, name in zip("AB", (manifest["a"], manifest["b"]), models_of(manifest), strict=True):
        yield f"{end}: {name}, {layers_and_heads(side['model'])}"
    yield from map(as_warning, comparison_warnings(manifest))
    yield from map(as_item, all_findings(comparison))
    yield from not_compared(manifest)
