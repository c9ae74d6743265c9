"""Small tables of dependencies and coreference as a survey writes them, and an atlas folder that holds them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from headatlas.engine.run_folder import write_manifest
from headatlas.results.atlas import Atlas
from headatlas.results.folder import write_tables

TYPES = ("all", "pronoun", "proper", "nominal")
UD = ("all", "obj", "nmod:poss", "aux:pass", "mark", "case", "nummod", "cc")


def dependency_best(relations: tuple[str, ...] = UD) -> pd.DataFrame:
    rows = [
        (
            relation,
            1000 - n,
            3,
            n + 1,
            "dependent_to_head",
            0.5 + n / 100,
            0.48,
            0.52,
            0.49,
            0.4,
            -2,
            0.38,
            0.42,
            0.39,
            0.001,
        )
        for n, relation in enumerate(relations)
    ]
    columns = "relation count layer head direction accuracy low high held_out baseline baseline_offset"
    table = pd.DataFrame(
        rows, columns=[*columns.split(), "baseline_low", "baseline_high", "baseline_held_out", "p_value"]
    )
    table.loc[1, "direction"] = "head_to_dependent"
    missing = dict.fromkeys(("control", "control_p", "tag_baseline"), float("nan"))
    return table.assign(with_special=0.3, tag_rule="", p_corrected=0.001, **missing)


def dependencies() -> pd.DataFrame:
    columns = ["relation", "layer", "head", "direction", "correct", "count", "accuracy", "low", "high"]
    return pd.DataFrame([("obj", 1, 1, "dependent_to_head", 3, 4, 0.75, 0.5, 0.9)], columns=columns).assign(
        with_special=0.5
    )


def coreference() -> pd.DataFrame:
    """Head 2-2 is best for all and most types, 1-2 for proper mentions; other candidates are out of the way."""
    rows = [
        (layer, head, kind, candidates, correct, 100, correct / 100, correct / 100 - 0.05, correct / 100 + 0.05)
        for layer, head in ((1, 1), (1, 2), (2, 1), (2, 2))
        for place, kind in enumerate(TYPES)
        for candidates in ("preceding", "mentions", "words")
        for correct in [_correct(layer, head, kind, candidates) + place]
    ]
    columns = ["layer", "head", "mention_type", "candidates", "correct", "count", "accuracy", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def _correct(layer: int, head: int, kind: str, candidates: str) -> int:
    if candidates != "words":
        return 90 - 10 * layer
    return 80 if (layer, head, kind) == (1, 2, "proper") else 20 * layer + head


def coreference_best() -> pd.DataFrame:
    ranked = coreference().sort_values("accuracy", ascending=False, kind="stable")
    best = ranked.groupby(["mention_type", "candidates"]).head(1).drop(columns="correct")
    best = best.assign(held_out=best["accuracy"] - 0.01, p_nearest=0.01, p_head_match=0.5, p_sieves=1.0)
    return best.assign(p_corrected=0.9, control=float("nan"), control_p=float("nan"))


def coreference_baselines() -> pd.DataFrame:
    rows = [(name, kind, 30, 100, 0.3, 0.2, 0.4) for name in ("nearest", "head_match", "sieves") for kind in TYPES]
    return pd.DataFrame(rows, columns=["baseline", "mention_type", "correct", "count", "accuracy", "low", "high"])


def all_tables() -> dict[str, pd.DataFrame]:
    return {
        "dependencies": dependencies(),
        "dependency_best": dependency_best(),
        "coreference": coreference(),
        "coreference_best": coreference_best(),
        "coreference_baselines": coreference_baselines(),
    }


def write_atlas(folder: Path, tables: Mapping[str, pd.DataFrame], parsed_by: str | None = None) -> Atlas:
    rows = write_tables(folder, tables)
    corpora = {
        "treebank": {"files": [{"file": "somewhere/dev.conllu"}], "label_set": "universal", "parsed_by": parsed_by},
        "coreference": {"files": [{"file": "somewhere/dev.conll"}]},
    }
    manifest = {"command": "survey", "complete": True, "model": {"name": "tiny", "heads": [4, 4]}, "corpora": corpora}
    write_manifest(folder, manifest | {"tables": rows})
    return Atlas(folder)
