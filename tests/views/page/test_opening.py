"""What the page opens with, as data: which findings, which head, and in which example it is seen."""

import numpy as np
import pandas as pd
import pytest

from headatlas.results.example import Example
from headatlas.studies.findings import Finding
from headatlas.views.page.opening import brief_lead, most_interesting_head, opening_content, place_of, resting_content
from headatlas.views.page.seen import Seen
from tests.views.synthetic_atlas import MENTIONS, TREE, WORDS, synthetic_atlas

OBJECT = Finding("Head 2-1 finds 80 % of objects", 0.8, (0.7, 0.9), {"offset": 0.4}, heads=((2, 1),), study="a")
FAINT = Finding("Head 1-1 finds 41 % of subjects", 0.41, baselines={"offset": 0.4}, heads=((1, 1),), study="b")
LAYER = Finding("Attention is highest in layer 2: 70 %", 0.7, baselines={"uniform": 0.1}, study="kinds")
LABELS = pd.DataFrame(
    [
        (1, 2, "[CLS]", 0.99, "", "label"),
        (2, 2, "broad", 0.95, "", "state"),
        (2, 1, "next token", 0.6, "", "label"),
        (1, 1, "previous token", 0.7, "", "label"),
    ],
    columns=["layer", "head", "label", "strength", "evidence", "kind"],
)


def test_it_opens_on_the_head_with_the_largest_lead():
    assert most_interesting_head({"behaviours": LABELS}, [FAINT, OBJECT, LAYER, "A remark."]) == (2, 1)


def test_without_such_a_finding_it_opens_on_the_clearest_label_that_is_no_resting_and_no_state():
    assert most_interesting_head({"behaviours": LABELS}, [LAYER, "A remark."]) == (1, 1)
    assert most_interesting_head({"behaviours": LABELS.iloc[:2]}, []) is None
    rests = Finding("1 head puts more than half of its attention on [SEP]", 1, heads=((2, 2),), unit="count", most=4)
    assert most_interesting_head({"behaviours": LABELS}, [rests]) == (1, 1)
    assert most_interesting_head({}, [rests]) == (2, 2)
    assert most_interesting_head({}, []) is None


@pytest.mark.parametrize(("head", "place"), [((1, 1), 0), ((2, 2), 4), ((3, 1), 5)])
def test_the_place_of_a_head(head, place):
    assert place_of(head, [3, 2, 4]) == place


def test_findings_come_with_what_their_pictures_need():
    layers = pd.DataFrame({"layer": [1, 2, 1, 2], "kind": ["x", "x", "y", "y"], "value": [0.3, 0.7, 0.1, 0.2]})
    content = opening_content({"kinds_layers": layers}, [FAINT, LAYER, OBJECT, "A remark."], [2, 2], {})
    assert [finding["claim"] for finding in content["leading"]] == [LAYER.claim, OBJECT.claim, FAINT.claim]
    assert [finding.get("layers") for finding in content["leading"]] == [[0.3, 0.7], None, None]
    assert content["leading"][1]["base"] == "95 % CI 70 to 90 %; offset 40 %"
    assert content["head"] == 2


def test_at_least_three_findings_and_more_only_if_they_are_surprising():
    def chosen(*values):
        findings = [
            Finding(f"Head 1-{head}", value, baselines={"offset": 0.2}, heads=((1, head),), study=str(head))
            for head, value in enumerate(values, 1)
        ]
        return len(opening_content({}, findings, [9], {})["leading"])

    assert chosen(0.9, 0.26, 0.25, 0.24, 0.23) == 3
    assert chosen(0.9, 0.8, 0.7, 0.6, 0.21, 0.2) == 4
    assert chosen(0.9, 0.8, 0.7, 0.6, 0.5, 0.4) == 5
    assert chosen(0.9, 0.2) == 1


