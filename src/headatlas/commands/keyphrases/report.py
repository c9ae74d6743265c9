"""What `keyphrases` prints when it ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from headatlas.commands.keyphrases.evaluation import CUT
from headatlas.commands.keyphrases.shaded import write_shaded
from headatlas.commands.keyphrases.verdict import ranked_lists, verdicts
from headatlas.commands.shared.ending import as_warning, finish, with_omissions
from headatlas.commands.shared.printing import DrawingOptions
from headatlas.results.atlas import Atlas
from headatlas.results.naming import model_named
from headatlas.wording import counted, percent

_SHOWN, _SHOWN_PHRASES = 3, 8


def report_keyphrases(results: Atlas, _options: object, printing: DrawingOptions) -> Iterator[str]:
    """Give phrases and scores; draw figures and shaded texts."""
    report = with_omissions(_keyphrase_report(results), results.manifest)
    return finish(results, report, draw=printing.figures, write=write_shaded)


def _keyphrase_report(results: Atlas) -> Iterator[str]:
    """The heads, the first phrases, and scores beside those of other methods."""
    manifest, tables = results.manifest, results.tables
    chosen = manifest["heads_chosen"]
    scoring = chosen["scoring"].get("heads", "sum")
    how = f"{chosen['pooling']} of {chosen['rows']} rows, {scoring} over the words of a phrase"
    yield f"\n{model_named(manifest['model'])}: heads {', '.join(chosen['names'])} ({chosen['origin']}); {how}"
    for name, phrases in list(tables["keyphrases"].groupby("document", sort=False))[:_SHOWN]:
        yield f"  {name}: {'; '.join(phrases.nsmallest(_SHOWN_PHRASES, 'rank')['phrase'])}"
    if "keyphrase_scores" in tables:
        yield from _gold(manifest["corpora"]["data"])
        yield from _scores(tables["keyphrase_scores"], chosen["scoring"])
        yield from verdicts(tables["keyphrase_scores"], tables["keyphrase_leads"])
    if "keyphrase_ranking" in tables:
        yield "Heads by their attention to key words (layer, head and pooling of a column, counted from 1):"
        yield from (f"  {line}" for line in ranked_lists(tables["keyphrase_ranking"]))
    for table, label in (("keyphrase_curve", "words"), ("keyphrase_taggers", "tagger")):
        for row in tables[table].itertuples() if table in tables else ():
            yield f"  {label}, {row[1]}, {row.heads} heads: F1 {_f1(row)}"


def _gold(about: Mapping[str, Any]) -> Iterator[str]:
    """What can be found at all."""
    given, in_text = about["keyphrases"], about["keyphrases_in_text"]
    share = percent(about["keyphrases_among_candidates"] / max(given, 1))
    yield (
        f"{counted(given, 'keyphrase')} given, {in_text:,} of them in the text; {share} are candidates, the most "
        "that a ranking can find."
    )
    if two := about["documents_with_two_lists"]:
        yield as_warning(
            f"{counted(two, 'document')} of those read give two lists of keyphrases in one file, as Inspec may "
            "join free phrases and terms of a thesaurus. Both count, though the terms are seldom in the text."
        )


def _scores(scores: pd.DataFrame, scoring: Mapping[str, str]) -> Iterator[str]:
    """A line per method: F1 at each cut, micro F1, the spread of random sets, and F1 with the other report words."""
    settings = list(scores["report_words"].unique())
    main = scores[scores["report_words"] == settings[0]]
    cuts = ", ".join(map(str, sorted(scores["k"].unique())))
    yield f"Macro F1 of the first {cuts} phrases [95 % interval], micro F1 at {CUT}; report words: {settings[0]}"
    for method, rows in main.groupby("method", sort=False):
        at_cut = rows[rows["k"] == CUT].iloc[0]
        line = f"  {method:<12} {', '.join(map(_f1, rows.itertuples()))}; micro {at_cut['micro_f1']:.3f}"
        if not pd.isna(at_cut["lowest"]):
            line += f"; single sets {at_cut['lowest']:.3f} to {at_cut['highest']:.3f}"
        for other in settings[1:]:
            same = scores[(scores["report_words"] == other) & (scores["method"] == method) & (scores["k"] == CUT)]
            line += f"; {same['f1'].item():.3f} with report words: {other}"
        yield f"{line}{'; mean over words' if scoring.get(str(method)) == 'mean' else ''}"


def _f1(row: Any) -> str:
    return f"{row.f1:.3f} [{row.low:.3f}, {row.high:.3f}]"
