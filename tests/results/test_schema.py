"""The types that tables promise, with every version of pandas."""

import pandas as pd

from headatlas.results.tables import TABLES, conform


def test_a_missing_text_stays_missing_on_disk_too(tmp_path):
    numbers = {column: [1, 2, 3] for column, kind, _ in TABLES["probes"].columns if kind != "str"}
    frame = pd.DataFrame(numbers | {"probe": ["right_branching", "attention", "attention"]})
    frame["weights"] = pd.Series([None, "random", float("nan")], dtype=object)
    typed = conform("probes", frame)
    assert typed["weights"].isna().tolist() == [True, False, True]
    typed.to_parquet(tmp_path / "probes.parquet")
    assert pd.read_parquet(tmp_path / "probes.parquet")["weights"].isna().tolist() == [True, False, True]
    assert frame["weights"].tolist()[:2] == [None, "random"]
