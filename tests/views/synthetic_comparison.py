"""A comparison of two made-up atlases in memory, of any shape: what its figures, sentences and page are made from."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from headatlas.commands.compare.differences import Side, difference_table
from headatlas.commands.compare.matching import (
    Crossing,
    behaviour_match_table,
    cross_distance_table,
    head_match_table,
    match_summary,
)
from headatlas.models.stacks import HeadShape
from headatlas.results.atlas import Comparison
from headatlas.results.tables import TABLES
from tests.views.synthetic_atlas import similarity_tables
from tests.views.synthetic_tables import entropy, positions, token_kinds

LABELS = (((1, 1, "[SEP]", 0.9),), ())


def synthetic_comparison(
    folder: Path,
    a: Sequence[int],
    b: Sequence[int],
    matched: bool = True,
    names: Sequence[str] = ("base", "tuned"),
    labels: Sequence[Sequence[tuple[int, int, str, float]]] = LABELS,
) -> Comparison:
    """Heads of each layer of A and of B; `labels`: layer, head, label and strength of each side's behaviours."""
    side_a, side_b = made_up_side(a, 0), made_up_side(b, 1)
    tables = {"differences": difference_table(side_a, side_b, dict.fromkeys(side_a.tables, True))}
    distances = {}
    if matched:
        crossing = Crossing(HeadShape(tuple(a)), HeadShape(tuple(b)))
        rows = torch.randn(5, sum(a) + sum(b), 5, generator=torch.Generator().manual_seed(0))
        crossing.add(torch.softmax(3 * rows, -1))
        matches = head_match_table(crossing)
        across = cross_distance_table(crossing)
        tables |= {"head_matches": matches, "cross_distances": across}
        tables["match_summary"] = match_summary(matches, crossing, 1.0)
        distances = {((la, ha), (lb, hb)): value for la, ha, lb, hb, value, _ in across.itertuples(index=False)}
    own = [pd.DataFrame(rows, columns=["layer", "head", "label", "strength"]) for rows in labels]
    tables["behaviour_matches"] = behaviour_match_table(*own, distances)
    manifest: dict[str, Any] = {
        end: {"model": {"name": name, "class": "BertModel", "heads": list(heads)}}
        for end, name, heads in zip("ab", names, (a, b), strict=True)
    }
    manifest |= {"corpora": {"text": {"same_files": False, "paired": False}}, "settings_that_differ": {"seed": [0, 1]}}
    manifest |= {"without_intervals": {}, "not_compared": {"head_map": "no meaning"}, "rows_in_one_only": {}}
    manifest["distances"] = {"segments": 5, "tokens": 25} if matched else {"skipped": "no common tokenizer."}
    sides = [
        {**side.tables, **_map_of(heads, seed), "behaviours": behaviours.assign(evidence="so it is")}
        for seed, (side, heads, behaviours) in enumerate(zip((side_a, side_b), (a, b), own, strict=True))
    ]
    conformed = {name: TABLES[name].conform(table) for name, table in tables.items()}
    comparison = Comparison(folder)
    comparison.__dict__ |= {"tables": conformed, "manifest": manifest, "sides": (sides[0], sides[1])}
    return comparison


def made_up_side(heads: Sequence[int], seed: int) -> Side:
    tables = {"positions": positions(heads), "token_kinds": token_kinds(heads), "entropy": entropy(heads)}
    random = np.random.default_rng(seed)
    for table in tables.values():
        table["value"] = random.uniform(size=len(table))
    relations = ["all", "det", "nsubj"]
    tables["dependency_best"] = pd.DataFrame(
        {"relation": relations, "layer": 1, "head": 1, "accuracy": random.uniform(size=3), "held_out": 0.1, "count": 9}
    ).assign(direction="dependent_to_head", baseline=0.5)
    replicates = {
        name: table["accuracy" if "accuracy" in table else "value"].to_numpy()
        + 0.01 * random.normal(size=(40, len(table)))
        for name, table in tables.items()
    }
    return Side(tables, replicates, tuple(heads))


def _map_of(heads: Sequence[int], seed: int) -> dict[str, pd.DataFrame]:
    every = [(layer, head) for layer, number in enumerate(heads, 1) for head in range(1, number + 1)]
    return {"head_map": similarity_tables(every, np.random.default_rng(seed))["head_map"]}
