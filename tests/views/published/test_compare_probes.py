"""Table 3 beside the paper's: means over seeds, the layer chosen without looking at the scores, published figures."""

from __future__ import annotations

import pandas as pd
import pytest

from headatlas.results.tables import TABLES
from headatlas.views.published.compare import compare_probes, summarise_probes
from headatlas.views.published.tables import published_probes


def probes_table():
    columns = TABLES["probes"].names
    rows = [{"probe": "right_branching", "uas_no_punct": 0.3, "low": 0.28, "high": 0.32, "count": 100}]
    for seed, score in enumerate((0.6, 0.62)):
        usual = {"seed": seed, "low": score - 0.02, "high": score + 0.02, "count": 100}
        rows.append(usual | {"probe": "attention_words", "weights": "pretrained", "uas_no_punct": score})
        rows.append(usual | {"probe": "attention_words", "weights": "random", "uas_no_punct": score / 2})
        for layer, (loss, uuas) in enumerate([(0.5, 0.9), (0.4, 0.7), (0.6, 0.8)]):
            rows.append(
                usual
                | {"probe": "structural_distance", "weights": "pretrained", "layer": layer}
                | {"uuas": uuas, "held_out_loss": loss}
            )
    return pd.DataFrame(rows).reindex(columns=columns).astype({"layer": "Int64", "seed": "Int64"})


def test_the_published_table_is_as_printed():
    table = published_probes().fillna("").set_index(["probe", "weights"])["score"]
    assert table["attention_words", "pretrained"] == 0.77
    assert table["attention_words", "random"] == 0.30
    assert table["attention", "pretrained"] == 0.61
    assert table["distances_words", ""] == 0.58
    assert table["right_branching", ""] == 0.26
    assert table["structural_distance", "pretrained"] == 0.80


def test_seeds_are_averaged_and_the_layer_is_chosen_by_held_out_loss():
    rows = summarise_probes(probes_table()).set_index(["probe", "weights"])
    assert rows.loc[("attention_words", "pretrained"), "score"] == pytest.approx(0.61)
    assert rows.loc[("attention_words", "pretrained"), "spread"] == pytest.approx(0.01414, abs=1e-4)
    assert rows.loc[("attention_words", "pretrained"), "seeds"] == 2
    structural = rows.loc[("structural_distance", "pretrained")]
    assert structural["layer"] == 1
    assert structural["score"] == pytest.approx(0.7)


def test_ours_and_theirs_stand_side_by_side():
    view = compare_probes(probes_table(), "tiny on dev.conllu")
    cells = {row[0]: row for row in view.cells}
    assert cells["attention + words*"][1] == "61.0"
    assert cells["attention + words*"][-1] == "77"
    assert cells["right-branching"][-1] == "26"
    assert cells["attention + words, random weights"][-1] == "30"
    assert "selectivity" not in [column.title for column in view.columns]
    assert any("78.0" in note for note in view.notes)
    assert view.title[2].endswith("(Clark et al. 2019, table 3)")
