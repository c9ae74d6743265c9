"""The sentences say what the tables say."""

import numpy as np
import pandas as pd

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
    rows = [(1, 1, -1, 0.9), (1, 2, -1, 0.2), (2, 1, -1, 0.51), (1, 1, 1, 0.1), (1, 2, 1, 0.5), (2, 1, 1, 0.0)]
    table = pd.DataFrame(rows, columns=["layer", "head", "offset", "value"])
    assert findings({"positions": table}) == [
        "2 heads put more than half of their attention on the previous token (1-1, 2-1).",
        "No head puts more than half of its attention on the next token.",
    ]


def test_many_heads_are_cut_short():
    table = pd.DataFrame([(1, h, 0.05, 0.2) for h in range(1, 12)], columns=["layer", "head", "value", "highest"])
    [sentence] = findings({"max_attention": table})
    assert sentence.startswith("11 heads put at most 10 % of their attention on any one token, on average (")
    assert sentence.endswith("1-8 and 3 more).")


def kinds_table(sep):
    values = {"cls": 0.1, "sep": sep, "period_comma": 0.1, "other": 0.2, "sep_to_sep": 0.9, "other_to_sep": sep}
    rows = [(1, 1, kind, value) for kind, value in values.items()]
    return pd.DataFrame(rows, columns=["layer", "head", "kind", "value"])


def test_sep_and_its_own_rows():
    sentences = findings({"token_kinds": kinds_table(0.6)})
    assert sentences[0] == (
        "1 head puts more than half of its attention on [SEP] (1-1; mean over heads highest in layer 1: 60 %)."
    )
    assert sentences[-1] == ("In heads that attend mostly to [SEP], [SEP] itself puts 90 % of its attention on [SEP].")


def test_a_model_without_sep():
    assert "The input has no [SEP]." in findings({"token_kinds": kinds_table(np.nan)})


def test_entropy_and_gradients():
    entropy = pd.DataFrame(
        [(1, 1, "all", 4.0, 4.8), (2, 1, "all", 3.0, 4.8), (1, 1, "cls", np.nan, np.nan)],
        columns=["layer", "head", "source", "nats", "uniform_nats"],
    )
    gradients = pd.DataFrame(
        [
            (1, 1, "sep", 0.2),
            (1, 1, "other", 0.1),
            (1, 1, "cls", 0.05),
            (2, 1, "sep", 0.01),
            (2, 1, "other", 0.1),
            (2, 1, "cls", 0.001),
        ],
        columns=["layer", "head", "kind", "value"],
    )
    assert findings({"entropy": entropy, "gradients": gradients}) == [
        "Entropy from all tokens: 4.00 nats in layer 1, 3.00 in layer 2 (uniform attention: 4.80).",
        "|dL/da| towards [SEP] is 2.00 times that towards other tokens in layer 1, 0.10 times in layer 2.",
        "|dL/da| towards [CLS] is 0.50 times that towards other tokens in layer 1, 0.01 times in layer 2.",
    ]


def test_heads_as_classifiers_are_quoted_held_out():
    columns = ["relation", "layer", "head", "held_out", "baseline_held_out", "p_value"]
    rows = [("all", 3, 2, 0.4, 0.3, 0.001), ("det", 3, 9, 0.8, 0.6, 0.001), ("obj", 3, 1, 0.7, 0.3, 0.001)]
    rows += [("flat", 2, 12, 0.77, 0.75, 0.35), ("acl", 2, 1, 0.3, 0.5, 0.001)]
    assert findings({"dependency_best": pd.DataFrame(rows, columns=columns)}) == [
        "No single head parses: the best one, 3-2, finds the heads of 40 % of all words (held out; best fixed offset "
        "30 %).",
        "2 of 4 relations have a head that beats every fixed offset (p < 0.01). Furthest ahead, held out: "
        "obj 3-1 70 % (offset 30 %), det 3-9 80 % (offset 60 %).",
    ]
    coreference = pd.DataFrame(
        [("all", "preceding", 3, 5, 0.76, 0.75), ("all", "words", 1, 1, 0.5, 0.5)],
        columns=["mention_type", "candidates", "layer", "head", "accuracy", "held_out"],
    )
    assert findings({"coreference_best": coreference, "coreference_baselines": RULES}) == [
        "Head 3-5 picks an antecedent among the preceding mentions for 76 % of mentions (held out 75 %; nearest with "
        "the same head word 55 %)."
    ]


