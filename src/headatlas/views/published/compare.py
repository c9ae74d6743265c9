"""An atlas's results beside the paper's, where the two are comparable (tables 1 and 2).

Numbers are written as the paper prints them: accuracies in percent, heads as 8-10, missing values empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from headatlas.results.view import Column, View
from headatlas.studies.dependency_tables import RELATION
from headatlas.views.published.tables import (
    MENTION_TYPES,
    Source,
    published_coreference,
    published_dependencies,
    published_probes,
    source,
)

Row = dict[Any, Any]  # of a frame, by column
Cells = Mapping[Column, Callable[[Row], str]]  # what each column shows of a row

OURS, PUBLISHED = "this atlas", "published"
READINGS = ("words", "mentions", "preceding")  # what heads choose from; the first is the paper's (section 4.1)
CHOICE = (
    "acc.: of the head that scores best here, which is optimistic; the interval does not correct for that. "
    "held out: the head is chosen on one half of the corpus and scored on the other."
)
OTHERS = "The published figures come from another model and corpus: they are for comparison, not a target."

ARROWS = {"dependent_to_head": "d->h", "head_to_dependent": "h->d"}
METHODS = {
    "nearest": "nearest mention",
    "head_match": "same head word",
    "sieves": "four sieves",
    "neural": "neural system",
    "head": "best head",
    "head_of_type": "best for type",
}
DEPENDENCY_COLUMNS: Cells = {
    Column("relation"): lambda row: text(RELATION.short.get(row["relation"], row["relation"])),
    Column("n", OURS, True): lambda row: text(row["count"]),
    Column("head", OURS, True): lambda row: head(row["layer"], row["head"]),
    Column("dir.", OURS): lambda row: arrow(row["direction"]),
    Column("acc.", OURS, True): lambda row: percent(row["accuracy"]),
    Column("95 % interval", OURS, True): lambda row: interval(row["low"], row["high"]),
    Column("held out", OURS, True): lambda row: percent(row["held_out"]),
    Column("baseline", OURS, True): lambda row: offset(row["baseline"], row["baseline_offset"]),
    Column("control", OURS, True): lambda row: percent(row["control"]),
    Column("relation", PUBLISHED): lambda row: text(row["published_relation"]) + row["mark"],
    Column("head", PUBLISHED, True): lambda row: head(row["published_layer"], row["published_head"]),
    Column("dir.", PUBLISHED): lambda row: arrow(row["published_direction"]),
    Column("acc.", PUBLISHED, True): lambda row: percent(row["published_accuracy"]),
    Column("baseline", PUBLISHED, True): lambda row: offset(row["published_baseline"], row["published_offset"]),
}
COREFERENCE_COLUMNS: Cells = {
    Column("mentions"): lambda row: text(row["mention_type"]),
    Column("antecedent by"): lambda row: METHODS[row["method"]] + "*" * (row["method"] in source("coreference").notes),
    Column("head", OURS, True): lambda row: head(row["layer"], row["head"]),
    Column("n", OURS, True): lambda row: text(row["count"]),
    Column("acc.", OURS, True): lambda row: percent(row["accuracy"]),
    Column("95 % interval", OURS, True): lambda row: interval(row["low"], row["high"]),
    Column("held out", OURS, True): lambda row: percent(row["held_out"]),
    Column("mentions", OURS, True): lambda row: percent(row["mentions"]),
    Column("preceding", OURS, True): lambda row: percent(row["preceding"]),
    Column("head", PUBLISHED, True): lambda row: head(row["published_layer"], row["published_head"]),
    Column("acc.", PUBLISHED, True): lambda row: percent(row["published_accuracy"], decimals=0),
}
_KEPT = ["relation", "layer", "head", "direction", "accuracy", "baseline", "offset", "source"]
NAMES = {
    ("right_branching", ""): "right-branching",
    ("left_branching", ""): "left-branching",
    ("distances", ""): "distances",
    ("distances_words", ""): "distances + words",
    ("attention", "random"): "attention, random weights",
    ("attention_words", "random"): "attention + words, random weights",
    ("attention", "pretrained"): "attention",
    ("attention_words", "pretrained"): "attention + words",
    ("adjacent_words", ""): "adjacent words linked (UUAS)",
    ("structural_distance", "random"): "structural probe (UUAS), random weights",
    ("structural_distance", "pretrained"): "structural probe (UUAS)",
}
"""The rows in order: probe and the weights it reads -> its name for readers."""

_MEANS = ("uas_tree_no_punct", "uuas", "low", "high", "selectivity", "mdl_bits", "uniform_bits", "count")
_COLUMNS: Cells = {
    Column("probe"): lambda row: row["name"] + "*" * bool(row["noted"]),
    Column("score", OURS, True): lambda row: percent(row["score"]),
    Column("sd", OURS, True): lambda row: percent(row["spread"]),
    Column("95 % interval", OURS, True): lambda row: interval(row["low"], row["high"]),
    Column("as tree", OURS, True): lambda row: percent(row["uas_tree_no_punct"]),
    Column("layer", OURS, True): lambda row: text(row["layer"]),
    Column("selectivity", OURS, True): lambda row: percent(row["selectivity"]),
    Column("kbits", OURS, True): lambda row: "" if pd.isna(row["mdl_bits"]) else f"{row['mdl_bits'] / 1000:.1f}",
    Column("n", OURS, True): lambda row: text(row["count"]),
    Column("score", PUBLISHED, True): lambda row: percent(row["published_score"], decimals=0),
}
_OPTIONAL = {"selectivity": "selectivity", "kbits": "mdl_bits", "layer": "layer", "sd": "spread"}


def compare_dependencies(best: pd.DataFrame, surveyed: str, universal: bool) -> View:
    """Table 1: the best head for each relation in the order of `dependency_best`, and the published one.

    `universal` says whether the relations are those of Universal Dependencies, which differ from the paper's.
    """
    beside = _beside(best["relation"], universal)
    marks = _marks(beside, universal)
    frame = pd.concat([best.reset_index(drop=True), beside[_KEPT].add_prefix("published_")], axis=1)
    controlled = bool(best["control"].notna().any())
    shown = {column: cell for column, cell in DEPENDENCY_COLUMNS.items() if controlled or column.title != "control"}
    title = titled("Dependency relations, in %: the best head for each", surveyed, source("dependencies"))
    return make_view(frame, shown, title, _dependency_notes(beside, marks, controlled), mark=marks)


def compare_coreference(heads: pd.DataFrame, best: pd.DataFrame, baselines: pd.DataFrame, surveyed: str) -> View:
    """Table 2: the head that is best for all mentions, the best for each type, and the baselines."""
    keys = ["mention_type", "method"]
    decides, *others = READINGS
    ours = best_heads(heads, best, decides)
    for reading in others:
        accuracy = best_heads(heads, best, reading)[[*keys, "accuracy"]].rename(columns={"accuracy": reading})
        ours = ours.merge(accuracy, "left", keys)
    frame = pd.concat([ours, baselines.rename(columns={"baseline": "method"})], ignore_index=True)
    frame = frame[frame["mention_type"].isin(MENTION_TYPES)]
    frame = frame.merge(published_coreference(), "outer", keys, suffixes=("", "_published"))
    for key, order in zip(keys, (MENTION_TYPES, tuple(METHODS)), strict=True):
        frame[key] = pd.Categorical(frame[key], order)
    frame = frame.sort_values(keys, ignore_index=True).astype(dict.fromkeys(keys, "str"))
    published = {f"{name}_published": f"published_{name}" for name in ("layer", "head", "accuracy")}
    measured = ["layer", "head", "correct", "count", "accuracy", "low", "high", "held_out", *others]
    whole = dict.fromkeys(("layer", "head", "correct", "count"), "Int64")
    frame = frame.rename(columns=published)[[*keys, *measured, *published.values()]].astype(whole)
    origin = source("coreference")
    notes = (
        "acc.: a head chooses among all other words (the paper, section 4.1). mentions, preceding: the best head for "
        "that choice, among the head words of all other mentions, or of the mentions before, as the rules choose.",
        "best head: for all mentions; best for type: for that type.",
        CHOICE,
        OTHERS,
        *(f"* {note}" for note in origin.notes.values()),
    )
    title = titled("Coreference, in %: mentions whose antecedent is found", surveyed, origin)
    return make_view(frame, COREFERENCE_COLUMNS, title, notes, keys=2)


def make_view(
    frame: pd.DataFrame, shown: Cells, title: tuple[str, ...], notes: tuple[str, ...], keys: int = 1, **marks: Any
) -> View:
    """A view of a frame with the columns shown. marks: columns that cells need besides those of the frame."""
    rows = frame.assign(**marks).to_dict("records")
    cells = tuple(tuple(cell(row) for cell in shown.values()) for row in rows)
    return View(frame, tuple(shown), cells, title, notes, keys)


def _beside(relations: Iterable[str], universal: bool) -> pd.DataFrame:
    """The published row comparable with each relation, empty if there is none. Table 1 comes first."""
    published = published_dependencies().drop_duplicates("relation")
    by_name = published.set_index("ud", drop=False)
    by_name = by_name[by_name.index.notna()]
    if not universal:
        stanford = published.set_index("relation", drop=False)
        by_name = pd.concat([stanford, by_name[~by_name.index.isin(stanford.index)]])
    return by_name.reindex(list(relations)).reset_index(drop=True)


def _marks(beside: pd.DataFrame, universal: bool) -> list[str]:
    """Behind a published relation: * if there is a note, ~ if it is only roughly the UD relation."""
    noted = beside["relation"].isin(list(source("dependencies").notes))
    rough = (beside["comparable"] == "roughly") & universal
    return ["*" * star + "~" * tilde for star, tilde in zip(noted, rough, strict=True)]


def _dependency_notes(beside: pd.DataFrame, marks: list[str], controlled: bool) -> tuple[str, ...]:
    rough = beside[["~" in mark for mark in marks]]
    reasons = [f"{row.relation} ({row.remark})" for row in rough.itertuples()]
    noted = beside["relation"][["*" in mark for mark in marks]]
    notebook = beside["relation"][beside["source"] == "notebook"]
    return (
        "d->h: the dependent attends to its head; h->d: the head to its dependent.",
        CHOICE,
        "baseline: always the word at the (offset) that suits the relation best.",
        *(["control: the best head of the same network with random weights."] if controlled else []),
        OTHERS,
        *([f"Printed only in the authors' notebook: {', '.join(notebook)}."] if len(notebook) else []),
        *(f"* {source('dependencies').notes[relation]}" for relation in noted),
        *([f"~ Only roughly comparable with UD: {'; '.join(reasons)}."] if reasons else []),
    )


def best_heads(heads: pd.DataFrame, best: pd.DataFrame, candidates: str) -> pd.DataFrame:
    """The best head for all mentions with its scores for every type, and the best of each type.

    candidates: what heads choose from: words, mentions, or preceding (mentions).
    """
    scored = heads[heads["candidates"] == candidates]
    chosen = best[best["candidates"] == candidates][["mention_type", "layer", "head", "held_out"]]
    overall = chosen["mention_type"] == "all"
    of_all = scored.merge(chosen[overall][["layer", "head"]]).merge(chosen[overall], "left")
    of_type = scored.merge(chosen[~overall])
    return pd.concat([of_all.assign(method="head"), of_type.assign(method="head_of_type")])


def titled(name: str, surveyed: str, origin: Source) -> tuple[str, ...]:
    return (
        name,
        f"This atlas: {surveyed}",
        f"Published: {origin.model} on {origin.corpus} ({origin.paper}, {origin.table})",
    )


def text(value: Any) -> str:
    """A value as it is."""
    return "" if pd.isna(value) else str(value)


def head(layer: Any, number: Any) -> str:
    """A head by its layer and number."""
    return "" if pd.isna(layer) else f"{int(layer)}-{int(number)}"


def arrow(direction: Any) -> str:
    """Which word attends to which: dependent (d) and head (h)."""
    return "" if pd.isna(direction) else ARROWS[direction]


def percent(share: Any, decimals: int = 1) -> str:
    """A share of 1 in percent."""
    return "" if pd.isna(share) else f"{100 * share:.{decimals}f}"


def interval(low: Any, high: Any) -> str:
    """An interval of shares in percent."""
    return "" if pd.isna(low) else f"[{percent(low)}, {percent(high)}]"


def offset(share: Any, place: Any) -> str:
    """A baseline's share in percent and its offset."""
    return percent(share) if pd.isna(place) else f"{percent(share)} ({int(place)})"


