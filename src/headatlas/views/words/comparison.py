"""What a comparison of two atlases shows, in sentences: caveats, what differs, and what was not compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from headatlas.engine.corpora import KINDS
from headatlas.results.atlas import Comparison
from headatlas.results.naming import short_name
from headatlas.results.tables import TABLES
from headatlas.studies.positions import NEXT, PREVIOUS
from headatlas.studies.token_kinds import CLS, SEP
from headatlas.wording import counted

SIGNIFICANT = 0.05  # of tests that are corrected for all rows of their table, column and scope
CORRECTED = "corrected for all of them"
MOST_NAMED = 5
SMALLEST_SHOWN = 0.005  # nats: a smaller distance would be written as 0.00
SURFACE = (
    *(
        (pattern.table, f"{pattern.column}={pattern.key}", f"attention to {pattern.target}")
        for pattern in (PREVIOUS, NEXT, CLS, SEP)
    ),
    ("entropy", "source=all", "entropy"),
)
"""Table, measure and words of the surface behaviour that is compared."""


def names_of(manifest: Mapping[str, Any]) -> tuple[str, str]:
    """What to call the two sides: their models, with A and B if the models have the same name."""
    a, b = models_of(manifest)
    return (a, b) if a != b else (f"A, {a}", f"B, {b}")


def models_of(manifest: Mapping[str, Any]) -> tuple[str, str]:
    """The names of the two sides' models, which may be the same."""
    a, b = (manifest[end]["model"] for end in "ab")
    return _name(a), _name(b)


def _name(model: Mapping[str, Any]) -> str:
    random = model.get("random_weights")
    shuffled = random and random.get("kind") == "shuffled"
    return short_name(model) + (f" with {'shuffled' if shuffled else 'random'} weights" if random else "")


def only_causal(manifest: Mapping[str, Any]) -> int | None:
    """Which side, 0 or 1, is the only one that masks later words; None if both do or neither.

    The mask alone makes heads predict a neighbour: among rows that are nearly uniform over more and more words, the
    row of the next word attends most to a word. So comparing accuracies of a causal and another model is not fair.
    """
    causal = [manifest[end]["model"].get("attention") == "decoder" for end in "ab"]
    return None if causal[0] == causal[1] else causal.index(True)


def relations_by(manifest: Mapping[str, Any]) -> str:
    """What the best heads of relations are compared by: accuracy, or their lead over the best fixed offset."""
    return "accuracy" if only_causal(manifest) is None else "lead"


def comparison_warnings(manifest: Mapping[str, Any]) -> list[str]:
    """What a reader must know before trusting a difference."""
    distances = manifest["distances"]
    return [
        *(
            f"A and B were not surveyed on the same {corpus}, so differences come from both model and corpus."
            for corpus, about in manifest["corpora"].items()
            if not about["same_files"]
        ),
        *(
            f"The surveys differ in a setting: {setting} is {a} in A, {b} in B."
            for setting, (a, b) in manifest["settings_that_differ"].items()
        ),
        *([f"Heads are not matched by distance: {distances['skipped']}"] if "skipped" in distances else []),
        *(
            f"Some or all intervals are missing, because {end.upper()} has no replicates: {reason}"
            for end, reason in manifest["without_intervals"].items()
        ),
    ]


