"""What `keyphrases` prints when it ends."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from headatlas.commands.keyphrases.evaluation import CUT
from headatlas.commands.keyphrases.methods import NO_ATTENTION, OTHER_HEADS
from headatlas.commands.keyphrases.ranking import SHUFFLES
from headatlas.commands.keyphrases.shaded import write_shaded
from headatlas.commands.shared.ending import finish, with_omissions
from headatlas.commands.shared.printing import FigureOptions
from headatlas.commands.shared.report import Item, as_warning
from headatlas.results.atlas import Atlas
from headatlas.results.naming import model_named
from headatlas.wording import counted, percent

_SHOWN, _SHOWN_PHRASES = 3, 8


def report_keyphrases(results: Atlas, _options: object, printing: FigureOptions) -> Iterator[Item]:
    """Give phrases and scores; draw figures and shaded texts."""
    report = with_omissions(_keyphrase_report(results), results.manifest)
    steps = [(f"headatlas table {results.folder} keyphrases", "every phrase with its score")]
    return finish(results, report, draw=printing.figures, write=write_shaded, next_steps=steps)


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
    if "keyphrase_curve" in tables:
        yield from _curve(tables["keyphrase_curve"])
    for row in tables["keyphrase_taggers"].itertuples() if "keyphrase_taggers" in tables else ():
        yield f"  tagger, {row[1]}, {row.heads} heads: F1 {_f1(row)}"


def _curve(curve: pd.DataFrame) -> Iterator[str]:
    """Key words told from others by several heads, each line beside as many random heads; then by naming every word."""
    random = {row.heads: row for row in curve[curve["method"] == "random_heads"].itertuples()}
    for row in curve[curve["method"] != "random_heads"].itertuples():
        beside = f"; random heads {random[row.heads].f1:.3f}" if row.method == "logistic" else ""
        yield f"  words, {row.method}, {row.heads} heads: F1 {_f1(row)}{beside}"


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


LEVEL = 0.05  # of the corrected p value, below which one method wins
SHOWN = 5  # heads of a list
Row = dict[Any, Any]  # of a table


def verdicts(scores: pd.DataFrame, leads: pd.DataFrame) -> Iterator[str]:
    """Whether the chosen heads beat the methods without attention, and whether choosing them was worth it."""
    setting = scores["report_words"].iloc[0]
    f1, leads_over = (
        {str(row["method"]): row for row in frame[(frame["k"] == CUT) & of_setting].to_dict("records")}
        for frame, of_setting in ((frame, frame["report_words"] == setting) for frame in (scores, leads))
    )
    groups = (NO_ATTENTION, "of the methods without attention"), (OTHER_HEADS, "of other choices of heads")
    for others, said in groups:
        rival = max((method for method in others if method in f1), key=lambda method: float(f1[method]["f1"]))
        yield _verdict(f1["heads"], f1[rival], leads_over[rival], said, len(leads_over))


def _verdict(heads: Row, rival: Row, gap: Row, said: str, compared: int) -> str:
    if not gap["p_value"] < LEVEL:
        outcome = "the chosen heads and it cannot be told apart"
    else:
        outcome = "the chosen heads beat it" if gap["lead"] > 0 else "the chosen heads lose to it"
    ends = f" [{gap['lead_low']:+.3f}, {gap['lead_high']:+.3f}]"
    tested = f"{ends}, p = {gap['p_value']:.3f}" if not math.isnan(gap["lead_low"]) else ", too few differ to test it"
    return (
        f"At {CUT} phrases, F1 {heads['f1']:.3f} [{heads['low']:.3f}, {heads['high']:.3f}]; {said} {rival['method']} "
        f"is best with {rival['f1']:.3f}: {outcome} ({gap['lead']:+.3f}{tested}, paired over "
        f"{counted(gap['count'], 'document')}, corrected for {counted(compared, 'method')})."
    )


def ranked_lists(ranking: pd.DataFrame) -> Iterator[str]:
    """The first heads of each list that beat length and shuffled labels, and how many do."""
    for (name, pooling), rows in ranking.groupby(["list", "pooling"], sort=False):
        named = rows[rows["named"].astype(bool)]
        first = ", ".join(f"{row['name']} {row['value']:.4g}" for row in named.head(SHOWN).to_dict("records"))
        bars = (
            f"length {rows['length'].iloc[0]:.4g}; best of {len(rows)} heads in {SHUFFLES} draws of shuffled labels "
            f"{rows['shuffled'].iloc[0]:.4g}"
        )
        beat = f"{counted(len(named), 'head')} beat{'s' * (len(named) == 1)}"
        yield f"{name}, {pooling}: {beat} both controls ({bars}){': ' if first else '.'}{first}"
