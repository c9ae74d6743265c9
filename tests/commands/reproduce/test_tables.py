"""The paper's tables as checks: the paper's own figures are reproduced, others differ, absent ones are missing."""

from __future__ import annotations

import pandas as pd
import pytest

from headatlas.commands.reproduce.checks import coreference_checks, dependency_checks, probe_checks
from headatlas.views.published.compare import compare_dependencies
from headatlas.views.published.tables import published_coreference, published_dependencies, published_probes
from tests.views.published.surveyed_tables import all_tables, coreference_baselines, dependency_best


def as_published() -> dict[str, pd.DataFrame]:
    """Tables of an atlas whose figures are the paper's."""
    table = published_dependencies().query("source == 'table 1'").reset_index(drop=True)
    best = dependency_best(tuple(table["relation"]))
    for column in ("layer", "head", "direction", "accuracy", "baseline"):
        best[column] = table[column].astype(best[column].dtype)
    best["baseline_offset"] = table["offset"].astype(int)
    return {"dependency_best": compare_dependencies(best, "", universal=False).frame}


def test_the_papers_own_table_reproduces_itself():
    checks = list(dependency_checks(as_published(), ""))
    own = [check for check in checks if check.place == "table 1"]
    assert len(own) == 15 * 4
    assert {check.verdict for check in own} == {"reproduced"}
    notebook = {check.item: check for check in checks if check.place == "notebook"}
    assert notebook["auxpass: accuracy of the best head"].verdict == "differs"  # 82.5 in the table, 94.1 there
    assert notebook["auxpass: accuracy of the best head"].our_value == pytest.approx(82.5)
    assert notebook["cop: accuracy of the best head"].missing == "--ptb-dev has too few cop, or none"


def test_one_point_and_another_head_are_seen():
    tables = as_published()
    best = tables["dependency_best"]
    dobj, det, prep = (best.index[best["relation"] == name][0] for name in ("dobj", "det", "prep"))
    best.loc[dobj, ["accuracy", "low", "high"]] = [0.7, 0.6, 0.9]  # an interval too wide to say anything
    best.loc[det, "head"] = 3
    best.loc[prep, "baseline_offset"] = 1
    found = {check.item: check for check in dependency_checks(tables, "") if check.place == "table 1"}
    assert found["dobj: accuracy of the best head"].verdict == "differs"
    assert found["det: best head"].ours == "8-3 d->h"
    differing = {item for item, check in found.items() if check.verdict == "differs"}
    assert differing == {"dobj: accuracy of the best head", "det: best head", "prep: offset of the baseline"}


def test_universal_relations_stand_beside_theirs():
    tables = {"dependency_best": compare_dependencies(dependency_best(), "", universal=True).frame}
    found = {check.item: check for check in dependency_checks(tables, "")}
    ours = dependency_best().set_index("relation")["accuracy"]
    assert found["dobj: accuracy of the best head"].our_value == pytest.approx(100 * ours["obj"])
    assert found["det: accuracy of the best head"].verdict == "input missing"


def test_coreference_is_that_of_the_head_that_is_best_for_all():
    found = {check.item: check for check in coreference_checks(all_tables(), "")}
    rules = coreference_baselines().set_index(["baseline", "mention_type"])["accuracy"]
    assert found["nearest mention: proper mentions"].our_value == pytest.approx(100 * rules["nearest", "proper"])
    assert found["nearest mention: proper mentions"].verdict == "reproduced"  # 30 and 29
    assert found["same head word: proper mentions"].verdict == "differs"  # 30 and 67
    assert found["best head: proper mentions"].our_value == pytest.approx(
        44.0
    )  # head 2-2, not 1-2, which is best there
    assert found["neural system: all mentions"].verdict == "input missing"
    assert found["best head"].ours == "2-2"
    assert len(found) == len(published_coreference()) + 1


def test_probes_are_means_over_seeds():
    published = published_probes().fillna({"weights": ""})
    rows = [
        {"probe": row["probe"], "weights": row["weights"], "score": row["score"] + shift}
        for row in published.to_dict("records")
        for shift in (-0.02, 0.02)
    ]
    frame = pd.DataFrame(rows)
    frame["uas_no_punct"] = frame["uuas"] = frame["score"]
    nothing = ["layer", "held_out_loss", "uas_tree_no_punct", "selectivity", "mdl_bits", "uniform_bits", "low", "high"]
    frame = frame.assign(count=10, **dict.fromkeys(nothing, float("nan")))
    checks = list(probe_checks({"probes": frame}, ""))
    assert {check.verdict for check in checks} == {"reproduced"}
    for check in checks:
        assert check.our_value == pytest.approx(check.published_value)
    without = list(probe_checks({"probes": frame[frame["probe"] != "attention_words"]}, ""))
    assert [check.missing for check in without if check.verdict == "input missing"] == ["--glove", "--glove"]


def test_without_tables_everything_is_missing():
    checks = [
        *dependency_checks({}, "--ptb-dev"),
        *coreference_checks({}, "--conll2012"),
        *probe_checks({}, "--ptb-train"),
    ]
    assert {check.verdict for check in checks} == {"input missing"}
    assert {check.missing for check in checks if check.place == "table 1"} == {"--ptb-dev"}
    assert all(check.published for check in checks)
