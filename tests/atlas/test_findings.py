"""The sentences say what the tables say."""

import numpy as np
import pandas as pd

from headatlas.atlas.findings import findings


def test_heads_are_counted_and_named():
    rows = [(1, 1, -1, 0.9), (1, 2, -1, 0.2), (2, 1, -1, 0.51), (1, 1, 1, 0.1), (1, 2, 1, 0.5), (2, 1, 1, 0.0)]
    table = pd.DataFrame(rows, columns=["layer", "head", "offset", "value"])
    assert findings({"positions": table}) == [
        "2 heads put more than half of the attention on the previous token (1-1, 2-1)",
        "no head puts more than half of the attention on the next token",
    ]


def test_many_heads_are_cut_short():
    table = pd.DataFrame([(1, h, 0.05, 0.2) for h in range(1, 12)], columns=["layer", "head", "value", "highest"])
    [sentence] = findings({"max_attention": table})
    assert sentence.startswith("11 heads put at most 10 %")
    assert sentence.endswith("1-8 and 3 more)")


def kinds_table(sep):
    values = {"cls": 0.1, "sep": sep, "period_comma": 0.1, "other": 0.2, "sep_to_sep": 0.9, "other_to_sep": sep}
    rows = [(1, 1, kind, value) for kind, value in values.items()]
    return pd.DataFrame(rows, columns=["layer", "head", "kind", "value"])


def test_sep_and_its_own_rows():
    sentences = findings({"token_kinds": kinds_table(0.6)})
    assert sentences[0] == (
        "1 head puts more than half of the attention on [SEP] (1-1); the layer mean is highest in layer 1 (60%)"
    )
    assert sentences[-1] == "of heads that attend mostly to [SEP], the [SEP] rows themselves put 90% there"


def test_a_model_without_sep():
    assert "the input has no [SEP]" in findings({"token_kinds": kinds_table(np.nan)})


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
        "entropy from all tokens: 4.00 nats in layer 1, 3.00 in layer 2 (uniform: 4.80)",
        "|dL/da| towards [SEP] is 2.00 times that towards other tokens in layer 1, 0.10 times in layer 2",
        "|dL/da| towards [CLS] is 0.50 times that towards other tokens in layer 1, 0.01 times in layer 2",
    ]


def test_heads_as_classifiers_are_quoted_held_out():
    columns = ["relation", "layer", "head", "held_out", "baseline_held_out", "p_value"]
    rows = [("all", 3, 2, 0.4, 0.3, 0.001), ("det", 3, 9, 0.8, 0.6, 0.001), ("obj", 3, 1, 0.7, 0.3, 0.001)]
    rows += [("flat", 2, 12, 0.77, 0.75, 0.35), ("acl", 2, 1, 0.3, 0.5, 0.001)]
    assert findings({"dependency_best": pd.DataFrame(rows, columns=columns)}) == [
        "no single head parses: the best, 3-2, finds the heads of 40% of all words (held out), a fixed offset 30%",
        "2 of 4 relations have a head that beats every fixed offset (p < 0.01); furthest above it, held out: "
        "obj 3-1 70% (offset: 30%), det 3-9 80% (offset: 60%)",
    ]
    coreference = pd.DataFrame(
        [("all", "preceding", 3, 5, 0.76, 0.75), ("all", "words", 1, 1, 0.5, 0.5)],
        columns=["mention_type", "candidates", "layer", "head", "accuracy", "held_out"],
    )
    assert findings({"coreference_best": coreference}) == [
        "head 3-5 picks an antecedent for 76% of mentions among those before them (75% held out)"
    ]
