"""When a claim is reproduced: within our widened interval, if that says something, and not by random weights."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as some

from headatlas.commands.reproduce.claim import WIDEST, Answer, Claim, Estimate, agrees, number
from headatlas.commands.reproduce.claims import CLAIMS, judge
from headatlas.commands.reproduce.run import table_of
from headatlas.results.tables import TABLES

shares = some.floats(0, 100)


@given(shares, shares, some.floats(0, 5), some.floats(0, 20), some.floats(0, 20))
def test_a_number_needs_a_narrow_interval_near_the_published_one(published, ours, margin, below, above):
    low, high = ours - below, ours + above
    assume(min(abs(high - low - 10), abs(published - low + margin), abs(published - high - margin)) > 1e-6)
    expected = high - low <= 10 and low - margin <= published <= high + margin
    assert agrees(published, Estimate(ours, low, high), margin, WIDEST["%"]) == expected


@given(*(some.tuples(shares, some.floats(0, 5), some.floats(0, 5)) for _ in range(2)))
def test_the_interval_of_a_difference_is_wider_than_each_and_narrower_than_both(a, b):
    first, second = (Estimate(value, value - below, value + above) for value, below, above in (a, b))
    apart = first.minus(second)
    assert apart.value == first.value - second.value
    for end in (apart.value - apart.low, apart.high - apart.value):
        assert end <= a[1] + a[2] + b[1] + b[2] + 1e-9
    assert apart.value - apart.low >= max(a[1], b[2]) - 1e-9
    assert apart.high - apart.value >= max(a[2], b[1]) - 1e-9


def test_an_exact_number_must_be_the_same():
    claim = number(19, "table 1", "offset", -2, "words", (), lambda _: Estimate(-1, -1, -1), margin=0)
    assert claim.rule == "the same"
    assert not claim.ask({}).holds


def finding(holds, strength=math.nan):
    return Answer(holds, "figures", strength=strength)


def claim_of(answers, **further):
    """A claim that answers for each network, named by the one key of its tables."""
    return Claim(1, "section 1", "x", (), "a rule", lambda tables: answers[next(iter(tables))], **further)


MODEL, RANDOM = {"model": None}, {kind: {kind: None} for kind in ("fresh", "shuffled")}


@pytest.mark.parametrize(
    ("model", "fresh", "shuffled", "verdict", "met"),
    [
        (True, False, False, "reproduced", ""),
        (True, True, False, "not decided", "fresh"),
        (True, False, True, "not decided", "shuffled"),
        (False, False, False, "differs", ""),
        (False, True, True, "differs", "fresh, shuffled"),
        (None, False, False, "not decided", ""),
    ],
)
def test_what_random_weights_do_too_is_not_decided(model, fresh, shuffled, verdict, met):
    answers = {"model": finding(model), "fresh": finding(fresh), "shuffled": finding(shuffled)}
    check = judge(claim_of(answers), MODEL, RANDOM, {})
    assert (check.verdict, check.met_by) == (verdict, met)


def test_a_lead_over_random_weights_may_be_asked_for():
    answers = {"model": finding(True, 0.5), "fresh": finding(False, 0.4), "shuffled": finding(False, 0.1)}
    assert judge(claim_of(answers, lead=0.05), MODEL, RANDOM, {}).verdict == "reproduced"
    close = judge(claim_of(answers, lead=0.2), MODEL, RANDOM, {})
    assert (close.verdict, close.met_by) == ("not decided", "fresh")
    assert "0.2 more than with random weights" in close.rule


def test_without_random_weights_nothing_is_reproduced():
    answers = {"model": finding(True), "fresh": None, "shuffled": None}
    assert judge(claim_of(answers), MODEL, RANDOM, {}).missing == "random weights were not run"
    assert judge(claim_of(answers), MODEL, {}, {}).verdict == "not decided"


def test_checks_of_the_corpus_ask_no_random_weights():
    check = judge(claim_of({"model": finding(True)}, decided_by="corpus"), MODEL, RANDOM, {})
    assert (check.verdict, check.decided_by) == ("reproduced", "corpus")


def test_what_is_missing_is_named():
    claim = Claim(1, "section 1", "x", ("a", "b"), "a rule", lambda _: None, lacking="more words")
    assert judge(claim, {}, {}, {"b": "--ptb-dev"}).missing == "more words"
    assert judge(claim, {"a": None}, {}, {"b": "--ptb-dev"}).missing == "--ptb-dev"
    assert judge(claim, {"a": None, "b": None}, {}, {}).missing == "more words"


def test_every_claim_is_there_in_order_with_a_rule():
    numbers = [claim.number for claim in CLAIMS]
    assert numbers == sorted(numbers)
    assert all(claim.rule and claim.published for claim in CLAIMS)
    keys = [(claim.place, claim.item) for claim in CLAIMS]
    assert len(set(keys)) == len(keys)


def test_without_tables_every_claim_says_what_it_needs():
    checks = [judge(claim, {}, {}, {name.partition(".")[0]: "--input" for name in claim.tables}) for claim in CLAIMS]
    assert {check.verdict for check in checks} == {"not run"}
    assert all(check.missing for check in checks)
    frame = TABLES["reproduction"].conform(table_of(checks))
    assert frame["difference"].isna().all()
