"""The sentences say what the tables say."""

import numpy as np
import pandas as pd
import pytest

from headatlas.studies import STUDIES
from headatlas.views.words import findings as said


def findings(tables):
    """What is said where the other tables of the same studies are empty."""
    beside = [
        table for study in STUDIES.values() for table in study.tables if {t.name for t in study.tables} & set(tables)
    ]
    return [str(one) for one in said.findings({table.name: table.from_rows([]) for table in beside} | tables)]


RULES = pd.DataFrame(
    [("head_match", "all", 0.55), ("nearest", "all", 0.3)], columns=["baseline", "mention_type", "accuracy"]
)


def test_heads_are_counted_and_named():
    rows = [
        *((1, 1, -1, 0.9, 0.8), (1, 2, -1, 0.2, 0.1), (2, 1, -1, 0.51, 0.48)),
        *((1, 1, 1, 0.1, 0), (1, 2, 1, 0.5, 0), (2, 1, 1, 0.0, 0)),
    ]
    table = pd.DataFrame(rows, columns=["layer", "head", "offset", "value", "low"]).assign(expected=0.008)
    assert findings({"positions": table}) == [
        "2 heads put more than half of their attention on the previous token (1-1, 2-1; whole 95 % CI above half: 1; "
        "uniform attention would put 0.8 % there).",
        "No head puts more than half of its attention on the next token (uniform attention would put 0.8 % there).",
    ]
    untrained = findings({"positions": table.assign(control=[0.6, 0.7, 0.8, 0, 0, 0])})
    assert "(1-1, 2-1; untrained weights 3; whole" in untrained[0]


def test_many_heads_are_cut_short():
    table = pd.DataFrame([(1, head, -1, 0.6, 0.6) for head in range(1, 12)], columns=POSITIONS)
    assert "1-8 and 3 more" in findings({"positions": table})[0]


POSITIONS = ["layer", "head", "offset", "value", "low"]


def test_states_are_counted_beside_untrained_heads_and_name_none():
    weights = pd.DataFrame(
        [(1, 1, 0.05, 0.06, 0.08), (1, 2, 0.09, 0.11, 0.9), (2, 1, 0.3, 0.4, 1.0)],
        columns=["layer", "head", "value", "high", "highest"],
    )
    assert findings({"max_attention": weights.assign(control=0.02)}) == [
        "2 of 3 heads put at most 10 % of their attention on any one token, on average over rows (untrained weights 3; "
        "whole 95 % CI below: 1; more in single rows: 1 of these)."
    ]
    entropy = pd.DataFrame(
        [(1, 1, "all", 4.5, 4.8), (2, 1, "all", 2.0, 4.8)], columns=["layer", "head", "source", "value", "expected"]
    )
    assert findings({"entropy": entropy.assign(control=4.8)})[0] == (
        "1 of 2 heads attend broadly: their entropy is over 78 % of that of uniform attention (untrained weights 2)."
    )


def by_layer(key, values, **columns):
    """The table of layers: values by kind, one for each layer, with intervals of 0.02 to either side."""
    rows = [(layer, kind, value) for kind, of_kind in values.items() for layer, value in enumerate(of_kind, 1)]
    table = pd.DataFrame(rows, columns=["layer", key, "value"])
    return table.assign(low=table["value"] - 0.02, high=table["value"] + 0.02, **columns)


def kinds_table(sep):
    values = {"cls": 0.1, "sep": sep, "period_comma": 0.1, "other": 0.2, "sep_to_sep": 0.9, "other_to_sep": sep}
    rows = [(1, 1, kind, value, value, 0.016) for kind, value in values.items()]
    return pd.DataFrame(rows, columns=["layer", "head", "kind", "value", "low", "expected"])


def test_sep_and_its_own_rows_layer_by_layer():
    layers = by_layer("kind", {"sep": [0.2, 0.6, 0.59], "sep_to_sep": [0.1, 0.9, 0.5]}, control=0.016)
    sentences = findings({"token_kinds": kinds_table(0.6), "token_kinds_layers": layers})
    assert sentences == [
        "1 head puts more than half of its attention on [SEP] (1-1; uniform attention would put 1.6 % there).",
        "Attention to [SEP], mean over the heads of a layer, is highest in layer 2: 60 %, 38 times what uniform "
        "attention would give (95 % CI 58 to 62 %; uniform attention 1.6 %; untrained weights 1.6 %; not clearly "
        "less in layer 3; layers 1 to 3: 20 (18 to 22), 60 (58 to 62), 59 (57 to 61) %).",
        "[SEP] itself puts more than half of its attention on [SEP] in 1 of 3 layers (untrained weights 0; whole 95 "
        "% CI above half in layer 2; layers 1 to 3: 10 (8.0 to 12), 90 (88 to 92), 50 (48 to 52) %; uniform "
        "attention 1.6 %).",
    ]