BEST = ["relation", "layer", "head", "accuracy", "held_out", "baseline", "baseline_held_out", "p_value"]


def test_nothing_to_hold_out_is_said_in_words():
    every = ("all", 3, 9, 0.56, np.nan, 0.44, np.nan, 1.0)
    alone = findings({"dependency_best": pd.DataFrame([every], columns=BEST)})
    assert alone == [
        "The treebank is too small to hold half of it out: the best head, 3-9, finds the heads of 56 % of all words "
        "(best fixed offset 44 %; both chosen on the same words).",
        "No relation has enough words for a best head (see --least-count).",
    ]
    rare = ("det", 1, 1, 0.5, np.nan, 0.5, np.nan, 1.0)
    assert findings({"dependency_best": pd.DataFrame([every, rare], columns=BEST)})[1] == (
        "No relation is tested: none of 1 with enough words for a best head occurs in both halves of the treebank."
    )
    tested = ("obj", 3, 1, 0.7, 0.7, 0.3, 0.3, 0.001)
    assert findings({"dependency_best": pd.DataFrame([every, rare, tested], columns=BEST)})[1].startswith(
        "1 of 2 relations has a head that beats every fixed offset (p < 0.01, 1 not tested). Furthest"
    )
    columns = ["mention_type", "candidates", "layer", "head", "accuracy", "held_out"]
    coreference = pd.DataFrame([("all", "preceding", 1, 1, 1.0, np.nan)], columns=columns)
    assert findings({"coreference_best": coreference, "coreference_baselines": RULES}) == [
        "Head 1-1 picks an antecedent among the preceding mentions for 100 % of mentions (too few documents to hold "
        "any out; nearest with the same head word 55 %)."
    ]
    keyphrases = {"keyphrase_heads": pd.DataFrame({"layer": [1], "head": [1]}), "keyphrase_best": pd.DataFrame()}
    assert findings(keyphrases) == [
        "No head can be chosen for keyphrases: there are too few documents to choose it on half of them."
    ]


def distances(within, between, p_value):
    measures = {"within_layers": within, "between_layers": between, "p_layers": p_value}
    return pd.DataFrame({"measure": list(measures), "distance": "js", "value": list(measures.values())})


def test_heads_of_a_layer_are_closer_only_where_a_test_says_so():
    claim = "eads of one layer are closer to each other than to heads of other layers: mean distance "
    (closer,) = findings({"similarity": distances(0.1, 0.2, 0.001)})
    assert closer == f"H{claim}0.1 within layers, 0.2 between (p = 0.001)."
    for within, between, p_value in ((0.1, 0.2, 0.06), (0.2, 0.1, 0.9), (0.2, 0.1, 0.001)):
        (sentence,) = findings({"similarity": distances(within, between, p_value)})
        assert sentence.startswith(f"There is no evidence that h{claim}")
    assert not findings({"similarity": distances(0.1, 0.2, np.nan)})


def test_the_most_similar_layers_and_the_rank_of_the_outermost():
    rows = [(1, 1, 0.0), (1, 2, 0.1), (2, 3, 0.2), (1, 3, 0.3)]
    table = pd.DataFrame(rows, columns=["layer_a", "layer_b", "value"])
    assert findings({"layer_distances": table}) == [
        "Layers 1 and 2 are the most similar pair; the first and last layers rank 3rd of 3."
    ]