def not_compared(manifest: Mapping[str, Any]) -> list[str]:
    """What was left out, by reason."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in manifest["not_compared"].items():
        by_reason.setdefault(reason, []).append(name)
    return [
        *(
            f"Rows of {name} in one atlas only: {only['a']:,} in A, {only['b']:,} in B"
            for name, only in manifest["rows_in_one_only"].items()
        ),
        *(f"Not compared: {'; '.join(names)} ({reason})" for reason, names in by_reason.items()),
    ]


def comparison_findings(comparison: Comparison) -> list[str]:
    """What differs, as far as the tables show."""
    tables, manifest = comparison.tables, comparison.manifest
    names = names_of(manifest)
    return [
        *_mask(manifest, names),
        *_tested_over(manifest),
        *_surface(tables["differences"], names),
        *_best(tables["differences"], names, relations_by(manifest)),
        *(_matches(tables) if "match_summary" in tables else ()),
        *(_labels(tables["behaviour_matches"]) if "behaviour_matches" in tables else ()),
        *_counts(tables["differences"]),
    ]


def _mask(manifest: Mapping[str, Any], names: tuple[str, str]) -> Iterator[str]:
    """What it does to every difference if one side alone is causal."""
    causal = only_causal(manifest)
    if causal is not None:
        yield (
            f"Words of {names[causal]} see no later words, those of {names[1 - causal]} see all. Differences may come "
            "from that alone, so relations are compared by how far the best head leads the best fixed offset (0 if it "
            "does not), not by accuracy."
        )


def _surface(table: pd.DataFrame, names: tuple[str, str]) -> Iterator[str]:
    """Means over all heads."""
    for name, measure, words in SURFACE:
        rows = table[(table["table"] == name) & (table["measure"] == measure) & (table["scope"] == "model")]
        for row in rows.dropna(subset="difference").itertuples():
            unit = "{:.2f} nats" if name == "entropy" else "{:.1%}"
            a, b = (unit.format(value).replace("%", " %") for value in (row.value_a, row.value_b))
            subject = f"{words[0].upper()}{words[1:]}, mean over heads"
            yield f"{subject}: {a} in {names[0]}, {b} in {names[1]}{_change(row)}."


def _best(table: pd.DataFrame, names: tuple[str, str], column: str) -> Iterator[str]:
    """The best heads of relations. column: accuracy or lead."""
    rows = table[(table["table"] == "dependency_best") & (table["column"] == column)]
    rows = rows[~rows["measure"].str.startswith("relation=all")]
    if rows.empty:
        return
    what = "is" if column == "accuracy" else "leads the best fixed offset by"
    more, less = ("better", "worse") if column == "accuracy" else ("more", "by less")
    relations = counted(len(rows), "relation")
    tested = rows.dropna(subset="p_adjusted")
    if tested.empty:
        yield (
            f"Whether the best head of {names[1]} {what} {more} or {less} at any of {relations} than that of "
            f"{names[0]} was not tested, since there are no intervals; largest differences, in points{_named(rows)}."
        )
        return
    clear = significant(tested)
    better, worse = clear[clear["difference"] > 0], clear[clear["difference"] < 0]
    untested = f", {len(rows) - len(tested)} not tested" if len(tested) < len(rows) else ""
    yield (
        f"Of {relations} the best head of {names[1]} {what} {more} at {len(better)}{_named(better)} "
        f"and {less} at {len(worse)}{_named(worse)} than that of {names[0]} (p < {SIGNIFICANT}, {CORRECTED}{untested})."
    )


def _matches(tables: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    value = tables["match_summary"].set_index("measure")["value"]
    yield (
        f"Heads matched by how they attend to the same text are {value['matched_distance']:.3f} nats apart on average; "
        f"all pairs across the models {value['across_distance']:.3f}, two heads of A {value['within_a_distance']:.3f}."
    )
    if "place_kept" not in value:
        return
    yield (
        f"{value['place_kept']:.0f} of {value['heads_a']:.0f} heads are matched with the head in the same place (by "
        f"chance: 1), {value['layer_kept']:.0f} with one in the same layer (by chance: "
        f"{value['layer_kept_by_chance']:.0f})."
    )
    matches = tables["head_matches"]
    moved = matches[matches["own"] >= SMALLEST_SHOWN].nlargest(MOST_NAMED, "own")
    named = ", ".join(f"{row.layer_a}-{row.head_a} {row.own:.2f}" for row in moved.itertuples())
    yield (
        f"Heads that differ most from the head in the same place, in nats: {named}."
        if named
        else f"No head differs from the head in the same place: all distances are under {SMALLEST_SHOWN} nats."
    )


def _labels(table: pd.DataFrame) -> Iterator[str]:
    changed = []
    for label, rows in table.groupby("label", sort=False):
        a, b = (int(rows[f"layer_{end}"].notna().sum()) for end in "ab")
        if a != b:
            changed.append(f"{label} {a} and {b}")
    same = table["label"].nunique() - len(changed)
    if changed:
        others = f"the same number for {counted(same, 'other label')}"
        yield f"Heads per label, in A and in B: {', '.join(changed)}; {others}."
    else:
        yield f"A and B have the same number of heads for {counted(same, 'label')}."


def significant(rows: pd.DataFrame) -> pd.DataFrame:
    """The differences that are beyond chance, however many were tested beside them."""
    return rows[rows["p_adjusted"] < SIGNIFICANT]


def _tested_over(manifest: Mapping[str, Any]) -> Iterator[str]:
    """What was resampled in A and in B, by corpus."""
    for corpus, about in manifest["corpora"].items():
        a, b = about.get("resampled", (None, None))
        if a and b:
            both = a if a == b else f"{a} in A and {b} in B"
            how = "which both saw" if about["paired"] and a == b else "paired" if about["paired"] else "unpaired"
            yield f"Differences on the {KINDS[corpus].called if corpus in KINDS else corpus}: over {both}, {how}."


def _counts(table: pd.DataFrame) -> Iterator[str]:
    """How many differences of heads are beyond chance."""
    tested = table.dropna(subset="p_adjusted")
    scope = "head" if (tested["scope"] == "head").any() else "model"
    what = "of single heads" if scope == "head" else "of means over heads"
    for (name, column), rows in tested[tested["scope"] == scope].groupby(["table", "column"], sort=False):
        called = name if column == TABLES[str(name)].measures[0].name else f"{name}, {column}"
        yield (
            f"Table {called}: {len(significant(rows)):,} of {len(rows):,} differences {what} are significant "
            f"(p < {SIGNIFICANT}, {CORRECTED})."
        )


def _change(row: Any) -> str:
    if pd.isna(row.low):
        return ""
    scale, unit = (1, "nats") if row.table == "entropy" else (100, "points")
    return f" ({scale * row.difference:+.2f} {unit}, 95 % CI {scale * row.low:+.2f} to {scale * row.high:+.2f})"


def _named(rows: pd.DataFrame) -> str:
    """The measures with the largest differences, at most a few."""
    largest = rows.reindex(rows["difference"].abs().sort_values(ascending=False).index)[:MOST_NAMED]
    named = [
        f"{measure.partition('=')[2]} {100 * difference:+.0f}"
        for measure, difference in zip(largest["measure"], largest["difference"], strict=True)
    ]
    more = f" and {len(rows) - len(named)} more" if len(rows) > len(named) else ""
    return f" ({', '.join(named)}{more})" if named else ""
