"""What the tables of an atlas show, in sentences fit for a paper: a number, its baseline, its uncertainty."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from headatlas.views.words import patterns
from headatlas.wording import counted, percent

MOST_NAMED = 8
MOST_RELATIONS = 5
SIGNIFICANT = 0.01  # of tests for many relations
LIKELY_CHANCE = 0.05  # a single test with at least this p value is not evidence
SURE = 0.95  # share of replicates from which an order counts as settled
Tables = Mapping[str, pd.DataFrame]


def findings(tables: Tables) -> list[str]:
    """One sentence for each observation that the tables allow."""
    readers = {
        "positions": _positions,
        "token_kinds": _token_kinds,
        "max_attention": _max_attention,
        "entropy": _entropy,
        "gradients": _gradients,
        "similarity": _similarity,
        "layer_distances": _layer_distances,
        "dependency_best": _dependencies,
        "coreference_best": _coreference,
        "keyphrase_heads": _keyphrases,
        "layer_summary": _layer_summary,
        "layer_order": _layer_order,
    }
    return [sentence for name, read in readers.items() if name in tables for sentence in read(tables)]


def _positions(tables: Tables) -> Iterator[str]:
    for pattern in (patterns.PREVIOUS, patterns.NEXT):
        heads = patterns.heads_showing(tables["positions"], pattern)
        yield f"{_put(heads, 'more than half of')} {pattern.target}{_named(heads)}."


def _token_kinds(tables: Tables) -> Iterator[str]:
    table = tables["token_kinds"]
    for pattern in (patterns.SEP, patterns.CLS, patterns.PERIOD_COMMA):
        heads = patterns.heads_showing(table, pattern)
        by_layer = patterns.strengths(table, pattern).groupby("layer")["strength"].mean()
        if by_layer.isna().all():
            yield f"The input has no {pattern.target}."
            continue
        yield (
            f"{_put(heads, 'more than half of')} {pattern.target}{_named(heads)}; "
            f"the mean over heads is highest in layer {by_layer.idxmax()} ({percent(by_layer.max())})."
        )
    wide = table.pivot(index=["layer", "head"], columns="kind", values="value")
    devoted = wide[wide["other_to_sep"] > patterns.MOSTLY]
    if len(devoted):
        share = percent(devoted["sep_to_sep"].mean())
        yield f"In heads that attend mostly to [SEP], [SEP] itself puts {share} of its attention on [SEP]."


def _max_attention(tables: Tables) -> Iterator[str]:
    table = tables["max_attention"]
    heads = table[table["value"] <= patterns.BROAD_WEIGHT]
    yield f"{_put(heads, f'at most {percent(patterns.BROAD_WEIGHT)} of')} any one token, on average{_named(heads)}."


def _entropy(tables: Tables) -> Iterator[str]:
    table = tables["entropy"]
    last = table["layer"].max()
    for source, name in (("all", "all tokens"), ("cls", "[CLS]")):
        rows = table[table["source"] == source].dropna(subset="nats")
        if rows.empty:
            continue
        layers = rows.groupby("layer")["nats"].mean()
        yield (
            f"Entropy from {name}: {layers.iloc[0]:.2f} nats in layer 1, {layers.iloc[-1]:.2f} in layer {last} "
            f"(uniform attention: {rows['uniform_nats'].iloc[0]:.2f})."
        )


def _gradients(tables: Tables) -> Iterator[str]:
    layers = tables["gradients"].pivot_table(index="layer", columns="kind", values="value")
    for pattern in (patterns.SEP, patterns.CLS):
        if pattern.key in layers and "other" in layers:
            ratio = layers[pattern.key] / layers["other"]
            yield (
                f"|dL/da| towards {pattern.target} is {ratio.iloc[0]:.2f} times that towards other tokens in layer 1, "
                f"{ratio.iloc[-1]:.2f} times in layer {ratio.index[-1]}."
            )


def _similarity(tables: Tables) -> Iterator[str]:
    table = tables["similarity"]
    measures = table[table["distance"] == "js"].set_index("measure")["value"]
    within, between, p_value = (float(measures[name]) for name in ("within_layers", "between_layers", "p_layers"))
    if not math.isnan(p_value):
        chance = within >= between or p_value >= LIKELY_CHANCE
        yield (
            f"{'There is no evidence that heads' if chance else 'Heads'} of one layer are closer to each other than to "
            f"heads of other layers: mean distance {within:.3g} within layers, {between:.3g} between "
            f"(p = {p_value:.3f})."
        )


def _layer_distances(tables: Tables) -> Iterator[str]:
    table = tables["layer_distances"]
    pairs = table[table["layer_a"] < table["layer_b"]].dropna(subset="value")
    if pairs.empty:
        return
    ranked = pairs.sort_values("value", ignore_index=True)
    sentence = f"Layers {ranked['layer_a'].iloc[0]} and {ranked['layer_b'].iloc[0]} are the most similar pair"
    first, last = ranked["layer_a"].min(), ranked["layer_b"].max()
    ends = ranked.index[(ranked["layer_a"] == first) & (ranked["layer_b"] == last)]
    if len(ranked) > 1 and len(ends):
        sentence += f"; the first and last layers rank {_ordinal(ends[0] + 1)} of {len(ranked)}"
    yield f"{sentence}."


def _dependencies(tables: Tables) -> Iterator[str]:
    """Quotes held-out scores, since the best of many heads looks better than it is; says so if there are none."""
    table = tables["dependency_best"]
    overall = table[table["relation"] == "all"].iloc[0]
    name = f"{overall['layer']}-{overall['head']}"
    if pd.isna(overall["held_out"]):
        yield (
            f"The treebank is too small to hold half of it out: the best head, {name}, finds the heads of "
            f"{percent(overall['accuracy'])} of all words (best fixed offset {percent(overall['baseline'])}; both "
            "chosen on the same words)."
        )
    else:
        yield (
            f"No single head parses: the best one, {name}, finds the heads of {percent(overall['held_out'])} of all "
            f"words (held out; best fixed offset {percent(overall['baseline_held_out'])})."
        )
    relations = table[~table["relation"].str.startswith("all")]
    tested = relations.dropna(subset=["held_out", "p_value"])
    if tested.empty:
        yield (
            f"No relation is tested: none of {len(relations)} with enough words for a best head occurs in both halves "
            "of the treebank."
            if len(relations)
            else "No relation has enough words for a best head (see --least-count)."
        )
        return
    better = relations[(relations["p_value"] < SIGNIFICANT) & (relations["held_out"] > relations["baseline_held_out"])]
    clearest = better.assign(lead=better["held_out"] - better["baseline_held_out"]).nlargest(MOST_RELATIONS, "lead")
    named = ", ".join(
        f"{row['relation']} {row['layer']}-{row['head']} {percent(row['held_out'])} "
        f"(offset {percent(row['baseline_held_out'])})"
        for row in clearest.to_dict("records")
    )
    untested = f", {len(relations) - len(tested)} not tested" if len(tested) < len(relations) else ""
    have = "has" if len(better) == 1 else "have"
    yield (
        f"{len(better)} of {counted(len(relations), 'relation')} {have} a head that beats every fixed offset "
        f"(p < {SIGNIFICANT}{untested})." + (f" Furthest ahead, held out: {named}." if named else "")
    )


def _coreference(tables: Tables) -> Iterator[str]:
    table, rules = tables["coreference_best"], tables["coreference_baselines"]
    rule = rules[(rules["baseline"] == "head_match") & (rules["mention_type"] == "all")]["accuracy"]
    for row in table[(table["mention_type"] == "all") & (table["candidates"] == "preceding")].to_dict("records"):
        missing = pd.isna(row["held_out"])
        held_out = "too few documents to hold any out" if missing else f"held out {percent(row['held_out'])}"
        yield (
            f"Head {row['layer']}-{row['head']} picks an antecedent among the preceding mentions for "
            f"{percent(row['accuracy'])} of mentions ({held_out}; nearest with the same head word "
            f"{percent(rule.item())})."
        )


def _keyphrases(tables: Tables) -> Iterator[str]:
    """The head that is best on one half of the documents, scored on the other, and vice versa."""
    table = tables["keyphrase_heads"]
    halves = table.dropna(subset=["first_half", "second_half"])
    if halves.empty:
        yield "No head can be chosen for keyphrases: there are too few documents to choose it on half of them."
        return
    on_first, on_second = (halves.nlargest(1, name) for name in ("first_half", "second_half"))
    names = dict.fromkeys(f"{row.layer}-{row.head}" for best in (on_first, on_second) for row in best.itertuples())
    score = (on_first["second_half"].item() + on_second["first_half"].item()) / 2
    yield (
        f"Ranked by the attention they receive from head {' or '.join(names)}, keyphrase tokens come first with an "
        f"average precision of {score:.2f} (held out; chance {table['key_share'].mean():.2f})."
    )


def _layer_summary(tables: Tables) -> Iterator[str]:
    """Each task's place in the stack."""
    for row in tables["layer_summary"].to_dict("records"):
        task = f"Task {row['task']}, mix of {row['mix']}" + (", random weights" if row["weights"] == "random" else "")
        score, low, high = (100 * float(row[name]) for name in ("score", "low", "high"))
        yield (
            f"{task}: micro F1 {score:.1f} (95 % CI {low:.1f} to {high:.1f}), "
            f"centre of gravity {row['centre_of_gravity']:.2f}{_expected(row)}."
        )


