"""The tables of coreference, and what they show in labels and sentences, each beside its bars and its null.

A head is named only if it beats the nearest mention and the nearest with the same head word with p < 0.01, corrected
for all heads, types of mention and kinds of candidates, and if choosing it on one half of the documents does so on the
other half too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from headatlas.studies.dependency_findings import SIGNIFICANT
from headatlas.studies.findings import Finding
from headatlas.studies.labels import Label, Tables
from headatlas.studies.link_lengths import LENGTHS
from headatlas.tables import ACCURACY, BEST_HEAD, HELD_OUT, ONE_HEAD, P_VALUE, Key, Table, Value, p_value, records
from headatlas.wording import percent

RIVALS = ("nearest", "head_match")  # a coreference head must beat the better of the two
RULES = ("preceding", "mentions", "words")
AMONG = {"words": "all other words", "mentions": "all other mentions", "preceding": "the mentions before"}
REWORDED = "reworded"
ALL_LINKS = "all"
FOUND_AMONG = {rule: f"found_among_{rule}" for rule in RULES}
CALLED = {"nearest": "nearest mention", "head_match": "nearest with the same head word", "sieves": "four sieves"}

MENTION_TYPE = Key(
    "mention_type",
    "all, or by the part of speech of its head word: pronoun, proper, nominal; or reworded: proper or nominal, and no "
    "antecedent has the same head word",
)
CANDIDATES = Key("candidates", "among which the head chooses: words, mentions, or preceding (mentions)")
MENTIONS = Value("count", "mentions of this type that have an antecedent in the window", "count")
CHOSEN = (Value("correct", "mentions whose chosen antecedent is a true one", "count"), MENTIONS, *ACCURACY)
COREFERENCE = Table(
    "coreference",
    "How often does a head find an antecedent, by type of mention?",
    (*ONE_HEAD, MENTION_TYPE, CANDIDATES, *CHOSEN),
    section="4.3",
    label="antecedent: {mention_type} among {candidates}",
    short="{mention_type} among {candidates}",
    card=None,
)
COREFERENCE_BEST = Table(
    "coreference_best",
    "Which head is best for each type of mention, held out?",
    (
        MENTION_TYPE,
        CANDIDATES,
        MENTIONS,
        *BEST_HEAD,
        *ACCURACY,
        HELD_OUT,
        p_value(f"{P_VALUE} the nearest mention", "p_nearest"),
        p_value(f"{P_VALUE} the nearest with the same head word", "p_head_match"),
        p_value(f"{P_VALUE} the four sieves", "p_sieves"),
        p_value(
            "p_head_match, or p_nearest if that rule is better (reworded: of the best rule), corrected for all rows",
            "p_corrected",
        ),
        Value(
            "control",
            "accuracy of the best head of the same network with random weights; empty if not run",
            "accuracy",
            why_not="it is not a measure of the best head",
        ),
        p_value("corrected p-value of that head", "control_p"),
    ),
    section="4.3, table 2",
)
BASELINE = Key("baseline", "nearest mention; head_match: nearest with the same head word; sieves: four in order")
COREFERENCE_BASELINES = Table(
    "coreference_baselines",
    "How often do simple rules find an antecedent: nearest mention, same head word, four sieves?",
    (BASELINE, MENTION_TYPE, *CHOSEN),
    section="4.3, table 2",
)
COREFERENCE_LENGTHS = Table(
    "coreference_lengths",
    "How far are mentions from their nearest antecedents, and how far are those that the best head finds?",
    (Key("links", "all; or those that the best head finds among words, mentions or preceding mentions"), *LENGTHS),
    section="4.3",
    why_not="all but the first row depend on which head is best",
)


def labels(tables: Tables) -> Iterator[Label]:
    """The best head among preceding mentions, from which the rules choose too, if it may be named."""
    for row in _best(tables, "all", "preceding"):
        rules = _rules(tables, "all")
        if _may_be_named(row, _rival(rules, "all")[1]):
            among_words = "".join(
                f"; the best head among all other words {percent(other['accuracy'])}"
                for other in _best(tables, "all", "words")
            )
            bars = ", ".join(f"{name} {percent(value)}" for name, value in rules.items())
            evidence = (
                f"best head for antecedents among the mentions before: right {percent(row['accuracy'])}; "
                f"{_choice(row)}; {bars}; {_p(row)}{among_words}"
            )
            yield Label(row["layer"], row["head"], "coreference", row["accuracy"], evidence)


def findings(tables: Tables) -> Iterator[Finding | str]:
    """Say how well heads find antecedents among each kind of candidates, where words differ, and how far they reach."""
    for candidates in ("words", "mentions", "preceding"):
        for row in _best(tables, "all", candidates):
            yield _found(row, tables, "mentions")
    for row in _best(tables, REWORDED, "preceding"):
        yield _found(row, tables, "reworded mentions, which share no head word with an antecedent")
    yield from _reach(tables)


def _found(row: dict[str, Any], tables: Tables, mentions: str) -> Finding:
    rules = _rules(tables, row["mention_type"])
    rival, bar = _rival(rules, row["mention_type"])
    among, share = AMONG[row["candidates"]], percent(row["accuracy"])
    named = _may_be_named(row, bar)
    if named:
        name = f"{row['layer']}-{row['head']}"
        claim = f"Among {among}, head {name} attends most to an antecedent for {share} of {mentions}"
    else:
        claim = f"Among {among}, no head is surely better than {rival} at antecedents of {mentions}: at best {share}"
    return Finding(
        claim,
        row["accuracy"],
        (row["low"], row["high"]),
        rules,
        None if pd.isna(row["control"]) else row["control"],
        heads=((row["layer"], row["head"]),) if named else (),
        evidence=(_choice(row), _p(row)),
        denies=not named,
    )


def _reach(tables: Tables) -> Iterator[Finding]:
    """Are the links of coreference longer than dependencies, also those that the best head finds?"""
    lengths = tables["coreference_lengths"].set_index("links")["median"]
    for row in _best(tables, "all", "preceding"):
        if not _may_be_named(row, _rival(_rules(tables, "all"), "all")[1]) or FOUND_AMONG["preceding"] not in lengths:
            continue
        evidence = [f"to the nearest antecedent of every mention {lengths[ALL_LINKS]:.0f}"]
        if "dependency_lengths" in tables and len(tables["dependency_lengths"]):
            dependencies = tables["dependency_lengths"].set_index("relation")["median"]
            evidence.append(f"dependencies of the treebank {dependencies['all_but_root']:.0f}")
        found = float(lengths[FOUND_AMONG["preceding"]])
        yield Finding(
            f"The links that head {row['layer']}-{row['head']} finds span {found:.0f} words in the median",
            found,
            unit="count",
            heads=((row["layer"], row["head"]),),
            evidence=tuple(evidence),
        )


def _best(tables: Tables, mention_type: str, candidates: str) -> list[dict[str, Any]]:
    best = tables["coreference_best"]
    return records(best[(best["mention_type"] == mention_type) & (best["candidates"] == candidates)])


def _rules(tables: Tables, mention_type: str) -> dict[str, float]:
    """The accuracy of each rule without a model, by what it is called."""
    rules = tables["coreference_baselines"]
    return {CALLED[row["baseline"]]: row["accuracy"] for row in records(rules[rules["mention_type"] == mention_type])}


def _rival(rules: dict[str, float], mention_type: str) -> tuple[str, float]:
    """The rule to beat, as a sentence names it, and its accuracy."""
    names = CALLED.values() if mention_type == REWORDED else [CALLED[name] for name in RIVALS]
    name = max(names, key=lambda name: rules[name])
    return f"the rule '{name}'", rules[name]


def _may_be_named(row: dict[str, Any], bar: float) -> bool:
    return bool(row["p_corrected"] < SIGNIFICANT and row["accuracy"] > bar and row["held_out"] > bar)


def _choice(row: dict[str, Any]) -> str:
    if pd.isna(row["held_out"]):
        return "too few documents to hold any out"
    return f"held out, choosing on the other half, {percent(row['held_out'])}"


def _p(row: dict[str, Any]) -> str:
    return f"corrected p = {row['p_corrected']:.2g}"
