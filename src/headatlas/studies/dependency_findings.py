"""What the tables of dependencies show, in labels and sentences, each beside its bars and its null.

A head is named only if it is the best for a relation, beats every fixed offset with p < 0.01, corrected for all heads
and relations, and if choosing it on one half of the documents beats the offset on the other half too. A network with
random weights earns no label and is named in no sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from headatlas.studies.findings import Finding, heads_in
from headatlas.studies.labels import Label, Tables
from headatlas.studies.resting import rests_elsewhere
from headatlas.tables import controlled, records
from headatlas.wording import counted, percent

READINGS = ("all", "all_but_root", "all_but_root_punct")
CLITIC, NOUN = "possessors, from the clitic", "possessors, from the noun"
SIGNIFICANT = 0.01  # of corrected p-values
MOST_RELATIONS = 5  # with a sentence of their own
MOST_RESTING = 3  # heads of which it is said where other words rest
NOT_MUCH = 0.15  # above the best bar: a head that gets no further does not parse
FEWEST_POSSESSORS = 20  # to say where a head finds them from
HIGH = 0.75  # of the paper's abstract
PRAISED = ("det", "dobj", "obj", "pobj", "poss", "nmod:poss")  # the relations it names, and what UD calls them
POSSESSIVE = ("poss", "nmod:poss")
WORDS_OF_DIRECTION = {"dependent_to_head": "from dependent to head", "head_to_dependent": "from head to dependent"}
OFFSET = "best fixed offset"


def above(best: pd.DataFrame) -> pd.DataFrame:
    """The rows whose head may be named: surely better than every fixed offset, and so if chosen on other documents."""
    surely = (best["p_corrected"] < SIGNIFICANT) & (best["accuracy"] > best["baseline"])
    return best[surely & (best["held_out"] > best["baseline"])]


def labels(tables: Tables) -> Iterator[Label]:
    """The best head of each relation, if it may be named, with its own accuracy."""
    best = tables["dependency_best"]
    for row in records(above(best[~best["relation"].isin(READINGS)])):
        evidence = (
            f"best head for {row['relation']} ({WORDS_OF_DIRECTION[row['direction']]}): right "
            f"{percent(row['accuracy'])}; {_choice(row)}; offset {row['baseline_offset']:+d} "
            f"{percent(row['baseline'])}; {_tag_evidence(row)}{_p(row)}"
        )
        yield Label(row["layer"], row["head"], row["relation"], row["accuracy"], evidence)


def findings(tables: Tables) -> Iterator[Finding | str]:
    """Say which heads follow relations, how that compares with rules, and what the rest of their words do."""
    best = tables["dependency_best"]
    yield from (_best_overall(row) for row in records(best[best["relation"] == "all"]))
    relations = best[~best["relation"].isin(READINGS)]
    yield _how_many(relations)
    named = above(relations)
    lead = named["held_out"] - named["baseline_held_out"]
    clearest = named.assign(lead=lead).nlargest(MOST_RELATIONS, "lead")
    yield from (_of_relation(row) for row in records(clearest))
    yield from _praised(relations)
    yield from _with_special(named, tables["dependencies"])
    yield from _possessors(relations, tables["dependencies"])
    for row in records(clearest.drop_duplicates(["layer", "head"]).iloc[:MOST_RESTING]):
        yield from _resting(row, tables["resting"])


def _best_overall(row: dict[str, Any]) -> Finding | str:
    if pd.isna(row["held_out"]):
        return (
            f"The treebank is too small to hold half of it out: the best head finds the heads of "
            f"{percent(row['accuracy'])} of all words (best fixed offset {percent(row['baseline'])}; both chosen on "
            "the same words)."
        )
    if above(pd.DataFrame([row])).empty:
        claim = "No head finds the heads of all words surely better than the best fixed offset; the best is right about"
        return _finding(row, f"{claim} {percent(row['accuracy'])}", ())
    name, found = f"{row['layer']}-{row['head']}", f"finds the heads of {percent(row['accuracy'])} of all words"
    if row["high"] < max(_bars(row).values()) + NOT_MUCH:
        return _finding(row, f"No single head parses: the best one, {name}, {found}")
    return _finding(row, f"Head {name} {found}")


def _how_many(relations: pd.DataFrame) -> Finding | str:
    if relations.empty:
        return "No relation has enough words for a best head (see --least-count)."
    untested = int(relations[["held_out", "p_corrected"]].isna().any(axis=1).sum())
    if untested == len(relations):
        return (
            f"No relation is tested: none of {len(relations)} with enough words for a best head occurs in both halves "
            "of the treebank."
        )
    named = above(relations)
    evidence = [f"p < {SIGNIFICANT}, corrected over heads and relations"] + [f"{untested} not tested"] * bool(untested)
    if relations["tag_baseline"].notna().any():
        beats_tags = int((named["low"] > named["tag_baseline"]).sum())
        evidence.append(f"also above the best rule that knows parts of speech: {beats_tags}")
    random = relations[(relations["control_p"] < SIGNIFICANT) & (relations["control"] > relations["baseline"])]
    have = "has" if len(named) == 1 else "have"
    return Finding(
        f"{len(named)} of {counted(len(relations), 'relation')} {have} a head that beats every fixed offset",
        len(named),
        untrained=len(random) if controlled(relations) else None,
        unit="count",
        most=len(relations),
        evidence=tuple(evidence),
    )


def _of_relation(row: dict[str, Any]) -> Finding:
    name, relation, share = f"Head {row['layer']}-{row['head']}", row["relation"], percent(row["accuracy"])
    if row["direction"] == "head_to_dependent":
        return _finding(row, f"{name} attends from heads to their {relation} dependents, rightly for {share} of these")
    return _finding(row, f"{name} finds the head of {share} of {relation} dependents")


def _praised(relations: pd.DataFrame) -> Iterator[Finding]:
    """The abstract's claim that heads find certain relations with high accuracy."""
    praised = relations[relations["relation"].isin(PRAISED)]
    if praised.empty:
        return
    high = above(praised[praised["low"] > HIGH])
    named = counted(len(praised), "relation")
    claim = f"Of {named} that the paper's abstract praises, {len(high) or 'none'} reach more than {percent(HIGH)}"
    yield Finding(
        f"{claim}, interval included, and surely above the offset",
        len(high),
        untrained=int((praised["control"] > HIGH).sum()) if controlled(praised) else None,
        unit="count",
        evidence=tuple(_score_of(row, bool((high["relation"] == row["relation"]).any())) for row in records(praised)),
    )


