"""Section 3 and figures 2 to 4: neighbours, separators, gradients, entropy; and section 6: which heads are alike."""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd

from headatlas.commands.reproduce.claim import MARGINS, Answer, Claim, Estimate, Tables, at_depth, number
from headatlas.studies import positions, token_kinds
from headatlas.studies.entropy import BROAD_ENTROPY
from headatlas.studies.labels import MOSTLY, Pattern
from headatlas.studies.max_attention import BROAD_WEIGHT
from headatlas.tables import EXPECTED

LITTLE = 0.1  # of a head's attention
OFTEN = 0.25  # of the heads
FEWEST_HEADS = 3  # for the next or previous token, to say where they are
CLEAR_PEAK = 0.05  # of the attention, by which the layer that attends most to a kind of token exceeds the mean layer
SMALL = 0.5  # of the gradients in the layers below
CLOSE_NATS = 0.5
CLEAR_NATS = 0.25  # by which entropies must differ more than those of random weights
CLEAR_CLOSENESS = 0.05  # of the distance between layers
CLEAR_FALL = 0.25  # of gradients, more than with random weights
LOW_LAYERS = 2  # of 12
SIGNIFICANT = 0.01
FEWEST_LAYERS = 4  # to say in which one something begins
CLEAR_SILHOUETTE = 0.25  # Kaufman and Rousseeuw 1990: below it, no substantial structure
CLEARER_SILHOUETTE = 0.1  # than that of random weights, whose clusters vary with the seed
PAPERS_SHARE, SAME_SHARE = 1 / 64, 0.005
COMMONEST = {"the", ",", "."}
ALIKE = 0.1  # of the attention, by which the layers of two models may differ


def layer_means(table: pd.DataFrame, value: str = "value", **chosen: str) -> pd.DataFrame:
    """Mean over the heads of each layer, with `low` and `high`: the mean ends of their intervals, at worst too wide."""
    (column, word), *_ = chosen.items()
    rows = table[table[column] == word].rename(columns={value: "mean"})
    return rows.groupby("layer")[["mean", "low", "high"]].mean()


def _current_token(tables: Tables) -> Answer:
    heads = tables["positions"].query("offset == 0")
    few = int((heads["high"] < LITTLE).sum())
    return Answer(few > len(heads) / 2, f"{few} of {len(heads)} heads below 10 %")


def _count(pattern: Pattern) -> Callable[[Tables], Estimate]:
    def read(tables: Tables) -> Estimate:
        value, low, high = (
            len(pattern.heads(tables["positions"], value=column)) for column in ("value", "low", "high")
        )
        return Estimate(value, low, high)

    return read


def _in_layers(pattern: Pattern, printed: tuple[int, ...]) -> Callable[[Tables], Answer]:
    def ask(tables: Tables) -> Answer:
        layers = sorted(pattern.heads(tables["positions"])["layer"].tolist())
        return Answer(tuple(layers) == printed, f"layers {', '.join(map(str, layers))}" if layers else "no head")

    return ask


def _neighbours_early(tables: Tables) -> Answer:
    table = tables["positions"]
    sure = [pattern.heads(table, value="low")["layer"] for pattern in (positions.PREVIOUS, positions.NEXT)]
    layers = pd.concat(sure)
    early = int((layers <= table["layer"].max() / 2).sum())
    holds = len(layers) >= FEWEST_HEADS and early > len(layers) / 2
    return Answer(holds, f"{early} of {len(layers)} such heads in the lower half")


def _in_the_middle(kind: str, least: float) -> Callable[[Tables], Answer | None]:
    def ask(tables: Tables) -> Answer | None:
        means = layer_means(tables["token_kinds"], kind=kind)
        if means["mean"].isna().all():
            return None
        first, last = (at_depth(layer, len(means)) for layer in (6, 10))
        shown = means.loc[first:last]
        shares = ", ".join(f"{100 * value:.0f}" for value in shown["mean"])
        return Answer(bool((shown["low"] > least).all()), f"layers {first}-{last}: {shares} %")

    return ask


def _kinds_by_depth(tables: Tables) -> Answer | None:
    kinds = (token_kinds.CLS, token_kinds.SEP, token_kinds.PERIOD_COMMA)
    means = [layer_means(tables["token_kinds"], kind=str(kind.key)) for kind in kinds]
    if any(layers["mean"].isna().all() for layers in means):
        return None
    peaks = [int(layers["mean"].argmax()) + 1 for layers in means]
    clear = all(layers["low"].loc[peak] > layers["high"].mean() + CLEAR_PEAK
                for layers, peak in zip(means, peaks, strict=True))  # fmt: skip
    named = (f"{kind.label} layer {peak} ({100 * layers['mean'].max():.0f} %)"
             for kind, peak, layers in zip(kinds, peaks, means, strict=True))  # fmt: skip
    return Answer(clear and peaks[0] < peaks[1] < peaks[2], f"most: {', '.join(named)}")


