"""What a comparison of two atlases shows, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from headatlas.views.figures.comparison import Compared, names_of, only_causal, relations_by
from headatlas.views.figures.differences import SURFACE
from headatlas.wording import counted

CHANCE = 0.05  # of 95 % intervals exclude 0 where nothing differs
MOST_NAMED = 5
SMALLEST_SHOWN = 0.005  # nats: a smaller distance would be written as 0.00


def comparison_findings(comparison: Compared) -> list[str]:
    """What differs, in sentences, as far as the tables tell."""
    tables = comparison.tables
    names = names_of(comparison.manifest)
    found = [
        *_mask(comparison.manifest, names),
        *_surface(tables["differences"], names),
        *_best(tables["differences"], names, relations_by(comparison.manifest)),
    ]
    if "match_summary" in tables:
        found += _matches(tables)
    if "behaviour_matches" in tables:
        found += _labels(tables["behaviour_matches"])
    return [*found, *_intervals(tables["differences"])]


def _mask(manifest: Mapping[str, Any], names: tuple[str, str]) -> Iterator[str]:
    """What one causal side alone does to every difference."""
    causal = only_causal(manifest)
    if causal is not None:
        yield (
            f"words of {names[causal]} see no later words, those of {names[1 - causal]} see all: differences may come "
            "from that alone, so relations are compared by how far the best head leads the best fixed offset (0 where "
            "it does not), not by accuracy"
        )


def _surface(table: pd.DataFrame, names: tuple[str, str]) -> Iterator[str]:
    """Means over all heads."""
    for name, measure, words in SURFACE:
        rows = table[(table["table"] == name) & (table["measure"] == measure) & (table["scope"] == "model")]
        for row in rows.dropna(subset="difference").itertuples():
            unit = "{:.2f} nats" if name == "entropy" else "{:.1%}"
            a, b = (unit.format(value) for value in (row.value_a, row.value_b))
            yield f"{words}, mean over heads: {a} in {names[0]}, {b} in {names[1]}{_change(row)}"


def _best(table: pd.DataFrame, names: tuple[str, str], column: str) -> Iterator[str]:
    """The best heads of relations. column: accuracy or lead."""
    rows = table[(table["table"] == "dependency_best") & (table["column"] == column)]
    rows = rows[~rows["measure"].str.startswith("relation=all")]
    if rows.empty:
        return
    what = "is" if column == "accuracy" else "leads the best fixed offset by"
    more, less = ("better", "worse") if column == "accuracy" else ("more", "by less")
    relations = counted(len(rows), "relation")
    tested = rows.dropna(subset=["low", "high"])
    if tested.empty:
        yield (
            f"whether the best head of {names[1]} {what} {more} or {less} at any of {relations} than that of "
            f"{names[0]} was not tested, since there are no intervals; largest differences, in points{_named(rows)}"
        )
        return
    better, worse = tested[tested["low"] > 0], tested[tested["high"] < 0]
    untested = f", {len(rows) - len(tested)} not tested" if len(tested) < len(rows) else ""
    yield (
        f"of {relations} the best head of {names[1]} {what} {more} at {len(better)}{_named(better)} "
        f"and {less} at {len(worse)}{_named(worse)} than that of {names[0]} (95 % intervals{untested})"
    )


def _matches(tables: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    value = tables["match_summary"].set_index("measure")["value"]
    yield (
        f"heads matched by how they attend to the same text are {value['matched_distance']:.3f} nats apart on average, "
        f"all pairs across the models {value['across_distance']:.3f}, two heads of A {value['within_a_distance']:.3f}"
    )
    if "place_kept" in value:
        yield (
            f"{value['place_kept']:.0f} of {value['heads_a']:.0f} heads are matched with their own place (by chance: "
            f"1), {value['layer_kept']:.0f} with their own layer (by chance: {value['layer_kept_by_chance']:.0f})"
        )
        matches = tables["head_matches"]
        moved = matches[matches["own"] >= SMALLEST_SHOWN].nlargest(MOST_NAMED, "own")
        named = ", ".join(f"{row.layer_a}-{row.head_a} {row.own:.2f}" for row in moved.itertuples())
        yield (
            f"heads that differ most from the one in their place: {named}"
            if named
            else f"no head differs from the one in its place: all distances are under {SMALLEST_SHOWN} nats"
        )


def _labels(table: pd.DataFrame) -> Iterator[str]:
    changed = []
    for label, rows in table.groupby("label", sort=False):
        a, b = (int(rows[f"layer_{end}"].notna().sum()) for end in "ab")
        if a != b:
            changed.append(f"{label} {a} and {b}")
    same = table["label"].nunique() - len(changed)
    if changed:
        yield f"heads with a label, in A and in B: {', '.join(changed)}; as many in both for {same} other labels"
    else:
        yield f"as many heads in A as in B have each of {same} labels"


def _intervals(table: pd.DataFrame) -> Iterator[str]:
    """How many differences of heads stand out, beside how many would if there were none."""
    known = table.dropna(subset=["low", "high"])
    scope = "head" if (known["scope"] == "head").any() else "model"
    for name, rows in known[known["scope"] == scope].groupby("table", sort=False):
        clear = int(((rows["low"] > 0) | (rows["high"] < 0)).sum())
        what = "of single heads" if scope == "head" else "of means over heads"
        how = "" if rows["paired"].all() else ", unpaired"
        yield (
            f"{name}: {clear:,} of {len(rows):,} differences {what} have a 95 % interval without 0{how}; "
            f"about {CHANCE * len(rows):,.0f} would by chance"
        )


def _change(row: Any) -> str:
    if pd.isna(row.low):
        return ""
    scale, unit = (1, "nats") if row.table == "entropy" else (100, "points")
    return f" ({scale * row.difference:+.2f} {unit}, 95 % interval {scale * row.low:+.2f} to {scale * row.high:+.2f})"


def _named(rows: pd.DataFrame) -> str:
    """The measures with the largest differences, at most a few."""
    largest = rows.reindex(rows["difference"].abs().sort_values(ascending=False).index)[:MOST_NAMED]
    named = [
        f"{measure.partition('=')[2]} {100 * difference:+.0f}"
        for measure, difference in zip(largest["measure"], largest["difference"], strict=True)
    ]
    more = f" and {len(rows) - len(named)} more" if len(rows) > len(named) else ""
    return f" ({', '.join(named)}{more})" if named else ""
