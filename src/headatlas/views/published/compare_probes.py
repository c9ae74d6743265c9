"""Probes with the paper's table 3 beside them: means over seeds, their spread, and intervals over sentences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from headatlas.results.view import Column, View
from headatlas.views.published.compare import OTHERS, OURS, PUBLISHED, Row, cells_of, interval, percent, text, titled
from headatlas.views.published.tables import published_probes, source

NAMES = {
    ("right_branching", ""): "right-branching",
    ("left_branching", ""): "left-branching",
    ("distances", ""): "distances",
    ("distances_words", ""): "distances + words",
    ("attention", "random"): "attention, random weights",
    ("attention_words", "random"): "attention + words, random weights",
    ("attention", "pretrained"): "attention",
    ("attention_words", "pretrained"): "attention + words",
    ("structural_distance", "random"): "structural probe (UUAS), random weights",
    ("structural_distance", "pretrained"): "structural probe (UUAS)",
}
"""The rows in order: probe and the weights it reads -> its name for readers."""

_MEANS = ("uas_tree_no_punct", "low", "high", "selectivity", "mdl_bits", "uniform_bits", "count")
_COLUMNS: dict[Column, Callable[[Row], str]] = {
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
    cells = cells_of(frame.assign(noted=noted), shown)
    title = titled("Probes, in %: words whose head is found, without punctuation (UAS)", surveyed, origin)
    return View(frame, tuple(shown), cells, title, _notes(frame, noted))


def _summary(table: pd.DataFrame, probe: str, weights: str, name: str) -> dict[str, Any]:
    rows = table[(table["probe"] == probe) & (table["weights"] == weights)]
    if rows.empty:
        return {}
    layer = None
    if rows["layer"].notna().any():
        losses = rows.groupby("layer", as_index=False)["held_out_loss"].mean()
        layer = int(losses.loc[losses["held_out_loss"].argmin(), "layer"])
        rows = rows[rows["layer"] == layer]
    measure = "uuas" if probe.startswith("structural") else "uas_no_punct"
    summary = {"probe": probe, "weights": weights, "name": name, "measure": measure, "seeds": len(rows), "layer": layer}
    summary |= {"score": float(rows[measure].mean()), "spread": float(rows[measure].std())}
    summary |= {column: float(rows[column].mean()) for column in _MEANS}
    return summary | {"count": int(rows["count"].iloc[0])}


def _notes(frame: pd.DataFrame, noted: list[bool]) -> tuple[str, ...]:
    trained = int(frame["seeds"].max())
    uniform = frame["uniform_bits"].dropna().head(1) / 1000
    optional = {
        "selectivity": "selectivity: UAS less that of the same probe on random heads by word type.",
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
