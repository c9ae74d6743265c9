"""The paper's observations about the heads, read off an atlas's tables in plain sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import pandas as pd

from headatlas.views.words.layer_findings import layer_findings
from headatlas.wording import counted, percent

MOSTLY = 0.5  # of a head's attention: "more than half", as the paper puts it
BROAD = 0.1  # mean largest weight of the paper's broad heads: at most 10 % on any one word
MOST_NAMED = 8
MOST_RELATIONS = 5
SIGNIFICANT = 0.01  # of tests for many relations
LIKELY_CHANCE = 0.05  # from this p value on, a single test is no evidence


def findings(tables: Mapping[str, pd.DataFrame]) -> list[str]:
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
    }
    sentences = [sentence for name, read in readers.items() if name in tables for sentence in read(tables[name])]
    return [*sentences, *(layer_findings(tables) if "layer_summary" in tables else ())]


def _positions(table: pd.DataFrame) -> Iterator[str]:
    for offset, where in ((-1, "previous"), (1, "next")):
        heads = table[(table["offset"] == offset) & (table["value"] > MOSTLY)]
        yield f"{_counted(heads)} more than half of the attention on the {where} token{_named(heads)}"


def _token_kinds(table: pd.DataFrame) -> Iterator[str]:
    for kind, name in (("sep", "[SEP]"), ("cls", "[CLS]"), ("period_comma", "periods and commas")):
        heads = table[(table["kind"] == kind) & (table["value"] > MOSTLY)]
        by_layer = table[table["kind"] == kind].groupby("layer")["value"].mean()
        if by_layer.isna().all():
            yield f"the input has no {name}"
            continue
        yield (
            f"{_counted(heads)} more than half of the attention on {name}{_named(heads)}; "
            f"the layer mean is highest in layer {by_layer.idxmax()} ({by_layer.max():.0%})"
        )
    wide = table.pivot(index=["layer", "head"], columns="kind", values="value")
    devoted = wide[wide["other_to_sep"] > MOSTLY]
    if len(devoted):
        share = devoted["sep_to_sep"].mean()
        yield f"of heads that attend mostly to [SEP], the [SEP] rows themselves put {share:.0%} there"


def _max_attention(table: pd.DataFrame) -> Iterator[str]:
    heads = table[table["value"] <= BROAD]
    yield f"{_counted(heads)} at most 10 % on any one token, on average{_named(heads)}"


def _entropy(table: pd.DataFrame) -> Iterator[str]:
    last = table["layer"].max()
    for source, name in (("all", "all tokens"), ("cls", "[CLS]")):
        rows = table[table["source"] == source].dropna(subset="nats")
        if rows.empty:
            continue
        layers = rows.groupby("layer")["nats"].mean()
        yield (
            f"entropy from {name}: {layers.iloc[0]:.2f} nats in layer 1, {layers.iloc[-1]:.2f} in layer {last} "
            f"(uniform: {rows['uniform_nats'].iloc[0]:.2f})"
        )


def _gradients(table: pd.DataFrame) -> Iterator[str]:
    layers = table.pivot_table(index="layer", columns="kind", values="value")
    for kind, name in (("sep", "[SEP]"), ("cls", "[CLS]")):
        if kind in layers and "other" in layers:
            ratio = layers[kind] / layers["other"]
            yield (
                f"|dL/da| towards {name} is {ratio.iloc[0]:.2f} times that towards other tokens in layer 1, "
                f"{ratio.iloc[-1]:.2f} times in layer {ratio.index[-1]}"
            )


def _similarity(table: pd.DataFrame) -> Iterator[str]:
    measures = table[table["distance"] == "js"].set_index("measure")["value"]
    within, between, p_value = (float(measures[name]) for name in ("within_layers", "between_layers", "p_layers"))
    if not math.isnan(p_value):
        claim = "heads of one layer are closer to each other than to those of other layers"
        if within >= between or p_value >= LIKELY_CHANCE:
            claim = f"there is no evidence that {claim}"
        yield f"{claim}: mean distance {within:.3g} within, {between:.3g} between (p = {p_value:.3f})"


def _layer_distances(table: pd.DataFrame) -> Iterator[str]:
    pairs = table[table["layer_a"] < table["layer_b"]].dropna(subset="value")
    if pairs.empty:
        return
    ranked = pairs.sort_values("value", ignore_index=True)
    nearest = ranked.iloc[0]
    sentence = f"the layers most alike are {nearest['layer_a']:.0f} and {nearest['layer_b']:.0f}"
    first, last = ranked["layer_a"].min(), ranked["layer_b"].max()
    ends = ranked.index[(ranked["layer_a"] == first) & (ranked["layer_b"] == last)]
    if len(ranked) > 1 and len(ends):
        sentence += f"; the first and the last rank {ends[0] + 1} of {len(ranked)} pairs, the nearest first"
    yield sentence


def _dependencies(table: pd.DataFrame) -> Iterator[str]:
    """Held-out scores are quoted, since the best of many flatters itself; where there are none, that is said."""
    overall = table[table["relation"] == "all"].iloc[0]
    name = f"{overall['layer']}-{overall['head']}"
    if pd.isna(overall["held_out"]):
        yield (
            f"the treebank is too small to hold half of it out: the best head, {name}, finds the heads of "
            f"{percent(overall['accuracy'])} of all words, a fixed offset {percent(overall['baseline'])}, both chosen "
            "for these very words"
        )
    else:
        yield (
            f"no single head parses: the best, {name}, finds the heads of {percent(overall['held_out'])} of all words "
            f"(held out), a fixed offset {percent(overall['baseline_held_out'])}"
        )
    relations = table[~table["relation"].str.startswith("all")]
    tested = relations.dropna(subset=["held_out", "p_value"])
    if tested.empty:
        yield (
            f"no relation is tested: none of {len(relations)} with enough words for a best head occurs in both halves "
            "of the treebank"
            if len(relations)
            else "no relation has enough words for a best head (see --least-count)"
        )
        return
    better = relations[(relations["p_value"] < SIGNIFICANT) & (relations["held_out"] > relations["baseline_held_out"])]
    clearest = better.assign(lead=better["held_out"] - better["baseline_held_out"]).nlargest(MOST_RELATIONS, "lead")
    named = ", ".join(
        f"{row['relation']} {row['layer']}-{row['head']} {percent(row['held_out'])} "
        f"(offset: {percent(row['baseline_held_out'])})"
        for row in clearest.to_dict("records")
    )
    untested = f", {len(relations) - len(tested)} not tested" if len(tested) < len(relations) else ""
    have = "has" if len(better) == 1 else "have"
    yield (
        f"{len(better)} of {counted(len(relations), 'relation')} {have} a head that beats every fixed offset "
        f"(p < {SIGNIFICANT}{untested})" + (f"; furthest above it, held out: {named}" if named else "")
    )


def _coreference(table: pd.DataFrame) -> Iterator[str]:
    rows = table[(table["mention_type"] == "all") & (table["candidates"] == "preceding")]
    for row in rows.to_dict("records"):
        missing = pd.isna(row["held_out"])
        held_out = "too few documents to hold any out" if missing else f"{percent(row['held_out'])} held out"
        yield (
            f"head {row['layer']}-{row['head']} picks an antecedent for {percent(row['accuracy'])} of mentions among "
            f"those before them ({held_out})"
        )


def _keyphrases(table: pd.DataFrame) -> Iterator[str]:
    """The head that is best on one half of the documents, scored on the other, and the other way round."""
    halves = table.dropna(subset=["first_half", "second_half"])
    if halves.empty:
        yield "no head is known to find keyphrases: there are too few documents to choose one on half of them"
        return
    on_first, on_second = (halves.nlargest(1, name) for name in ("first_half", "second_half"))
    names = dict.fromkeys(f"{row.layer}-{row.head}" for best in (on_first, on_second) for row in best.itertuples())
    score = (on_first["second_half"].item() + on_second["first_half"].item()) / 2
    yield (
        f"ranked by the attention they receive from head {' or '.join(names)}, the tokens of keyphrases come first "
        f"with an average precision of {score:.2f} (held out; chance: {table['key_share'].mean():.2f})"
    )


def _counted(heads: pd.DataFrame) -> str:
    return {0: "no head puts", 1: "1 head puts"}.get(len(heads), f"{len(heads)} heads put")


def _named(heads: pd.DataFrame) -> str:
    if heads.empty:
        return ""
    names = [f"{layer}-{head}" for layer, head in zip(heads["layer"], heads["head"], strict=True)]
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f" ({', '.join(names[:MOST_NAMED])}{more})"
