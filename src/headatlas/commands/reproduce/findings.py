"""What the paper states in words, each decided as yes or no from our tables.

The paper's network has 12 layers. In a network of another depth, the layers at the same share of the depth are taken:
layers 6-10 of 12 are 3-5 of 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from headatlas.commands.reproduce.checks import TOLERANCES, Check, Found, Tables, antecedents, number
from headatlas.studies import entropy, positions, token_kinds
from headatlas.studies.labels import MOSTLY, Pattern
from headatlas.studies.max_attention import BROAD_WEIGHT
from headatlas.views.published.compare import summarise_probes
from headatlas.views.published.tables import published_text

LAYERS = 12  # of the paper's network
LITTLE = 0.1  # of a head's attention
OFTEN = 0.25  # of the heads
SMALL = 0.5  # of the gradients in the layers below
CLOSE_NATS = 0.5
SIGNIFICANT = 0.01
NOT_MUCH = 0.15  # of all words, by which the best head may lead an offset
FAR = 0.1
NEAR = 0.05
FAR_BELOW = 0.2
SPECIALISED = ("det", "dobj", "pobj", "poss")
"""The relations of figure 5, but for auxpass, whose printed accuracy is that of the baseline."""


@dataclass(frozen=True)
class Rule:
    """The tables that decide a finding, the rule in words, and the function that decides."""

    tables: tuple[str, ...]
    words: str
    ask: Callable[[Tables], Found]


def number_checks(tables: Tables, missing: Mapping[str, str]) -> Iterator[Check]:
    """The numbers in the text. missing: why each missing table is missing."""
    readers: dict[str, tuple[str, Callable[[pd.DataFrame], float]]] = {
        "previous_heads": ("positions", lambda table: float(len(positions.PREVIOUS.heads(table)))),
        "next_heads": ("positions", lambda table: float(len(positions.NEXT.heads(table)))),
        "cls_entropy": ("entropy", lambda table: float(_layer_means(table, "nats", source="cls").iloc[-1])),
    }
    for key, row in published_text("numbers").iterrows():
        name, read = readers[str(key)]
        decimals, tolerance = (2 if row["unit"] == "nats" else 0), TOLERANCES[row["unit"]]
        check = number(row["place"], row["item"], row["unit"], float(row["value"]), tolerance, decimals)
        if name in missing:
            yield check.without(missing[name])
            continue
        ours = read(tables[name])
        yield check.without("a model with such a token") if math.isnan(ours) else check.measured(ours, tolerance)


def finding_checks(tables: Tables, missing: Mapping[str, str]) -> Iterator[Check]:
    """The findings in the text, by the rules below. missing: why each missing table is missing."""
    for key, row in published_text("findings").iterrows():
        rule = RULES[str(key)]
        check = Check(row["place"], row["item"], "finding", row["printed"] if row["printed"] else "yes", rule.words)
        reasons = [missing[name] for name in rule.tables if name in missing]
        decision = None if reasons else rule.ask(tables)
        if decision is None:
            yield check.without(reasons[0] if reasons else NOTHING[rule.tables[0]])
        else:
            yield check.decided(*decision)


NOTHING = {
    "token_kinds": "a model with [CLS] and [SEP]",
    "entropy": "a model with [CLS]",
    "gradients": "a model with [SEP] and more layers",
    "dependency_best": "more words with these relations in --ptb-dev",
    "probes": "--glove",
    "similarity": "a model with several layers",
}
"""What is missing if a table exists but cannot decide."""


def at_depth(layer: int, layers: int) -> int:
    """The layer at the same share of the depth as a layer of 12.

    >>> [at_depth(layer, 6) for layer in (1, 5, 6, 10, 12)], at_depth(5, 12)
    ([1, 3, 3, 5, 6], 5)
    """
    return math.ceil(layer * layers / LAYERS)


def _current_token(tables: Tables) -> Found:
    values = tables["positions"].query("offset == 0")["value"]
    few = int((values < LITTLE).sum())
    return few > len(values) / 2, f"{few} of {len(values)} heads below 10 %"


def _in_layers(pattern: Pattern, printed: tuple[int, ...]) -> Callable[[Tables], Found]:
    def ask(tables: Tables) -> Found:
        layers = sorted(pattern.heads(tables["positions"])["layer"].tolist())
        return tuple(layers) == printed, f"layers {', '.join(map(str, layers))}" if layers else "no head"

    return ask


def _neighbours_early(tables: Tables) -> Found:
    table = tables["positions"]
    layers = pd.concat([pattern.heads(table)["layer"] for pattern in (positions.PREVIOUS, positions.NEXT)])
    early = int((layers <= table["layer"].max() / 2).sum())
    return early > len(layers) / 2, f"{early} of {len(layers)} such heads in the lower half"


def _in_the_middle(kind: str, least: float) -> Callable[[Tables], Found]:
    def ask(tables: Tables) -> Found:
        means = _layer_means(tables["token_kinds"], "value", kind=kind)
        if means.isna().all():
            return None
        first, last = (at_depth(layer, len(means)) for layer in (6, 10))
        shown = means.loc[first:last]
        shares = ", ".join(f"{100 * value:.0f}" for value in shown)
        return bool((shown > least).all()), f"layers {first}-{last}: {shares} %"

    return ask


def _kinds_by_depth(tables: Tables) -> Found:
    kinds = (token_kinds.CLS, token_kinds.SEP, token_kinds.PERIOD_COMMA)
    means = [kind.strengths(tables["token_kinds"]).groupby("layer")["strength"].mean() for kind in kinds]
    if any(layer.isna().all() for layer in means):
        return None
    first, second, third = (int(layer.argmax()) + 1 for layer in means)
    named = zip(kinds, (first, second, third), strict=True)
    return first < second < third, f"most: {', '.join(f'{kind.label} layer {layer}' for kind, layer in named)}"


def _special_half(tables: Tables) -> Found:
    wide = tables["token_kinds"].pivot(index=["layer", "head"], columns="kind", values="value")
    share = wide[["cls", "sep", "period_comma"]].fillna(0).sum(axis=1)
    many = int((share > MOSTLY).sum())
    return many >= OFTEN * len(share), f"{many} of {len(share)} heads"


def _sep_gradients(tables: Tables) -> Found:
    means = _layer_means(tables["gradients"], "value", kind="sep")
    first = at_depth(5, len(means))
    below, above = means.loc[: first - 1].mean(), means.loc[first:].mean()
    if math.isnan(below) or math.isnan(above):
        return None
    return bool(above <= SMALL * below), f"{above:.2g} from layer {first} on, {below:.2g} below"


def _broad_first(tables: Tables) -> Found:
    table = tables["entropy"].query("source == 'all' and layer == 1")
    most = table.iloc[int(table["nats"].argmax())]
    broad = bool(most["nats"] > entropy.BROAD_ENTROPY * most["uniform_nats"])
    return broad, f"highest in layer 1: {most['nats']:.2f} of {most['uniform_nats']:.2f} nats"


def _broad_weight(tables: Tables) -> Found:
    labels = tables["behaviours"]
    heads = labels[labels["label"] == entropy.BROAD.label].merge(tables["max_attention"], on=["layer", "head"])
    low = int((heads["value"] <= BROAD_WEIGHT).sum())
    return bool(len(heads)) and low > len(heads) / 2, f"{low} of {len(heads)} broad heads"


def _cls_like_all(tables: Tables) -> Found:
    cls, every = (_layer_means(tables["entropy"], "nats", source=source) for source in ("cls", "all"))
    if cls.isna().all() or len(cls) == 1:
        return None
    near = int(((cls - every).abs().iloc[:-1] <= CLOSE_NATS).sum())
    return near > (len(cls) - 1) / 2, f"{near} of {len(cls) - 1} layers before the last"


def _cls_last(tables: Tables) -> Found:
    cls, every = (_layer_means(tables["entropy"], "nats", source=source).iloc[-1] for source in ("cls", "all"))
    return None if math.isnan(cls) else (bool(cls > every), f"{cls:.2f} and {every:.2f} nats")


def _layers_alike(tables: Tables) -> Found:
    values = tables["similarity"].query("distance == 'js'").set_index("measure")["value"]
    within, between, p_value = (float(values[name]) for name in ("within_layers", "between_layers", "p_layers"))
    if math.isnan(p_value):
        return None
    figures = f"mean distance {within:.3g} within, {between:.3g} between layers, p = {p_value:.3f}"
    return within < between and p_value < SIGNIFICANT, figures


def _layer_means(table: pd.DataFrame, value: str, **chosen: str) -> pd.Series[float]:
    """Means over the heads of each layer."""
    (column, word), *_ = chosen.items()
    means: pd.Series[float] = table[table[column] == word].groupby("layer")[value].mean()
    return means


def no_parser(tables: Tables) -> Found:
    """Is the best head for all words not much better than the best offset?"""
    row = tables["dependency_best"].set_index("relation").loc["all"]
    figures = f"{100 * row['accuracy']:.1f} and {100 * row['baseline']:.1f}"
    return bool(row["accuracy"] - row["baseline"] <= NOT_MUCH), figures


def specialists(tables: Tables) -> Found:
    """Do the heads of figure 5 beat every offset by far, chosen on other sentences?"""
    ours = _paired(tables)
    ours = ours[ours["published_relation"].isin(SPECIALISED)]
    lead = ours["held_out"] - ours["baseline_held_out"]
    figures = ", ".join(f"{name} {100 * by:+.0f}" for name, by in zip(ours["relation"], lead, strict=True))
    return (bool((lead > FAR).all()), f"{figures} points") if len(ours) else None


def directions(tables: Tables) -> Found:
    """Do the ends of each relation of table 1 attend as printed?"""
    ours = _paired(tables)
    differing = ours[ours["direction"] != ours["published_direction"]]["relation"].tolist()
    figures = f"{len(ours) - len(differing)} of {len(ours)} relations"
    return (not differing, figures + (f"; not {', '.join(differing)}" if differing else "")) if len(ours) else None


def _paired(tables: Tables) -> pd.DataFrame:
    """Our best heads for the relations of table 1, as `compare_dependencies` puts them beside the published ones."""
    best = tables["dependency_best"]
    return best[(best["published_source"] == "table 1") & (best["published_relation"] != "all")]


def above_head_match(tables: Tables) -> Found:
    """Does the best head beat the nearest mention with the same head word by far?"""
    best, rule = (_antecedents(tables, method)["all"] for method in ("head", "head_match"))
    return best - rule > FAR, f"{100 * best:.1f} and {100 * rule:.1f}"


def near_sieves(tables: Tables) -> Found:
    """Is the best head not far below the rules of four sieves?"""
    best, rule = (_antecedents(tables, method)["all"] for method in ("head", "sieves"))
    return best >= rule - NEAR, f"{100 * best:.1f} and {100 * rule:.1f}"


def nominal(tables: Tables) -> Found:
    """Is the best head's lead over the same head word largest for nominal mentions?"""
    best, rule = (_antecedents(tables, method) for method in ("head", "head_match"))
    lead = {kind: best[kind] - rule[kind] for kind in ("pronoun", "proper", "nominal") if kind in best and kind in rule}
    figures = ", ".join(f"{kind} {100 * by:+.1f}" for kind, by in lead.items())
    return bool(lead) and max(lead, key=lambda kind: lead[kind]) == "nominal", f"{figures} points"


