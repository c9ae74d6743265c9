"""What `keyphrases` prints when it ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headatlas.commands.keyphrases.figures import write_shaded
from headatlas.commands.shared.ending import finish, with_omissions
from headatlas.commands.shared.printing import DrawingOptions
from headatlas.results.atlas import Atlas
from headatlas.results.naming import model_named

_SHOWN, _SHOWN_PHRASES = 3, 8


def report_keyphrases(results: Atlas, _options: object, printing: DrawingOptions) -> Iterator[str]:
    """Give phrases and scores; draw figures and shaded texts."""
    report = with_omissions(_keyphrase_report(results), results.manifest)
    return finish(results, report, draw=printing.figures, write=write_shaded)


def _keyphrase_report(results: Atlas) -> Iterator[str]:
    """The heads, the first phrases, and scores beside those of other methods."""
    manifest, tables = results.manifest, results.tables
    chosen = manifest["heads_chosen"]
    how = f"{chosen['pooling']} of {chosen['rows']} rows"
    yield f"\n{model_named(manifest['model'])}: heads {', '.join(chosen['names'])} ({chosen['origin']}); {how}"
    for name, phrases in list(tables["keyphrases"].groupby("document", sort=False))[:_SHOWN]:
        yield f"  {name}: {'; '.join(phrases.nsmallest(_SHOWN_PHRASES, 'rank')['phrase'])}"
    if "keyphrase_scores" in tables:
        scores = tables["keyphrase_scores"]
        yield f"F1 of the first {', '.join(map(str, sorted(scores['k'].unique())))} phrases:"
        for method, rows in scores.groupby("method", sort=False):
            yield f"  {method:<10} {', '.join(map(_f1, rows.itertuples()))}"
    for table, label in (("keyphrase_curve", "words"), ("keyphrase_taggers", "tagger")):
        for row in tables[table].itertuples() if table in tables else ():
            yield f"  {label}, {row[1]}, {row.heads} heads: F1 {_f1(row)}"


def _f1(row: Any) -> str:
    return f"{row.f1:.3f} [{row.low:.3f}, {row.high:.3f}]"