def _score_of(row: dict[str, Any], name_head: bool) -> str:
    name = f" by {row['layer']}-{row['head']}" if name_head else ""
    low, high = (f"{100 * row[end]:.0f}" for end in ("low", "high"))
    bars = "".join(f", {rule} {percent(value)}" for rule, value in _bars(row).items())
    return f"{row['relation']} {percent(row['accuracy'])}{name}, 95 % CI {low} to {high}{bars}"


def _with_special(named: pd.DataFrame, every: pd.DataFrame) -> Iterator[Finding]:
    """The paper's footnote 3: what changes if special tokens may be chosen."""
    if named.empty or bool((named["with_special"] == named["accuracy"]).all()):
        return
    of_relations = every[every["relation"].isin(named["relation"])]
    usual = float((of_relations["with_special"] - of_relations["accuracy"]).median())
    best = float((named["with_special"] / named["accuracy"]).median())
    yield Finding(
        f"If special tokens may be chosen too, the best heads of these {counted(len(named), 'relation')} keep "
        f"{percent(best)} of their score",
        best,
        evidence=(f"medians; the median head changes by {100 * usual:+.0f} points",),
    )


def _possessors(relations: pd.DataFrame, every: pd.DataFrame) -> Iterator[Finding]:
    """Does the clitic stand in for its possessor?"""
    possessive = relations[relations["relation"].isin(POSSESSIVE)]
    for row in records(possessive):
        same = every[(every["layer"] == row["layer"]) & (every["head"] == row["head"])]
        same = same[same["direction"] == row["direction"]].set_index("relation")
        if not {CLITIC, NOUN} <= set(same.index) or same.loc[CLITIC, "count"] < FEWEST_POSSESSORS:
            continue
        clitic, noun = (float(same.loc[name, "accuracy"]) for name in (CLITIC, NOUN))
        low, high = (float(same.loc[CLITIC, end]) for end in ("low", "high"))
        heads = heads_in(above(possessive[possessive["relation"] == row["relation"]]))
        name = "head {}-{}".format(*heads[0]) if heads else f"the best head for {row['relation']}"
        yield Finding(
            f"For possessors with a clitic, {name} finds what they possess from the clitic in {percent(clitic)} of "
            f"{int(same.loc[CLITIC, 'count'])} cases",
            clitic,
            (low, high),
            {
                "from the possessor itself": noun,
                f"all {row['relation']}, by the clitic where there is one": row["accuracy"],
            },
            heads=heads,
        )


def _resting(row: dict[str, Any], resting: pd.DataFrame) -> Iterator[Finding]:
    """Do words that do not stand in the head's relation rest on special tokens?"""
    rest = rests_elsewhere(resting, row)
    if rest is None or not rest["others"]:
        return
    ends = (rest["difference_low"], rest["difference_high"])
    sure = "more" if ends[0] > 0 else "less" if ends[1] < 0 else "not surely more"
    words = (
        f"{row['relation']} dependents" if row["direction"] == "dependent_to_head" else f"heads of {row['relation']}"
    )
    yield Finding(
        f"In head {row['layer']}-{row['head']}, words other than {words} rest on special tokens {sure} than those do: "
        f"{percent(rest['others'])} of their attention, against {percent(rest['value'])}",
        rest["difference"],
        evidence=(
            f"difference {_points(rest['difference'])}, 95 % CI {_points(ends[0])} to {_points(ends[1])} points",
        ),
    )


def _points(difference: float) -> str:
    return f"{100 * difference:+.0f}"


def _finding(row: dict[str, Any], claim: str, heads: tuple[tuple[int, int], ...] | None = None) -> Finding:
    return Finding(
        claim,
        row["accuracy"],
        (row["low"], row["high"]),
        _bars(row),
        None if pd.isna(row["control"]) else row["control"],
        heads=heads_in(pd.DataFrame([row])) if heads is None else heads,
        evidence=(f"with special tokens admitted {percent(row['with_special'])}", _choice(row), _p(row)),
        denies=heads == (),
    )


def _bars(row: dict[str, Any]) -> dict[str, float]:
    """What rules reach: the best offset, and the best rule that knows parts of speech."""
    bars = {OFFSET: row["baseline"]}
    return bars if pd.isna(row["tag_baseline"]) else bars | {row["tag_rule"]: row["tag_baseline"]}


def _choice(row: dict[str, Any]) -> str:
    return f"held out, choosing on the other half, {percent(row['held_out'])}"


def _tag_evidence(row: dict[str, Any]) -> str:
    return "" if pd.isna(row["tag_baseline"]) else f"{row['tag_rule']} {percent(row['tag_baseline'])}; "


def _p(row: dict[str, Any]) -> str:
    return f"corrected p = {row['p_corrected']:.2g}"
