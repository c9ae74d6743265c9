"""Claims that other commands answer: they hold on tables made to their words, not once these are untrue, and not for
random weights."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from headatlas.commands.reproduce.claims import CLAIMS, judge
from headatlas.commands.reproduce.claims.surface import layer_means

SOURCE = "ablate of bert on a.tsv"


def verdict(claim, tables, random=None):
    """The verdict on a claim, by its number and the first words of its item."""
    number, words = claim
    (found,) = (one for one in CLAIMS if one.number == number and one.item.startswith(words))
    return judge(found, tables, {"fresh": random or {}, "shuffled": {}}, {})


def label_rows(lead=0.2, p_holm=0.001, change_p=0.001, **further):
    row = {"source": SOURCE, "task": "probe", "label": "any label", "lead": lead, "null_low": -0.1, "null_high": 0.1}
    row |= {"mean_labelled": 0.3 + lead, "mean_others": 0.3, "labelled": 20, "others": 100} | further
    measures = {"importance": p_holm, "|change| of uas": 0.5, "|change| of log_likelihood": change_p}
    return {"label_importance": pd.DataFrame([row | {"measure": name, "p_holm": p} for name, p in measures.items()])}


def sets(spearman=0.6, low=0.4, p_holm=0.001, halves=0.8):
    row = {"source": SOURCE, "set_a": "probe", "set_b": "probe:spoken", "spearman": spearman, "low": low, "high": 0.7}
    return {"set_agreement": pd.DataFrame([row | {"null_high": 0.1, "p_holm": p_holm, "halves": halves}])}


def translation(needed=3, low=-0.5, task="translation"):
    p_values = [0.001] * needed + [0.5] * (20 - needed)
    lows = [-3.0] * needed + [low] * (20 - needed)
    rows = {"source": SOURCE, "task": task, "measure": "bleu", "p_value": p_values, "low": lows, "high": 0.5}
    return {"any_ablation": pd.DataFrame(rows)}


def curves(alone=0.78, random=0.6, width=0.01, none=0.5, task="easy"):
    """Removal curves of one task: all heads .8, half of them, none."""
    at_half = {"importance": 0.76, "remove_one": alone, "random": random, "most_important_first": 0.5}
    rows = [
        {"source": SOURCE, "task": task, "measure": "accuracy", "order": order, "share": share, "score": score}
        for order, half in at_half.items()
        for share, score in ((0.0, 0.8), (0.5, half), (1.0, none))
    ]
    table = pd.DataFrame(rows)
    return table.assign(heads_removed=24 * table["share"], low=table["score"] - width, high=table["score"] + width)


def removable(counts=(18, 12, 6), scores=(0.9, 0.7, 0.5), width=2, measure="accuracy"):
    """Tasks that bear so many removals, and are so often right."""
    keys = [{"source": SOURCE, "task": f"task {n}", "measure": measure, "order": "importance"} for n in range(3)]
    heads = [
        key | {"heads_removable": count, "low": count - width, "high": count + width, "heads": 24}
        for key, count in zip(keys, counts, strict=True)
    ]
    curve = [key | {"heads_removed": 0, "share": 0.0, "score": score} for key, score in zip(keys, scores, strict=True)]
    return {"removable_heads": pd.DataFrame(heads), "removal_curve": pd.DataFrame(curve)}


TASKS = ("pos", "dependencies", "entities", "coreference")
MEASURES = {"centre_of_gravity": "centre", "expected_layer": "expected", "kl": "kl"}


def layers(values=None, width=0.1, settled=True, tasks=TASKS, lead_low=0.1, withheld=""):
    """A summary and, if settled is not None, the order of all pairs. values: measure -> value of each task."""
    values = {"centre_of_gravity": (3, 4, 5, 6), "expected_layer": (2, 3, 4, 5), "kl": (0.5, 0.4, 0.2, 0.1)} | (
        values or {}
    )
    summary = pd.DataFrame({"task": tasks, "mix": "layers", "lead_low": lead_low})
    order = []
    for measure, stem in MEASURES.items():
        numbers = np.array(values[measure][: len(tasks)], dtype=float)
        half = width * (0.2 if measure == "kl" else 1)
        summary = summary.assign(**{measure: numbers, f"{stem}_low": numbers - half, f"{stem}_high": numbers + half})
        for first in range(len(tasks)):
            for second in range(first + 1, len(tasks)):
                below, above = sorted((first, second), key=lambda n: numbers[n])
                order.append({"measure": measure, "mix": "layers", "below": tasks[below], "above": tasks[above]})
    tables = {"layer_summary": summary.assign(source=SOURCE)}
    if settled is not None:
        tables["layer_order"] = pd.DataFrame(order).assign(settled=settled, withheld=withheld, source=SOURCE)
    return tables


def keyphrases(lead=0.1, lead_low=0.05, p_value=0.001, controls=("random_heads", "uniform", "length", "position")):
    leads = [{"method": name, "lead": 0.1, "lead_low": 0.05, "p_value": 0.001} for name in (*controls, "tf_idf")]
    leads[0] |= {"lead": lead, "lead_low": lead_low, "p_value": p_value}
    cut = {"k": 10, "report_words": "exclude", "source": SOURCE}
    scores = [{"method": "heads", "f1": 0.4}]
    return {
        "keyphrase_leads": pd.DataFrame(leads).assign(**cut),
        "keyphrase_scores": pd.DataFrame(scores).assign(**cut),
    }


def kinds(sep=0.5, layers=12, width=0.01):
    """Shares of kinds of tokens; narrow or wide intervals."""
    shares = {"cls": 0.1, "sep": sep, "period_comma": 0.08}
    rows = [
        {"layer": layer, "head": 1, "kind": kind, "value": share, "low": share - width, "high": share + width}
        for layer in range(1, layers + 1)
        for kind, share in shares.items()
    ]
    return pd.DataFrame(rows).assign(source=SOURCE)


def both_surveys(**ours):
    return {"token_kinds": kinds(**ours), "any_token_kinds": kinds(layers=6)}


def pruned(parameters=0.9, time=0.8):
    row = {"source": SOURCE, "removed": [["1-1"]], "parameters.before": 100.0, "parameters.after": 100 * parameters}
    return {"prune_manifest": pd.DataFrame(row | {"speed.model.ratio": time})}


PIPELINE, SPREAD, BY_IMPORTANCE = (37, "tasks"), (38, "syntax"), (42, "pruning by")
IN_RANDOM = layers(dict.fromkeys(MEASURES, (4, 4, 4, 4)), settled=None)
CASES = {
    (8, "the uncased"): {
        "reproduced": (both_surveys(), both_surveys(sep=0.02)),
        "differs": [both_surveys(sep=0.7), both_surveys(width=0.1)],
        "met": both_surveys(),
        "too little": both_surveys(sep=np.nan),
    },
    (35, "heads with"): {
        "reproduced": (label_rows(), None),
        "differs": [
            label_rows(lead=-0.2), label_rows(p_holm=0.03), label_rows(change_p=0.03),
            {"label_importance": pd.concat([label_rows()["label_importance"],
                                            label_rows(p_holm=0.5, task="other")["label_importance"]])},
        ],
        "too little": label_rows(lead=np.nan),
    },
    PIPELINE: {
        "reproduced": (layers(), IN_RANDOM),
        "differs": [
            layers(settled=False),
            layers({"expected_layer": (5, 4, 3, 2)}),
            layers({"centre_of_gravity": (3, 4, 6, 5)}),
        ],
        "met": layers(settled=None),
        "too little": layers(tasks=TASKS[:2]),
    },
    SPREAD: {
        "reproduced": (layers(), IN_RANDOM),
        "differs": [layers(settled=False), layers({"kl": (0.1, 0.2, 0.4, 0.5)})],
        "met": layers(settled=None),
        "too little": layers(tasks=("pos", "dependencies", "entities")),
    },
    (39, "few heads"): {
        "reproduced": (translation(), translation(needed=0)),
        "differs": [translation(needed=0), translation(needed=8), translation(low=-1.5)],
        "met": translation(),
        "too little": translation(task="masked-lm"),
    },
    (40, "heads that"): {
        "reproduced": (sets(), sets(low=0.1)),
        "differs": [sets(low=0.2), sets(p_holm=0.02)],
        "met": sets(),
        "too little": sets(halves=np.nan),
    },
    (41, "harder"): {
        "reproduced": (removable(), removable(counts=(6, 12, 18))),
        "differs": [removable(counts=(6, 12, 18)), removable(counts=(18, 6, 12)), removable(width=8)],
        "met": removable(),
        "too little": removable(counts=(18, 12, np.nan)),
    },
    BY_IMPORTANCE: {
        "reproduced": ({"removal_curve": curves()}, {"removal_curve": curves(random=0.77)}),
        "differs": [
            {"removal_curve": table}
            for table in (
                curves(alone=0.66), curves(random=0.77), curves(width=0.1),
                pd.concat([curves(), curves(random=0.9, task="hard")]),
            )
        ],
        "met": {"removal_curve": curves()},
        "too little": {"removal_curve": curves(none=0.9)},
    },
    (42, "pruning makes"): {
        "reproduced": (pruned(), None),
        "differs": [pruned(parameters=1), pruned(time=0.97)],
    },
    (43, "heads find"): {
        "reproduced": (keyphrases(), None),
        "differs": [keyphrases(lead_low=-0.01), keyphrases(lead=-0.1, lead_low=-0.2), keyphrases(p_value=0.02)],
        "too little": keyphrases(controls=("uniform", "length")),
    },
}  # fmt: skip
MEETABLE = [claim for claim, case in CASES.items() if "met" in case]


@pytest.mark.parametrize("claim", CASES, ids=str)
def test_it_holds_beyond_its_control(claim):
    tables, random = CASES[claim]["reproduced"]
    check = verdict(claim, tables, random)
    assert check.verdict == "reproduced", check
    assert check.ours


@pytest.mark.parametrize(
    ("claim", "place"), [(claim, place) for claim in CASES for place in range(len(CASES[claim]["differs"]))], ids=str
)
def test_it_differs_if_untrue_or_uncertain(claim, place):
    assert verdict(claim, CASES[claim]["differs"][place], CASES[claim]["reproduced"][1]).verdict == "differs"


@pytest.mark.parametrize("claim", MEETABLE, ids=str)
def test_what_the_control_meets_or_lacks_is_not_decided(claim):
    tables = CASES[claim]["reproduced"][0]
    met, lacking = verdict(claim, tables, CASES[claim]["met"]), verdict(claim, tables)
    assert (met.verdict, met.met_by) == ("not decided", "fresh")
    assert (lacking.verdict, lacking.missing) == ("not decided", "random weights were not run")


@pytest.mark.parametrize("claim", [claim for claim, case in CASES.items() if "too little" in case], ids=str)
def test_too_little_is_not_run(claim):
    check = verdict(claim, CASES[claim]["too little"])
    assert check.verdict == "not run"
    assert "--results of headatlas" in check.missing


def test_every_claim_of_other_commands_is_put_to_the_test():
    waiting = {(claim.number, claim.item) for claim in CLAIMS if claim.lacking.startswith("--results")}
    assert len(waiting) == len(CASES)
    assert {number for number, _ in waiting} == {8, 35, 37, 38, 39, 40, 41, 42, 43}


def test_random_weights_count_in_order_only_tasks_that_they_solve():
    unsolved = layers(settled=None, lead_low=0)
    assert verdict(PIPELINE, layers(), unsolved).verdict == "reproduced"
    assert verdict(PIPELINE, layers(), layers(settled=None, width=2)).verdict == "reproduced"


def test_pairs_that_are_not_compared_do_not_count():
    assert verdict(PIPELINE, layers(settled=False, withheld="trained on 800 and 497 targets")).verdict == "not run"
    tables = layers()
    order = tables["layer_order"]
    with_entities = (order["below"] == "entities") | (order["above"] == "entities")
    apart = order.assign(withheld=np.where(with_entities, "why", ""), settled=~with_entities)
    check = verdict(PIPELINE, tables | {"layer_order": apart}, IN_RANDOM)
    assert check.verdict == "reproduced"
    assert "3 of 3 pairs" in check.ours


def test_models_of_unlike_depth_are_compared_at_the_same_share_of_it():
    """The lower half of either model attends to [SEP], the upper half does not."""
    ours, theirs = (
        table.assign(**{end: table[end] * np.where(table["layer"] > table["layer"].max() / 2, 0, 1) for end in ENDS})
        for table in both_surveys().values()
    )
    tables = {"token_kinds": ours, "any_token_kinds": theirs}
    assert len(layer_means(ours, kind="sep")) != len(layer_means(theirs, kind="sep"))
    assert verdict((8, "the uncased"), tables, both_surveys(sep=0.02)).verdict == "reproduced"
    upside_down = ours.assign(layer=13 - ours["layer"])
    assert verdict((8, "the uncased"), tables | {"token_kinds": upside_down}).verdict == "differs"


ENDS = ("value", "low", "high")
