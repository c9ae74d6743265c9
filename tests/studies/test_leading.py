"""Which findings are read first: those farthest above their best baseline, each about another head."""

from __future__ import annotations

import json
import math

from hypothesis import given
from hypothesis import strategies as st

from headatlas.studies.findings import MOST_OF_STUDY, Finding, leading
from headatlas.views.page.content import page_content
from tests.views.synthetic_atlas import synthetic_atlas

SHARES = st.floats(0, 1)
FINDINGS = st.builds(
    Finding,
    st.just("claim"),
    st.none() | SHARES,
    st.none() | st.tuples(SHARES, SHARES).map(sorted).map(tuple) | st.just((math.nan, math.nan)),
    st.dictionaries(st.sampled_from("ab"), SHARES | st.just(math.nan)),
    st.none() | SHARES,
    st.sampled_from(["share", "count", "number"]),
    st.none() | st.just(2),
    st.lists(st.tuples(st.just(1), st.integers(1, 3)), max_size=2, unique=True).map(tuple),
    study=st.sampled_from(["", "positions", "dependencies"]),
    denies=st.booleans(),
)


def slow_surprise(finding: Finding) -> float:
    """The formula, case by case."""
    most = {"share": 1.0, "count": finding.most, "number": finding.most}[finding.unit]
    bars = [*finding.baselines.values()] + ([finding.untrained] if finding.untrained is not None else [])
    bars = [bar for bar in bars if bar == bar]
    if not bars and finding.unit == "count":
        bars = [0.0]
    if finding.value is None or most is None or bars == [] or finding.denies:
        return 0.0
    low = finding.interval[0] if finding.interval else finding.value
    if math.isnan(low) or low <= max(bars) or low > most:
        return 0.0
    return (low - max(bars)) / (most - max(bars))


@given(FINDINGS)
def test_surprise_is_the_way_covered_from_the_best_baseline(finding):
    assert finding.surprise == slow_surprise(finding)
    assert 0 <= finding.surprise <= 1


@given(st.lists(FINDINGS | st.just("A remark."), max_size=8), st.integers(1, 6))
def test_the_leading_findings(findings, count):
    chosen = leading(findings, count)
    assert len(chosen) <= count
    assert all(finding in findings for finding in chosen)
    surprises = [0.0 if isinstance(finding, str) else finding.surprise for finding in chosen]
    assert surprises == sorted(surprises, reverse=True)
    alone = [finding.heads for finding in chosen if isinstance(finding, Finding) and len(finding.heads) == 1]
    assert len(alone) == len(set(alone))
    studies = [finding.study for finding in chosen if isinstance(finding, Finding) and finding.study]
    assert all(studies.count(study) <= MOST_OF_STUDY for study in studies)
    if len(chosen) < count:  # nothing was left that might have been chosen
        for finding in findings:
            blocked = (
                finding in chosen
                or (isinstance(finding, Finding) and finding.heads in alone)
                or (isinstance(finding, Finding) and studies.count(finding.study) == MOST_OF_STUDY)
            )
            assert blocked


def test_a_rule_that_does_better_than_a_head_takes_its_surprise():
    found = Finding("Head 6-8 finds dobj", 0.79, (0.76, 0.82), {"best fixed offset": 0.38, "nearest verb": 0.92})
    assert found.surprise == 0
    assert leading([found, Finding("Head 7-5 finds det", 0.93, (0.91, 0.94), {"offset": 0.53})], 1)[0] is not found


def test_the_page_gets_the_leading_findings_as_data(tmp_path):
    content = page_content(synthetic_atlas(tmp_path, [4, 4]))
    first = content["leading"][0]
    assert first["text"] in content["findings"]
    assert first["claim"] in first["text"]
    assert first["study"]
    assert json.loads(json.dumps(content["leading"], allow_nan=False)) == content["leading"]