def summarise_probes(probes: pd.DataFrame) -> pd.DataFrame:
    """One row per probe and network, means over seeds; of a structural probe, the layer with the least held-out loss.

    probe, weights ("" where none), name, measure, score, spread (standard deviation over seeds), seeds, layer, ...
    """
    table = probes.assign(weights=probes["weights"].fillna("").astype("object"))
    rows = [_summary(table, probe, weights, name) for (probe, weights), name in NAMES.items()]
    return pd.DataFrame([row for row in rows if row])


def compare_probes(probes: pd.DataFrame, surveyed: str) -> View:
    """Table 3: UAS without punctuation of every probe, and the published score."""
    origin = source("probes")
    published = published_probes().fillna({"weights": ""}).rename(columns={"score": "published_score"})
    published["measure"] = published["measure"].replace("uas", "uas_no_punct")
    frame = summarise_probes(probes).merge(published, "left", ["probe", "weights", "measure"])
    frame["layer"] = frame["layer"].astype("Int64")
    noted = (frame["probe"].isin(list(origin.notes)) & (frame["weights"] == "pretrained")).tolist()
    shown = {
        column: cell
        for column, cell in _COLUMNS.items()
        if column.title not in _OPTIONAL or frame[_OPTIONAL[column.title]].notna().any()
    }
    title = titled("Probes, in %: words whose head is found, without punctuation (UAS)", surveyed, origin)
    return make_view(frame, shown, title, _notes(frame, noted), noted=noted)