def _antecedents(tables: Tables, method: str) -> dict[str, float]:
    """Accuracy for each type of mention."""
    return {kind: row["accuracy"] for (by, kind), row in antecedents(tables).items() if by == method}


def above_baselines(tables: Tables) -> Found:
    """Does attention with words beat right-branching, distances with words and random weights, intervals apart?"""
    scores = _scores(tables)
    names = [("right_branching", ""), ("distances_words", ""), ("attention_words", "random")]
    if any(name not in scores for name in [_BOTH, *names]):
        return None
    highest = max((scores[name] for name in names), key=lambda row: row["high"])
    figures = f"{100 * scores[_BOTH]['score']:.1f}, and {highest['name']} {100 * highest['score']:.1f}"
    return bool(scores[_BOTH]["low"] > highest["high"]), figures


def above_random(tables: Tables) -> Found:
    """Is attention of random weights far below?"""
    return _apart(tables, _BOTH, ("attention_words", "random"), lambda trained, random: trained - random > FAR_BELOW)


def near_structural(tables: Tables) -> Found:
    """Does the structural probe find not much more than attention with words?"""
    structural = ("structural_distance", "pretrained")
    return _apart(tables, structural, _BOTH, lambda states, attention: states - attention <= NEAR)


_BOTH = ("attention_words", "pretrained")