def _expected(row: Mapping[Any, Any]) -> str:
    """The expected layer; if layers that harm make a difference, also with their harm counted as 0."""
    if pd.isna(row["expected_layer"]):
        return ", no gain over the embeddings"
    raw, clipped = (f"{row[name]:.2f}" for name in ("expected_layer", "expected_clipped"))
    return f", expected layer {raw}" + (f" ({clipped} with harm as 0)" if clipped != raw else "")


def _layer_order(tables: Tables) -> Iterator[str]:
    """The order of the tasks in the stack, and how much of it is settled."""
    summary, order = tables["layer_summary"], tables["layer_order"]
    for measure in ("centre_of_gravity", "expected_layer"):
        pairs = order[(order["measure"] == measure) & (order["mix"] == "layers")]
        tasks = summary[(summary["mix"] == "layers") & (summary["weights"] == "pretrained")].dropna(subset=measure)
        if len(tasks) < 2:
            continue
        ranked = " < ".join(tasks.sort_values(measure, kind="stable")["task"])
        settled = int((pairs["share"] >= SURE).sum())
        yield (
            f"By {measure.replace('_', ' ')}: {ranked}; {settled} of {len(pairs)} pairwise orders hold in at least "
            f"{percent(SURE)} of replicates."
        )


def _put(heads: pd.DataFrame, share: str) -> str:
    if len(heads) > 1:
        return f"{len(heads)} heads put {share} their attention on"
    return f"{'1' if len(heads) else 'No'} head puts {share} its attention on"


def _named(heads: pd.DataFrame) -> str:
    if heads.empty:
        return ""
    names = [f"{layer}-{head}" for layer, head in zip(heads["layer"], heads["head"], strict=True)]
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f" ({', '.join(names[:MOST_NAMED])}{more})"


def _ordinal(number: int) -> str:
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else suffix}"