@pytest.mark.parametrize(
    ("kinds", "special", "on"),
    [
        (["cls", "sep", "other"], {}, "[CLS] and [SEP]"),
        (["cls"], {"cls": "<s>"}, "<s>"),
        (["first", "other"], {"cls": "<s>"}, "the first token"),
    ],
)
def test_where_heads_rest_is_named_as_the_model_names_it(kinds, special, on):
    resting = resting_content({"token_kinds": pd.DataFrame({"kind": kinds, "value": 0.1})}, special)
    assert resting["on"] == on


def test_one_line_names_model_and_corpora(tmp_path):
    line = brief_lead(synthetic_atlas(tmp_path, [3, 4, 2]).manifest)
    assert line == "BertModel, 9 heads in 3 layers · 300 tokens of a.txt · 2 sentences of b.conllu"


def example(weights, **gold):
    """An example without special tokens in which every head of one layer attends as given. weights: [heads, n, n]."""
    maps = np.asarray(weights, dtype=np.float32)[None]
    return Example(list(WORDS), list(range(len(WORDS))), maps, WORDS, **gold)


def pointing(targets):
    """A map in which each word looks at one other word."""
    return np.eye(len(WORDS))[targets]


RIGHT = pointing([2, 2, 3, 3, 6, 6, 3, 3])  # the heads of TREE; the root looks at itself
WRONG = pointing([1, 2, 3, 4, 5, 6, 7, 0])
TABLES = {
    "behaviours": pd.DataFrame(
        [(1, 1, "det", 0.8, "", "label"), (1, 1, "dobj", 0.8, "", "label"), (1, 2, "coreference", 0.7, "", "label")],
        columns=LABELS.columns,
    ),
    "dependency_best": pd.DataFrame(
        [("det", 1, 1, "dependent_to_head"), ("dobj", 1, 1, "dependent_to_head")],
        columns=["relation", "layer", "head", "direction"],
    ),
}


def seen(*examples):
    return Seen(TABLES, [3], examples, "mean")


def test_a_head_is_seen_where_it_is_right_about_what_it_is_known_for():
    chain = pointing([0, 1, 2, 2, 2, 2, 2, 2])  # the pronoun in place 6 looks at the man
    here = seen(
        example([WRONG, WRONG, WRONG], tree=TREE),
        example([RIGHT, WRONG, WRONG], tree=TREE),
        example([WRONG, chain, WRONG], mentions=MENTIONS),
    )
    assert here.best()[:2] == [1, 2]


def test_a_head_that_is_known_for_nothing_is_seen_where_it_rests_least():
    resting = pointing([0] * 8)
    half = (resting + WRONG) / 2
    assert seen(*(example([RIGHT, RIGHT, weights]) for weights in (resting, WRONG, half))).best()[2] == 1


def test_a_finding_leads_to_an_example_and_two_words_that_show_it():
    here = seen(example([WRONG] * 3, tree=TREE), example([RIGHT] * 3, tree=TREE))
    det = here.example_of({"claim": "Head 1-1 finds the head of 80 % of det dependents", "heads": [[1, 1]]})
    assert det["example"] == 1
    assert det["pair"] in ({"from": "The", "to": "man", "ahead": True}, {"from": "a", "to": "dog", "ahead": True})
    dobj = here.example_of({"claim": "Head 1-1 finds the head of 80 % of dobj dependents", "heads": [[1, 1]]})
    assert dobj["pair"] == {"from": "dog", "to": "saw", "ahead": False}
    assert here.example_of({"claim": "Two heads", "heads": [[1, 1], [1, 2]]}) == {}
    assert seen(example([WRONG] * 3, tree=TREE)).example_of({"claim": "Head 1-1 ... det", "heads": [[1, 1]]}) == {}


def test_short_examples_are_preferred():
    long = Example(["x"] * 50, list(range(50)), np.full((1, 3, 50, 50), 0.02, np.float32), ("x",) * 50)
    assert seen(long, example([pointing([0] * 8)] * 3)).best() == [1, 1, 1]