@pytest.mark.parametrize(("kinds", "places"), [(("cls", "sep"), "[CLS] and [SEP]"), (("first",), "the first token")])
def test_heads_that_rest(kinds, places):
    rows = [(1, head, kind, value, value - 0.1, 0.02, 0.1) for head, value in enumerate((0.2, 0.7, 0.35), 1)
            for kind in (*kinds, "resting")]  # fmt: skip
    table = pd.DataFrame(rows, columns=["layer", "head", "kind", "value", "low", "expected", "control"])
    assert findings({"token_kinds": table, "token_kinds_layers": by_layer("kind", {"other": [0.1]})}) == [
        f"2 of 3 heads rest: more than 30 % of their attention goes to {places} (1-2, 1-3; uniform attention 0; "
        "untrained weights 0; whole 95 % CI above 30 %: 1; if attention were uniform, 2.0 % of it would go there)."
    ]


def test_in_a_causal_model_nothing_is_said_of_the_next_token():
    rows = [(1, 1, offset, value, value, value) for offset, value in ((-1, 0.1), (0, 0.2), (1, 0.0))]
    table = pd.DataFrame(rows, columns=["layer", "head", "offset", "value", "low", "expected"])
    (sentence,) = findings({"positions": table})
    assert "previous token" in sentence


def test_what_the_input_lacks_is_not_spoken_of():
    assert not any("SEP" in sentence for sentence in findings({"token_kinds": kinds_table(np.nan)}))


def test_entropy_by_layer_and_from_cls():
    entropy = pd.DataFrame([(1, 1, "all", 3.0, 4.8)], columns=["layer", "head", "source", "value", "expected"])
    layers = by_layer("source", {"all": [4.0, 3.0, 3.5], "cls_less_all": [0.5, -0.3, 0.01]}, control=np.nan)
    assert findings({"entropy": entropy, "entropy_layers": layers})[1:] == [
        "Entropy, mean over the heads of a layer, is highest in layer 1, 4.00 nats, and lowest in layer 2, 3.00 "
        "(uniform attention 4.80; layers 1 to 3: 4.00 (3.98 to 4.02), 3.00 (2.98 to 3.02), 3.50 (3.48 to 3.52)).",
        "[CLS] attends more broadly than all tokens do in 1 of 3 layers and less broadly in 1; in the last the "
        "difference is +0.01 nats (95 % CI -0.01 to 0.03; more in layer 1; less in layer 2; layers 1 to 3: 0.50 "
        "(0.48 to 0.52), -0.30 (-0.32 to -0.28), 0.01 (-0.01 to 0.03)).",
    ]


def gradient_sentences(ratios, rises):
    tables = {"gradients": pd.DataFrame(columns=["kind"])}
    tables["gradients_layers"] = by_layer("kind", {"sep_ratio": ratios}, control=1.0)
    tables["token_kinds_layers"] = by_layer("kind", {"sep_rise": rises}, control=0.0)
    return [sentence for sentence in findings(tables) if "|dL/da|" in sentence]


def test_gradients_are_small_from_a_layer_on_where_attention_rises():
    first, onset = gradient_sentences([1.0, 0.9, 0.2, 0.3], [np.nan, 0.05, 0.4, 0.1])
    assert first == (
        "|dL/da| towards [SEP], mean over the heads of a layer, is 1.00 times that towards other tokens in layer 1 and "
        "0.30 times in layer 4 (95 % CI 0.28 to 0.32; untrained weights 1.00; layers 1 to 4: 1.00 (0.98 to 1.02), 0.90 "
        "(0.88 to 0.92), 0.20 (0.18 to 0.22), 0.30 (0.28 to 0.32))."
    )
    assert onset == (
        "From layer 3 on, |dL/da| towards [SEP] is small: 20 % of that towards other tokens in this layer, surely "
        "below 50 % in all later ones; attention to [SEP] rises most in this layer too (95 % CI 18 to 22 %; "
        "untrained weights 100 %; rise of 40 points, 95 % CI 38 to 42)."
    )
    elsewhere = gradient_sentences([1.0, 0.9, 0.2, 0.3], [np.nan, 0.4, 0.05, 0.1])[1]
    assert "rises most in layer 2 (" in elsewhere
    undecided = gradient_sentences([1.0, 0.9, 0.2, 0.3], [np.nan, 0.4, 0.39, 0.1])[1]
    assert "rises" not in undecided


