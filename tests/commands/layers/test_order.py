"""Orders of tasks: what is withheld and why, and what shuffled labels may never earn."""

import numpy as np
import pytest

from headatlas.commands.layers.jobs import Drawn
from headatlas.commands.layers.options import layers
from headatlas.commands.layers.order import order_rows
from headatlas.corpora.sample import sample_treebank
from headatlas.views.words.findings import findings
from nulls import seeds

FINE = {"mix": "layers", "seeds": 5, "lead_low": 0.2, "train_targets": 100, "updates": 50}


def summary(task, trainings, shuffled=(3.0, 3.1, 2.9, 3.0, 3.1), **changes):
    """A task with its centre of gravity in every training."""
    row = FINE | {"task": task, "centre_of_gravity": float(np.mean(trainings))} | changes
    return row, {"centre_of_gravity": Drawn(list(trainings), [], 30, list(shuffled))}


LOW, HIGH = (1.0, 1.1, 0.9, 1.0, 1.05), (2.0, 2.2, 2.1, 1.9, 2.0)


def test_a_clear_difference_is_settled_and_the_lower_task_comes_first():
    (row,) = order_rows([summary("b", HIGH), summary("a", LOW)])
    assert (row["below"], row["above"], row["withheld"]) == ("a", "b", "")
    apart = np.subtract(HIGH, LOW)
    half = 2.7764451 * apart.std(ddof=1) * np.sqrt(1 + 1 / 5)  # Student's t with four degrees of freedom
    assert (row["low"], row["high"]) == pytest.approx((apart.mean() - half, apart.mean() + half))
    assert row["settled"]
    assert row["p_holm"] == row["p_value"] < 0.01
    assert not row["shuffled_settled"]


def test_p_values_are_corrected_over_pairs():
    rows = order_rows([summary("a", LOW), summary("b", HIGH), summary("c", (1.0, 1.1, 1.0, 0.9, 1.0))])
    assert sum(row["settled"] for row in rows) == 2
    assert max(row["p_holm"] / row["p_value"] for row in rows) == pytest.approx(3)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"lead_low": -0.01}, "b does not beat its majority answer"),
        ({"lead_low": float("nan")}, "b does not beat its majority answer"),
        ({"train_targets": 1000}, "trained on 100 and 1,000 targets"),
        ({"updates": 60}, "trained on 50 and 60 updates"),
        ({"seeds": 2}, "fewer than 3 trainings"),
    ],
)
def test_no_order_without_equal_trainings_and_a_better_score_than_the_majority(changes, why):
    (row,) = order_rows([summary("a", LOW), summary("b", HIGH, **changes)])
    assert row["withheld"] == why
    assert not row["settled"]
    assert "difference" not in row


def test_what_shuffled_labels_earn_too_is_not_settled():
    (row,) = order_rows([summary("a", LOW, shuffled=LOW), summary("b", HIGH, shuffled=HIGH)])
    assert row["p_holm"] < 0.05
    assert row["shuffled_settled"]
    assert not row["settled"]


def with_shuffled_labels(path, seed):
    """The embedded sample with tags permuted over its words and relations over its arcs; the trees stay."""
    lines = sample_treebank().read_text(encoding="utf-8").split("\n")
    rows = [line.split("\t") for line in lines]
    words = [row for row in rows if len(row) == 10 and row[0].isdigit()]
    rng = np.random.default_rng(seed)
    for column, chosen in ((3, words), (4, words), (7, [row for row in words if row[6] != "0"])):
        for row, value in zip(chosen, rng.permutation([row[column] for row in chosen]).tolist(), strict=True):
            row[column] = value
    sentences = "\n".join("\t".join(row) for row in rows).split("\n\n")
    for part, chosen in (("train", sentences[:60]), ("eval", sentences[60:120])):
        (path / f"{part}.conllu").write_text("\n\n".join(chosen) + "\n\n", encoding="utf-8")
    return {part: path / f"{part}.conllu" for part in ("train", "eval")}


@pytest.mark.weights
@pytest.mark.parametrize("seed", seeds(2))
def test_nothing_is_settled_for_permuted_labels(seed, tmp_path):
    files = with_shuffled_labels(tmp_path, seed)
    options = {"updates": 120, "width": 32, "bootstrap": 100, "max_tokens": 64, "device": "cpu", "progress": False}
    found = layers("embedded", task=["pos", "dependencies"], out=tmp_path / "out", seed=seed, **files, **options)
    order = found.tables["layer_order"]
    assert not order["settled"].any()
    assert (order["withheld"] != "").all()
    said = list(map(str, findings(found.tables)))
    assert sum("so nothing is said of its layers" in sentence for sentence in said) == 2
    assert not any("below" in sentence or "localised" in sentence.lower() for sentence in said)