def _as_other_model(tables: Tables) -> Answer | None:
    """Do the layers of another model attend about as much to each kind of token?"""
    near: dict[str, int] = {}
    for kind in (token_kinds.CLS, token_kinds.SEP, token_kinds.PERIOD_COMMA):
        ours, theirs = (layer_means(tables[name], kind=str(kind.key)) for name in ("token_kinds", "any_token_kinds"))
        if ours["mean"].isna().all() or theirs["mean"].isna().all():
            return None
        depths = [math.ceil(layer * len(theirs) / len(ours)) for layer in ours.index]
        apart = [Estimate(*a).minus(Estimate(*b)) for a, b in zip(ours.values, theirs.loc[depths].values, strict=True)]
        near[kind.label] = sum(one.low > -ALIKE and one.high < ALIKE for one in apart)
    figures = ", ".join(f"{label} {layers}" for label, layers in near.items())
    return Answer(min(near.values()) > len(ours) / 2, f"of {len(ours)} layers {figures} are alike")


def _special_half(tables: Tables) -> Answer:
    table = tables["token_kinds"]
    special = table[table["kind"].isin(["cls", "sep", "period_comma"])]
    shares = special.groupby(["layer", "head"])[["value", "low"]].sum()
    sure = int((shares["low"] > MOSTLY).sum())
    return Answer(sure >= OFTEN * len(shares), f"{int((shares['value'] > MOSTLY).sum())} of {len(shares)} heads")


def _sep_gradients(tables: Tables) -> Answer | None:
    means = layer_means(tables["gradients"], kind="sep")
    first = at_depth(5, len(means))
    below, above = means.loc[: first - 1].mean(), means.loc[first:].mean()
    if math.isnan(below["mean"]) or math.isnan(above["mean"]):
        return None
    figures = f"{above['mean']:.2g} from layer {first} on, {below['mean']:.2g} below"
    return Answer(bool(above["high"] <= SMALL * below["low"]), figures, strength=1 - above["mean"] / below["mean"])


def _low_layers_broad(tables: Tables) -> Answer | None:
    table = tables["entropy"].query("source == 'all'")
    means = layer_means(table, "value", source="all")
    last = at_depth(LOW_LAYERS, len(means))
    if last == len(means):
        return None
    low, above = (Estimate(*rows.mean()[["mean", "low", "high"]]) for rows in (means.loc[:last], means.loc[last + 1 :]))
    broad = table[(table["layer"] <= last) & (table["low"] > BROAD_ENTROPY * table[EXPECTED])]
    more = low.minus(above)
    figures = f"{len(broad)} broad heads in layers 1-{last}; mean {low.value:.2f} nats there, {above.value:.2f} above"
    return Answer(bool(len(broad)) and more.low > 0, figures, strength=more.value)


def _broad_weight(tables: Tables) -> Answer | None:
    entropy = tables["entropy"].query("source == 'all'")
    broad = entropy[entropy["value"] > BROAD_ENTROPY * entropy[EXPECTED]][["layer", "head"]]
    heads = broad.merge(tables["max_attention"], on=["layer", "head"])
    low = int((heads["high"] <= BROAD_WEIGHT).sum())
    return Answer(bool(len(heads)) and low > len(heads) / 2, f"{low} of {len(heads)} broad heads")


def _cls_excess(tables: Tables) -> pd.DataFrame:
    """How much higher the entropy from [CLS] is than that from all tokens, in every layer."""
    cls, every = (layer_means(tables["entropy"], "value", source=source) for source in ("cls", "all"))
    return pd.DataFrame(
        [Estimate(*a).minus(Estimate(*b)) for a, b in zip(cls.to_numpy(), every.to_numpy(), strict=True)], cls.index
    )


def _cls_like_all(tables: Tables) -> Answer | None:
    excess = _cls_excess(tables).iloc[:-1]
    if excess["value"].isna().all():
        return None
    near = int(((excess["low"] >= -CLOSE_NATS) & (excess["high"] <= CLOSE_NATS)).sum())
    return Answer(near > len(excess) / 2, f"{near} of {len(excess)} layers before the last")


def _cls_last(tables: Tables) -> Answer | None:
    excess = _cls_excess(tables)
    last = excess.iloc[-1]
    if math.isnan(last["value"]) or len(excess) == 1:
        return None
    rank = int((excess["value"] > last["value"]).sum()) + 1
    holds = bool(last["low"] > excess["high"].iloc[:-1].max() and last["low"] > 0)
    figures = f"{last['value']:+.2f} nats more than from all tokens, rank {rank} of {len(excess)} layers"
    return Answer(holds, figures, strength=float(last["value"]))


