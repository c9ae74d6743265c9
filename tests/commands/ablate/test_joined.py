"""What is made of the tables of ablations: removable heads, agreement of sets, labels and importance, sentences."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from headatlas.commands.ablate.curves import heads_removable
from headatlas.commands.ablate.findings import agreement_findings, curve_findings, head_findings, label_findings
from headatlas.commands.ablate.labelled import ANY, digests_of, label_importance, labels_by_name
from headatlas.commands.ablate.run import agreement_of_sets, changes_of_sets

LAYERS, HEADS = 4, 12
PLACES = [(layer, head) for layer in range(1, LAYERS + 1) for head in range(1, HEADS + 1)]
DRAWING = {"seed": 0, "resamplings": 499}


def ablation(changes, task="masked-lm", p_value=1.0):
    layers, heads = zip(*PLACES, strict=True)
    frame = {"task": task, "measure": "log_likelihood", "layer": layers, "head": heads, "change": changes}
    low, high = np.asarray(changes) - 0.1, np.asarray(changes) + 0.1
    return pd.DataFrame(frame).assign(value=np.abs(changes), p_value=p_value, low=low, high=high)


def removable_by_loop(curve, removed, tolerance):
    bound = curve[0] - tolerance * (curve[0] - curve[-1])
    for place in range(1, len(curve)):
        if curve[place] <= bound:
            share = (curve[place - 1] - bound) / (curve[place - 1] - curve[place])
            return removed[place - 1] + share * (removed[place] - removed[place - 1])
    raise AssertionError


def test_removable_heads_are_where_a_line_meets_the_bound():
    rng = np.random.default_rng(0)
    curves = rng.normal(size=(20, 6, 2))
    curves[:, -1] = -4.0
    removed = [0, 3, 5, 8, 10, 12]
    found = heads_removable(curves, removed, 0.2)
    for number in range(20):
        for measure in range(2):
            expected = removable_by_loop(curves[number, :, measure], removed, 0.2)
            assert found[number, measure] == pytest.approx(expected)


def test_a_score_that_does_not_fall_has_no_number_of_heads():
    rising = np.array([[[0.0], [0.2], [0.1]]])
    assert np.isnan(heads_removable(rising, [0, 1, 2], 0.05)).all()


@pytest.fixture
def rng():
    return np.random.default_rng(4)


def test_sets_agree_where_heads_do_and_not_where_only_layers_do(rng):
    of_layer = np.repeat(rng.normal(size=LAYERS), HEADS) * 5
    own = rng.normal(size=len(PLACES))
    summary = {"change_of_halves": 0.8, "harm_measured_by": "log_likelihood"}
    cases = {"heads": own + 0.3 * rng.normal(size=len(PLACES)), "layers": of_layer + rng.normal(size=len(PLACES))}
    rows = {}
    for name, others in cases.items():
        first = own if name == "heads" else of_layer + own
        changes = changes_of_sets(pd.concat([ablation(first), ablation(others, f"masked-lm:{name}")]))
        assert len(changes) == len(PLACES)
        (row,) = agreement_of_sets(changes, {"masked-lm": summary}, **DRAWING).to_dict("records")
        assert row["spearman"] == pytest.approx(spearmanr(first, others)[0])
        assert row["low"] < row["spearman"] < row["high"]
        assert row["halves"] == 0.8
        rows[name] = row
    assert rows["heads"]["p_value"] == 1 / 500
    assert rows["layers"]["spearman"] > 0.6, "layers alone correlate"
    assert rows["layers"]["null_mean"] > 0.6, "and so do heads permuted within them"
    assert rows["layers"]["p_value"] > 0.05


def behaviours(heads, kind="label", label="previous token"):
    layers, numbers = zip(*heads, strict=True)
    return pd.DataFrame({"layer": layers, "head": numbers, "label": label, "kind": kind})


def test_labelled_heads_that_matter_are_found_and_states_are_no_labels(rng):
    labelled = PLACES[::4]
    changes = np.array([-1.0 if place in labelled else 0.0 for place in PLACES]) + 0.1 * rng.normal(size=len(PLACES))
    table = pd.concat([behaviours(labelled), behaviours(PLACES, "state", "broad")])
    assert set(labels_by_name(table)) == {ANY, "previous token"}
    rows = label_importance(ablation(changes), ablation(changes), table, **DRAWING)
    assert set(rows["measure"]) == {"|change| of log_likelihood", "importance"}
    row = rows.iloc[0]
    is_labelled = np.array([place in labelled for place in PLACES])
    expected = np.abs(changes)[is_labelled].mean() - np.abs(changes)[~is_labelled].mean()
    assert row["lead"] == pytest.approx(expected)
    assert row["null_high"] < row["lead"]
    assert row["p_value"] == 1 / 500
    assert (row["labelled"], row["others"]) == (12, 36)
    count, sentence, *_ = map(str, label_findings(rows))
    assert count == "12 of 48 heads have a label in the survey, 36 have none."
    assert "heads with a label matter more than others" in sentence


def test_labels_of_a_layer_whose_heads_all_matter_are_no_finding(rng):
    changes = np.array([-1.0 if layer == 1 else 0.0 for layer, _ in PLACES]) + 0.1 * rng.normal(size=len(PLACES))
    rows = label_importance(ablation(changes), ablation(changes), behaviours(PLACES[:6]), **DRAWING)
    assert (rows["lead"] > 0.5).all()
    assert (rows["p_value"] > 0.05).all()
    assert "do not matter measurably more or less" in str(list(label_findings(rows))[1])


def test_random_labels_are_rarely_significant(rng):
    smallest = []
    for seed in range(60):
        changes = rng.exponential(size=len(PLACES)) + np.repeat(rng.exponential(size=LAYERS), HEADS)
        heads = [PLACES[place] for place in rng.permutation(len(PLACES))[:15]]
        rows = label_importance(ablation(changes), ablation(changes), behaviours(heads), seed=seed, resamplings=199)
        smallest.append(rows["p_holm"].min() <= 0.05)
    assert np.mean(smallest) <= 0.05 + 2.6 * (0.05 * 0.95 / 60) ** 0.5


def test_without_any_label_the_count_is_all_that_is_said(rng):
    rows = label_importance(
        ablation(rng.normal(size=48)), ablation(rng.normal(size=48)), behaviours(PLACES, "state"), **DRAWING
    )
    assert list(map(str, label_findings(rows))) == ["0 of 48 heads have a label in the survey, 48 have none."]


def test_a_survey_that_changed_is_another_setting(tmp_path):
    atlas = SimpleNamespace(folder=tmp_path)
    (tmp_path / "tables").mkdir()
    assert digests_of(None) == digests_of(atlas) == {}
    seen = []
    for head in (1, 2):
        pd.DataFrame({"head": [head]}).to_parquet(tmp_path / "tables" / "dependency_best.parquet")
        seen.append(digests_of(atlas))
    assert [list(digests) for digests in seen] == [["dependency_best"]] * 2
    assert seen[0] != seen[1]


SUMMARY = {"heads": 48, "units": 12, "unit": "example", "findable": 0.312, "tested": 48, "commonest_answer": None}


def test_no_head_is_named_that_is_not_significant():
    (said,) = head_findings(ablation(np.linspace(-0.3, 0.1, 48), p_value=0.01), SUMMARY)
    assert not said.heads
    assert str(said) == (
        "No head is needed and none does harm at p < 0.01, corrected for 48 heads "
        "(with 12 examples, a change of 0.31 nats would be found for half of the heads)."
    )
    (said,) = head_findings(ablation(np.linspace(-0.3, 0.1, 48)), SUMMARY | {"findable": None})
    assert "no change could be found, however large" in str(said)
    (said,) = head_findings(ablation(np.linspace(-0.3, 0.1, 48)), SUMMARY | {"findable": None, "tested": 0})
    assert "no head changes as many as 10 of 12 examples, so none could be tested" in str(said)


def test_no_head_of_a_model_that_cannot_do_the_task_is_named():
    rows = ablation([-0.5, 0.4, -0.3] + [-0.01] * 45)
    rows.loc[:2, "p_value"] = 0.001
    scores = {"log_likelihood": -11.0, "accuracy": 0.3}
    (said,) = head_findings(rows, SUMMARY | {"scores": scores, "commonest_answer": {"accuracy": 0.4, "beaten": False}})
    assert not said.heads
    assert str(said) == (
        "No head is named, since the model is not reliably better than a constant answer: accuracy 30 % "
        "(commonest answer 40 %; 3 heads change log likelihood at p < 0.01)."
    )


def test_needed_and_harmful_heads_are_named():
    rows = ablation([-0.5, 0.4, -0.3] + [-0.01] * 45)
    rows.loc[:2, "p_value"] = 0.001
    needed, harmful, most = head_findings(rows, SUMMARY | {"unit": "document", "units": 61})
    assert needed.heads == ((1, 1), (1, 3))
    assert str(harmful).startswith("1 of 48 heads does harm (1-2; p < 0.01 corrected for 48 heads, 61 documents")
    assert str(most) == (
        "Without head 1-1, log likelihood falls most, by 0.50 nats (95 % CI 0.40 to 0.60; median head 0.01)."
    )


def test_agreement_and_curves_have_their_controls():
    one = {"value": 0.78, "low": 0.6, "high": 0.88}
    summary = {"importance_and_change": one, "importance_and_harm": one, "importance_of_halves": 0.9}
    summary |= {"harm_measured_by": "log_likelihood", "commonest_answer": {"accuracy": 0.4, "beaten": True}}
    (said,) = agreement_findings(summary)
    assert str(said).startswith(
        "Importance agrees with the size of the change of log likelihood: Spearman 0.78 "
        "(95 % CI 0.60 to 0.88; permuted heads 0.00; with the fall alone, signed: 0.78"
    )
    for low, high, verdict in (
        (-0.3, 0.1, "There is no evidence that importance agrees with the size"),
        (-0.3, -0.1, "Importance disagrees with the size"),
    ):
        other = {"value": -0.2, "low": low, "high": high}
        (said,) = agreement_findings(summary | {"importance_and_change": other})
        assert str(said).startswith(f"{verdict} of the change of log likelihood: Spearman -0.20"), said
    guessing = summary | {"commonest_answer": {"accuracy": 0.4, "beaten": False}}
    assert list(agreement_findings(guessing)) == [], "gradients predict the changes of random weights too"
    shares = {"task": "m", "measure": "log_likelihood", "low": -3.0, "high": -1.0}
    curve = pd.DataFrame(
        [
            {"order": order, "share": share, "score": -2 * share, **shares}
            for order in ("importance", "random")
            for share in (0, 0.5, 1)
        ]
    )
    removable = pd.DataFrame(
        [
            {
                "order": order,
                "heads_removable": 9.0,
                "low": 7.0,
                "high": 11.0,
                "tolerance": 0.05,
                "heads": 48,
                "measure": "log_likelihood",
            }
            for order in ("importance", "random")
        ]
    )
    half, count = map(str, curve_findings(curve, removable))
    assert (
        "is -1.00 nats (95 % CI -3.00 to -1.00; all heads 0.00; random orders -1.00 nats, -3.00 nats to"
        in half.replace("-0.00", "0.00")
    )
    assert count == (
        "9 of 48 heads can be removed, least important first, before 5 % of what heads add to log likelihood is lost "
        "(95 % CI 7 to 11; random orders 9, 7 to 11)."
    )
    (_, none) = curve_findings(curve, removable.assign(heads_removable=np.nan))
    assert "does not reliably fall when all heads are removed" in str(none)