def _apart(tables: Tables, a: tuple[str, str], b: tuple[str, str], holds: Callable[[float, float], bool]) -> Found:
    scores = _scores(tables)
    if a not in scores or b not in scores:
        return None
    first, second = (float(scores[name]["score"]) for name in (a, b))
    return holds(first, second), f"{100 * first:.1f} and {100 * second:.1f}"


def _scores(tables: Tables) -> dict[tuple[str, str], dict[Any, Any]]:
    return {(row["probe"], row["weights"]): row for row in summarise_probes(tables["probes"]).to_dict("records")}


RULES: dict[str, Rule] = {
    "current_token": Rule(("positions",), "more than half of the heads below 10 %", _current_token),
    "previous_layers": Rule(("positions",), "the same layers", _in_layers(positions.PREVIOUS, (2, 4, 7, 8))),
    "next_layers": Rule(("positions",), "the same layers", _in_layers(positions.NEXT, (1, 2, 2, 3, 6))),
    "neighbours_early": Rule(("positions",), "more than half of them in the lower half", _neighbours_early),
    "sep_half": Rule(("token_kinds",), "each layer's mean above 50 %", _in_the_middle("sep", 0.5)),
    "sep_to_sep": Rule(("token_kinds",), "each mean of layers 6-10 above 90 %", _in_the_middle("sep_to_sep", 0.9)),
    "kinds_by_depth": Rule(("token_kinds",), "layers of the highest means in this order", _kinds_by_depth),
    "special_half": Rule(("token_kinds",), "so in at least a quarter of the heads", _special_half),
    "sep_gradients": Rule(("gradients",), "mean at most half of that of the layers below", _sep_gradients),
    "broad_first": Rule(("entropy",), "a head above 78 % of the uniform entropy", _broad_first),
    "broad_weight": Rule(("behaviours", "max_attention"), "so in more than half of the broad heads", _broad_weight),
    "cls_like_all": Rule(("entropy",), "within 0.5 nats in more than half of the layers", _cls_like_all),
    "cls_last": Rule(("entropy",), "a higher mean entropy from [CLS] than from all", _cls_last),
    "no_parser": Rule(("dependency_best",), "at most 15 points above the offset", no_parser),
    "specialists": Rule(
        ("dependency_best",), "held out, over 10 points above the offset for det, dobj, pobj and poss", specialists
    ),
    "directions": Rule(("dependency_best",), "so for every relation of table 1", directions),
    "above_head_match": Rule(("coreference",), "over 10 points", above_head_match),
    "near_sieves": Rule(("coreference",), "at most 5 points below", near_sieves),
    "nominal": Rule(("coreference",), "furthest above the same head word there", nominal),
    "above_baselines": Rule(("probes",), "its interval above those of all baselines", above_baselines),
    "above_random": Rule(("probes",), "over 20 points below", above_random),
    "near_structural": Rule(("probes",), "at most 5 points above", near_structural),
    "layers_alike": Rule(("similarity",), "a smaller mean distance, p < 0.01", _layers_alike),
}