def _summary(table: pd.DataFrame, probe: str, weights: str, name: str) -> dict[str, Any]:
    rows = table[(table["probe"] == probe) & (table["weights"] == weights)]
    if rows.empty:
        return {}
    layer = None
    if rows["layer"].notna().any():
        losses = rows.groupby("layer", as_index=False)["held_out_loss"].mean()
        layer = int(losses.loc[losses["held_out_loss"].argmin(), "layer"])
        rows = rows[rows["layer"] == layer]
    measure = "uuas" if probe.startswith("structural") or probe == "adjacent_words" else "uas_no_punct"
    summary = {"probe": probe, "weights": weights, "name": name, "measure": measure, "seeds": len(rows), "layer": layer}
    summary |= {"score": float(rows[measure].mean()), "spread": float(rows[measure].std())}
    summary |= {column: float(rows[column].mean()) for column in _MEANS}
    return summary | {"count": int(rows["count"].iloc[0])}


def _notes(frame: pd.DataFrame, noted: list[bool]) -> tuple[str, ...]:
    trained = int(frame["seeds"].max())
    uniform = frame["uniform_bits"].dropna().head(1) / 1000
    optional = {
        "selectivity": "selectivity: UAS less that of the same probe on random heads by word type, over five draws.",
        "mdl_bits": f"kbits: online code length of the training heads; the uniform code takes {uniform.sum():.1f}.",
        "layer": "layer: chosen on held-out training sentences; 0 is the embeddings' output.",
    }
    return (
        f"score: mean over {trained} seeds, sd over them; the interval resamples sentences."
        if trained > 1
        else "The interval resamples sentences.",
        "as tree: heads of the likeliest tree with one root, not each word's likeliest.",
        *(note for column, note in optional.items() if frame[column].notna().any()),
        OTHERS,
        *(
            f"* {name}: {source('probes').notes[probe]}"
            for name, probe, star in zip(frame["name"], frame["probe"], noted, strict=True)
            if star
        ),
    )