def _cls_entropy(tables: Tables) -> Estimate:
    return Estimate(*layer_means(tables["entropy"], "value", source="cls").iloc[-1])


def _layers_alike(tables: Tables) -> Answer | None:
    values = tables["similarity"].query("distance == 'js'").set_index("measure")["value"]
    within, between, p_value = (float(values[name]) for name in ("within_layers", "between_layers", "p_layers"))
    if math.isnan(p_value):
        return None
    figures = f"mean distance {within:.3g} within, {between:.3g} between layers, p = {p_value:.3f}"
    holds = within < (1 - CLEAR_CLOSENESS) * between and p_value < SIGNIFICANT
    return Answer(holds, figures, strength=1 - within / between)


def _first_and_last(tables: Tables) -> Answer | None:
    table = tables["layer_distances"]
    pairs = table[table["layer_a"] < table["layer_b"]].sort_values("value", ignore_index=True)
    ends = pairs[(pairs["layer_a"] == 1) & (pairs["layer_b"] == table["layer_b"].max())]
    return Answer(None, f"rank {ends.index[0] + 1} of {len(pairs)} pairs, the closest first") if len(ends) else None


def _onset(tables: Tables) -> Answer | None:
    """Do gradients to [SEP] fall most where attention to it rises most?"""
    shares, gradients = (layer_means(tables[name], kind="sep") for name in ("token_kinds", "gradients"))
    if len(shares) < FEWEST_LAYERS or shares["mean"].isna().any() or gradients["mean"].isna().any():
        return None
    rises, falls = shares["mean"].diff(), -gradients["mean"].diff()
    rise, fall = (int(change.iloc[1:].argmax()) + 2 for change in (rises, falls))
    clear = shares["low"].loc[rise] > shares["high"].loc[rise - 1] + CLEAR_PEAK
    clear &= gradients["high"].loc[fall] < gradients["low"].loc[fall - 1]
    figures = (
        f"attention rises most in layer {rise} ({100 * rises.max():+.0f} points), gradients fall most in layer {fall}"
    )
    return Answer(bool(clear) and abs(rise - fall) <= 1, figures)


def _clusters(tables: Tables) -> Answer | None:
    values = tables["similarity"].query("distance == 'sqrt_js'").set_index("measure")["value"]
    if "p_clusters" not in values or math.isnan(values["silhouette"]):
        return None
    silhouette, p_value = float(values["silhouette"]), float(values["p_clusters"])
    figures = f"silhouette {silhouette:.2f}, one cloud {values['cloud_silhouette']:.2f}, p = {p_value:.3f}"
    return Answer(silhouette >= CLEAR_SILHOUETTE and p_value < SIGNIFICANT, figures, strength=silhouette)


def _expected(tables: Tables) -> Answer | None:
    share = tables["token_kinds"].query("kind == 'sep'")[EXPECTED].mean()
    return None if math.isnan(share) else Answer(bool(abs(share - PAPERS_SHARE) <= SAME_SHARE), f"1/{1 / share:.0f}")


def _commonest(tables: Tables) -> Answer:
    tokens = tables["common_tokens"]["token"].str.lower().tolist()[: len(COMMONEST)]
    return Answer(set(tokens) == COMMONEST, ", ".join(tokens))