@pytest.mark.parametrize(
    "ratios",
    [
        pytest.param([1.0, 0.2, 0.2, 0.9], id="large again in the last layer"),
        pytest.param([0.2, 0.2, 0.2, 0.2], id="small from the start"),
        pytest.param([1.0, 1.0, 1.0, 0.49], id="perhaps not small"),
    ],
)
def test_no_onset_is_claimed_where_there_is_none(ratios):
    assert len(gradient_sentences(ratios, [np.nan, 0.4, 0.1, 0.1])) == 1


BEST = ["relation", "layer", "head", "accuracy", "held_out", "baseline", "baseline_held_out", "p_corrected"]


def best(*rows):
    table = pd.DataFrame(rows, columns=BEST).assign(low=0.1, high=0.2, with_special=0.1, direction="dependent_to_head")
    return table.assign(tag_rule="", tag_baseline=np.nan, control=np.nan, control_p=np.nan)


def antecedents(held_out, p_corrected):
    row = {"mention_type": "all", "candidates": "preceding", "layer": 3, "head": 5, "accuracy": 0.76, "low": 0.7}
    more = {"high": 0.8, "held_out": held_out, "p_corrected": p_corrected, "control": np.nan, "control_p": np.nan}
    return findings({"coreference_best": pd.DataFrame([row | more]), "coreference_baselines": RULES})


def test_heads_as_classifiers_are_named_only_where_they_surely_beat_their_rules():
    every = ("all", 3, 2, 0.42, 0.4, 0.3, 0.3, 0.001)
    rows = [("det", 3, 9, 0.81, 0.8, 0.6, 0.6, 0.001), ("obj", 3, 1, 0.71, 0.7, 0.3, 0.3, 0.001)]
    rows += [("flat", 2, 12, 0.77, 0.77, 0.75, 0.75, 0.35), ("acl", 2, 1, 0.6, 0.3, 0.5, 0.5, 0.001)]
    said = findings({"dependency_best": best(every, *rows)})
    assert said[0].startswith("No single head parses: the best one, 3-2, finds the heads of 42 % of all words (95 % CI")
    assert said[1].startswith("2 of 4 relations have a head that beats every fixed offset (p < 0.01, corrected")
    assert [sentence.split(" (")[0] for sentence in said[2:4]] == [
        "Head 3-1 finds the head of 71 % of obj dependents",
        "Head 3-9 finds the head of 81 % of det dependents",
    ]
    (sentence, *_) = antecedents(0.75, 0.001)
    assert sentence == (
        "Among the mentions before, head 3-5 attends most to an antecedent for 76 % of mentions (95 % CI 70 to 80 %; "
        "nearest with the same head word 55 %; nearest mention 30 %; held out, choosing on the other half, 75 %; "
        "corrected p = 0.001)."
    )
    assert all("3-5" not in sentence for sentence in antecedents(0.75, 0.02))


def test_nothing_to_hold_out_is_said_in_words():
    every = ("all", 3, 9, 0.56, np.nan, 0.44, np.nan, 1.0)
    assert findings({"dependency_best": best(every)}) == [
        "The treebank is too small to hold half of it out: the best head finds the heads of 56 % of all words "
        "(best fixed offset 44 %; both chosen on the same words).",
        "No relation has enough words for a best head (see --least-count).",
    ]
    rare = ("flat", 1, 1, 0.5, np.nan, 0.5, np.nan, np.nan)
    assert findings({"dependency_best": best(every, rare)})[1] == (
        "No relation is tested: none of 1 with enough words for a best head occurs in both halves of the treebank."
    )
    tested = ("obj", 3, 1, 0.7, 0.7, 0.3, 0.3, 0.001)
    assert findings({"dependency_best": best(every, rare, tested)})[1] == (
        "1 of 2 relations has a head that beats every fixed offset (p < 0.01, corrected over heads and relations; 1 "
        "not tested)."
    )
    assert "too few documents to hold any out" in antecedents(np.nan, 0.001)[0]
    keyphrases = {"keyphrase_heads": pd.DataFrame({"layer": [1], "head": [1]}), "keyphrase_best": pd.DataFrame()}
    assert findings(keyphrases) == [
        "No head can be chosen for keyphrases: there are too few documents to choose it on half of them."
    ]


