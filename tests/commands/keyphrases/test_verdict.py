"""Who wins is said plainly, and never without its control."""

from __future__ import annotations

import pandas as pd
import pytest

from headatlas.commands.keyphrases.report import ranked_lists, verdicts
from headatlas.commands.keyphrases.tables import KEYPHRASE_LEADS, KEYPHRASE_RANKING, KEYPHRASE_SCORES


def tables(lead, p_value):
    """Scores of ten phrases in which length is the best other method, and its lead and p value."""
    f1 = {"heads": 0.4, "all_heads": 0.3, "random_heads": 0.2, "length": 0.4 - lead, "tf_idf": 0.1}
    scores = [{"report_words": "exclude", "method": name, "k": 10, "f1": value} for name, value in f1.items()]
    ends = {"lead_low": lead - 0.01, "lead_high": lead + 0.01, "p_value": p_value, "count": 50}
    leads = [{**row, "lead": 0.4 - row["f1"], **ends} for row in scores if row["method"] != "heads"]
    for row in scores:
        row |= {"low": row["f1"] - 0.02, "high": row["f1"] + 0.02, "count": 50}
    return KEYPHRASE_SCORES.from_rows(scores), KEYPHRASE_LEADS.from_rows(leads)


@pytest.mark.parametrize(
    ("lead", "p_value", "outcome"),
    [
        (0.03, 0.001, "the chosen heads beat it (+0.030 [+0.020, +0.040], p = 0.001"),
        (-0.03, 0.001, "the chosen heads lose to it (-0.030 [-0.040, -0.020], p = 0.001"),
        (0.03, 0.2, "the chosen heads and it cannot be told apart (+0.030"),
    ],
)
def test_the_sentence_names_the_best_rival_and_who_wins(lead, p_value, outcome):
    without_attention, other_heads = verdicts(*tables(lead, p_value))
    assert f"of the methods without attention length is best with {0.4 - lead:.3f}: {outcome}" in without_attention
    assert "paired over 50 documents, corrected for 4 methods" in without_attention
    assert "of other choices of heads all_heads is best with 0.300" in other_heads


def test_where_too_few_documents_differ_the_sentence_says_so():
    scores, leads = tables(0.03, 1.0)
    sentence, _ = verdicts(scores, leads.assign(lead_low=float("nan"), lead_high=float("nan")))
    assert "cannot be told apart (+0.030, too few differ to test it, paired over" in sentence


def test_only_heads_beyond_both_controls_are_named():
    rows = [
        {"list": "relative_attention", "pooling": "max", "name": f"l_1_h_{head}_max", "value": 0.5 - head / 10,
         "length": 0.1, "shuffled": 0.2, "named": head == 1}
        for head in (1, 2)
    ]  # fmt: skip
    frame = pd.DataFrame(rows).reindex(columns=KEYPHRASE_RANKING.names)
    (line,) = ranked_lists(frame)
    assert "1 heads beat" not in line
    assert line.startswith("relative_attention, max: 1 head beats both controls (length 0.1; best of 2 heads")
    assert line.endswith("0.2): l_1_h_1_max 0.4")
    (line,) = ranked_lists(frame.assign(named=False))
    assert "l_1_h" not in line
