"""Figure 1's heads, chosen from tables small enough to check by eye."""

import numpy as np
import pandas as pd

from headatlas.views.words.patterns import CharacteristicHead, characteristic_heads


def frame(column, rows):
    return pd.DataFrame(rows, columns=["layer", "head", column, "value"]).assign(count=10)


POSITIONS = frame(
    "offset",
    [
        *((1, 1, -1, 0.1), (1, 2, -1, 0.8), (2, 1, -1, 0.3), (2, 2, -1, 0.2)),
        *((1, 1, 1, 0.2), (1, 2, 1, 0.9), (2, 1, 1, 0.72), (2, 2, 1, 0.1)),
        *((1, 1, 0, 1.0), (1, 2, 0, 1.0), (2, 1, 0, 1.0), (2, 2, 0, 1.0)),
    ],
)
KINDS = frame("kind", [(1, 1, "sep", 0.95), (2, 2, "sep", 0.6), (2, 2, "cls", 1.0), (2, 2, "period_comma", np.nan)])
ENTROPY = pd.DataFrame(
    [(1, 1, "all", 4.0, 4.8), (1, 2, "all", 1.0, 4.8), (2, 2, "cls", 4.7, 4.8), (2, 1, "all", np.nan, 4.8)],
    columns=["layer", "head", "source", "value", "expected"],
)


def test_the_strongest_head_of_each_pattern_no_head_twice():
    assert characteristic_heads({"positions": POSITIONS, "token_kinds": KINDS, "entropy": ENTROPY}) == [
        CharacteristicHead(1, 1, "Head 1-1 attends broadly (83 % of uniform entropy)"),
        CharacteristicHead(1, 2, "Head 1-2 attends to the previous token (80 %)"),
        CharacteristicHead(2, 1, "Head 2-1 attends to the next token (72 %)"),
        CharacteristicHead(2, 2, "Head 2-2 attends to [SEP] (60 %)"),
    ]


def test_only_tables_that_exist():
    assert characteristic_heads({}) == []
    assert [(one.layer, one.head) for one in characteristic_heads({"token_kinds": KINDS})] == [(1, 1), (2, 2)]


def test_a_pattern_that_no_head_shows_is_left_out():
    assert characteristic_heads({"token_kinds": frame("kind", [(1, 1, "sep", 0.07)])}) == []


def test_breadth_is_relative_to_uniform():
    table = pd.DataFrame(
        [(1, 1, "all", 4.0, 5.0), (1, 2, "all", 3.0, 3.1)],
        columns=["layer", "head", "source", "value", "expected"],
    )
    assert characteristic_heads({"entropy": table})[0].head == 2


def test_ties_go_to_the_first_head_and_labels_are_the_models():
    table = frame("kind", [(2, 1, "sep", 0.5), (1, 3, "sep", 0.5), (1, 2, "sep", 0.5)])
    assert characteristic_heads({"token_kinds": table}, {"sep": "{eos}"}) == [
        CharacteristicHead(1, 2, "Head 1-2 attends to {eos} (50 %)")
    ]