def distances(**measures):
    table = pd.DataFrame({"measure": list(measures), "distance": "js", "value": list(measures.values())})
    return table.assign(control=np.nan)


def of_layers(within, between, p_value):
    return distances(within_layers=within, between_layers=between, p_layers=p_value)


def test_heads_of_a_layer_are_closer_only_where_a_test_says_so():
    claim = "eads of one layer are closer to each other than to heads of other layers: mean distance "
    layers = pd.DataFrame(
        [(1, 1, 0.1, 1, 0.01), (2, 2, 0.1, 1, 0.3)], columns=["layer_a", "layer_b", "value", "count", "p_adjusted"]
    )
    (closer,) = findings({"similarity": of_layers(0.1, 0.2, 0.001), "layer_distances": layers})
    assert closer == (
        f"H{claim}0.1 within layers, 0.2 between (p = 0.001; taken singly, 1 of 2 layers with adjusted p < 0.05: "
        "layer 1)."
    )
    (too,) = findings({"similarity": of_layers(0.1, 0.2, 0.001).assign(control=[0.1, 0.2, 0.01])})
    assert too.endswith("untrained weights p = 0.010, so training does not explain it).")
    for within, between, p_value in ((0.1, 0.2, 0.06), (0.2, 0.1, 0.9), (0.2, 0.1, 0.001)):
        (sentence,) = findings({"similarity": of_layers(within, between, p_value)})
        assert sentence.startswith(f"There is no evidence that h{claim}")
    assert not findings({"similarity": of_layers(0.1, 0.2, np.nan)})


@pytest.mark.parametrize(
    ("silhouette", "p_value", "verdict"),
    [
        (0.4, 0.01, "The heads fall into clear clusters"),
        (0.12, 0.01, "The heads fall into clusters, but not clearly"),
        (0.4, 0.05, "There is no evidence that the heads fall into clusters"),
    ],
)
def test_clusters_need_a_test_and_a_clear_silhouette(silhouette, p_value, verdict):
    table = distances(clusters=8, silhouette=silhouette, cloud_silhouette=0.05, p_clusters=p_value)
    assert findings({"similarity": table}) == [
        f"{verdict}: 8 clusters have a silhouette of {silhouette:.2f} (points of the same spread without clusters "
        f"0.05; p = {p_value:.3f})."
    ]


@pytest.mark.parametrize(("heads", "sample"), [(512, ""), (1024, " (tested on 512 heads, sampled at random)")])
def test_a_test_of_clusters_on_a_sample_says_so(heads, sample):
    known = {"clusters": 8, "silhouette": 0.4, "cloud_silhouette": 0.05, "p_clusters": 0.005}
    table = distances(**known, heads_tested=512, heads_left_out=0)
    [said] = findings({"similarity": table, "head_map": pd.DataFrame({"x": np.zeros(heads)})})
    assert said.endswith(f"p = 0.005{sample}).")


def test_the_most_similar_layers_need_a_test_and_the_outermost_are_ranked():
    rows = [(1, 1, 0.0, 1, 0.9), (1, 2, 0.1, 1, 0.01), (2, 3, 0.2, 1, 0.5), (1, 3, 0.3, 1, 1.0)]
    table = pd.DataFrame(rows, columns=["layer_a", "layer_b", "value", "count", "p_adjusted"])
    beside = distances()
    ends = "The first and last layers rank 3rd of 3 pairs of layers by similarity (adjusted p = 1.000)."
    assert findings({"layer_distances": table, "similarity": beside}) == [
        "Layers 1 and 2 are the most similar pair of layers, mean distance of their heads 0.1 (mean of all pairs 0.20; "
        "adjusted p = 0.010).",
        ends,
    ]
    assert findings({"layer_distances": table.assign(p_adjusted=1.0), "similarity": beside}) == [ends]