CLS_SEP = "a model with [CLS] and [SEP]"
SURFACE = (
    Claim(1, "section 3.1", "most heads put little attention on the current token", ("positions",),
          "more than half of the heads surely below 10 %", _current_token),
    number(2, "section 3.1", "heads with more than half of their attention on the previous token", 4, "heads",
           ("positions",), _count(positions.PREVIOUS), margin=MARGINS["heads"]),
    Claim(2, "section 3.1", "the heads for the previous token are in these layers", ("positions",), "the same layers",
          _in_layers(positions.PREVIOUS, (2, 4, 7, 8)), "2, 4, 7, 8"),
    number(3, "section 3.1", "heads with more than half of their attention on the next token", 5, "heads",
           ("positions",), _count(positions.NEXT), margin=MARGINS["heads"]),
    Claim(3, "section 3.1", "the heads for the next token are in these layers", ("positions",), "the same layers",
          _in_layers(positions.NEXT, (1, 2, 2, 3, 6)), "1, 2, 2, 3, 6"),
    Claim(4, "section 3.1", "heads for the next or previous token are in earlier layers, above all", ("positions",),
          f"at least {FEWEST_HEADS} such heads, more than half of them in the lower half", _neighbours_early),
    Claim(5, "section 3.2", "more than half of the attention of layers 6-10 goes to [SEP]", ("token_kinds",),
          "each layer's mean surely above 50 %", _in_the_middle("sep", 0.5), "over half", lacking=CLS_SEP),
    Claim(6, "section 3.2", "a token that stands twice in 128 gets 1/64 of even attention", ("token_kinds.expected",),
          f"within {100 * SAME_SHARE:g} points", _expected, "1/64", decided_by="corpus", lacking=CLS_SEP),
    Claim(7, "section 3.2", "periods and commas are the commonest tokens but for the", ("common_tokens",),
          "the same three tokens", _commonest, "the , .", decided_by="corpus", lacking="a survey that counts tokens"),
    Claim(9, "section 3.2", "[SEP] itself attends almost only to [SEP]", ("token_kinds",),
          "each mean of layers 6-10 surely above 90 %", _in_the_middle("sep_to_sep", 0.9), "over 90 %",
          lacking=CLS_SEP),
    Claim(10, "figure 2", "early heads attend to [CLS], middle ones to [SEP], deep ones to periods and commas",
          ("token_kinds",), f"the highest means in layers of this order, each {100 * CLEAR_PEAK:.0f} points above the "
          "mean layer", _kinds_by_depth, lacking=CLS_SEP),
    Claim(11, "figure 2", "often more than half of a head's attention goes to such tokens", ("token_kinds",),
          "surely so in at least a quarter of the heads", _special_half, "over half"),
    Claim(13, "figure 3", "from layer 5 on, gradients of attention to [SEP] are very small", ("gradients",),
          "mean surely at most half of that of the layers below", _sep_gradients, lead=CLEAR_FALL,
          lacking="a model with [SEP] and more layers"),
    Claim(13, "figure 3", "that is where attention to [SEP] rises", ("token_kinds", "gradients"),
          f"the largest rise, surely over {100 * CLEAR_PEAK:.0f} points, and the largest fall at most a layer apart",
          _onset, lacking="a model with [SEP] and more layers"),
    Claim(14, "figure 4", "the lowest layers have heads of particularly high entropy", ("entropy",),
          f"heads of layers 1-2 surely above {BROAD_ENTROPY:.0%} of the uniform entropy, and a higher mean than above",
          _low_layers_broad, lead=CLEAR_NATS, lacking="a model with more layers"),
    Claim(14, "section 3.3", "broad heads put at most 10 % on any one word", ("entropy", "max_attention"),
          "surely so in more than half of the broad heads", _broad_weight, "at most 10 %"),
    Claim(15, "section 3.3", "in most layers the entropy from [CLS] is that from all tokens", ("entropy",),
          f"surely within {CLOSE_NATS} nats in more than half of the layers", _cls_like_all,
          lacking="a model with [CLS] and several layers"),
    Claim(16, "section 3.3", "in the last layer [CLS] attends more broadly", ("entropy",),
          "its entropy exceeds that from all tokens surely more than in every other layer", _cls_last, lead=CLEAR_NATS,
          lacking="a model with [CLS] and several layers"),
    number(16, "section 3.3", "entropy from [CLS] in the last layer, mean over its heads", 3.89, "nats", ("entropy",),
           _cls_entropy, margin=MARGINS["nats"], lacking="a model with [CLS]"),
    Claim(32, "figure 6", "heads form several clear clusters", ("similarity",),
          f"a silhouette of at least {CLEAR_SILHOUETTE}, larger than that of one cloud, p < {SIGNIFICANT}", _clusters,
          lead=CLEARER_SILHOUETTE, lacking="a model with more heads"),
    Claim(33, "figure 6", "heads of one layer are often close to each other", ("similarity",),
          f"a mean distance smaller by {CLEAR_CLOSENESS:.0%}, p < {SIGNIFICANT}", _layers_alike, lead=CLEAR_CLOSENESS,
          lacking="a model with several layers"),
    Claim(34, "lecture", "are the first and the last layer alike?", ("layer_distances",), "a question, not a claim",
          _first_and_last, "?", lacking="a model with several layers"),
)  # fmt: skip
"""In the order of the paper."""

NOT_SURVEYED = (
    Claim(8, "section 3.2", "the uncased model is alike", ("token_kinds", "any_token_kinds"),
          f"attention to [CLS], [SEP], and periods and commas, each surely within {100 * ALIKE:.0f} points in most "
          "layers", _as_other_model, lacking="--results of headatlas survey, of an uncased BERT with [CLS] and [SEP]"),
    Claim(36, "figures 1 and 5", "heads at work on single sentences", ("single_sentences",),
          "by looking at the figures", lambda _: None, lacking="a reader: the figures are drawn"),
)  # fmt: skip
"""What another survey, or a reader, answers."""
